//! A random mix of everything, with faults at named points: what `cargo run -- soak` boots again and again. All choices come from
//! the seed; what a round has made is counted at its end, and nothing may be left.

use crate::param::param;
use crate::wait::{bump, spin, until};
use crate::{Outcome, Test, ensure, figure};
use alloc::vec::Vec;
use base::rng::Rng;
use core::sync::atomic::{AtomicBool, AtomicU64, Ordering::*};
use ringo::machine::{counts, cpu};
use ringo::prelude::*;
use sched::StopReason;
use trace::points::{Action, NAMES, arm, hits};

pub const TESTS: &[Test] = &[("soak", soak)];

/// Longest that one CPU is held up at a fault point.
const HELD_UP: Action = Action::DelayNs(50_000_000);
/// Channels over which tokens go round.
const CHANNELS: usize = 3;

/// What the Gs of a round share.
struct Shared {
    channels: Vec<(Sender<u64>, Receiver<u64>)>,
    counter: Mutex<u64>,
    pair: RwLock<(u64, u64)>,
    room: Semaphore,
    /// Laps of the counter, writes of the pair, children, and those that ended by `goexit`: what was done, counted apart.
    added: AtomicU64,
    wrote: AtomicU64,
    begun: AtomicU64,
    ended: AtomicU64,
    wrong: AtomicU64,
    over: AtomicBool,
}

fn rng(round: u64, stream: u64) -> Rng {
    Rng::new(param("seed", 1).wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ round << 32 ^ stream)
}

/// Uses some KiB of stack for each of `n` levels; the sum of their contents.
#[inline(never)]
fn deep(n: u64) -> u64 {
    let room = core::hint::black_box([n; 200]);
    let below = if n == 0 { 0 } else { deep(n - 1) };
    below + core::hint::black_box(room)[n as usize % 200]
}

/// One random operation.
fn operation(shared: &Arc<Shared>, rng: &mut Rng) {
    let n = rng.below(4_000);
    match rng.below(14) {
        0 => spin(n),
        1 => yield_now(),
        2 => sleep(Duration::from_nanos(u64::from(n) * 20)),
        3 => blocking(|| spin(n * 4)),
        4 => pass_on(shared, rng),
        5 => {
            *shared.counter.lock() += 1;
            bump(&shared.added);
        }
        6 => {
            let mut pair = shared.pair.write();
            pair.0 += 1;
            spin(n / 8);
            pair.1 += 1;
            bump(&shared.wrote);
        }
        7 => {
            let pair = shared.pair.read();
            note(shared, pair.0 == pair.1)
        }
        8 => {
            shared.room.acquire();
            spin(n / 4);
            shared.room.release()
        }
        9 => {
            lock_to_cpu();
            let here = cpu();
            yield_now();
            note(shared, cpu() == here);
            unlock_from_cpu()
        }
        10 => {
            let levels = u64::from(n) % 60;
            note(shared, deep(levels) == levels * (levels + 1) / 2)
        }
        11 => {
            let child = spawn(move || u64::from(n) * 3);
            note(shared, child.join() == u64::from(n) * 3)
        }
        12 => {
            bump(&shared.begun);
            let shared = shared.clone();
            go(move || {
                spin(n / 8);
                bump(&shared.ended);
                drop(shared); // `goexit` drops nothing
                goexit()
            })
        }
        _ => read_disk(shared, n),
    }
}

fn note(shared: &Shared, right: bool) {
    if !right {
        bump(&shared.wrong);
    }
}

/// Takes a token from whichever channel has one and puts it into another.
fn pass_on(shared: &Shared, rng: &mut Rng) {
    let [(_, a), (_, b), (_, c)] = &shared.channels[..] else {
        return;
    };
    let token = select! {
        recv(a) -> token => token,
        recv(b) -> token => token,
        recv(c) -> token => token,
    };
    let to = &shared.channels[rng.below(CHANNELS as u32) as usize].0;
    to.send(token.expect("open")).expect("open")
}

/// Where there is a disk.
fn read_disk(shared: &Shared, n: u32) {
    let mut sector = [0; ringo::disk::SECTOR_BYTES];
    let number = u64::from(n) % 2000;
    if ringo::disk::read(number, &mut sector).is_ok() {
        let right = sector.chunks(8).all(|word| word == number.to_le_bytes());
        note(shared, right)
    }
}

/// Until the round is over: other numbers of Ps, stops of the world, faults here and there, a CPU held up.
fn disturb(shared: &Shared, mut rng: Rng) {
    let s = sched::this();
    while !shared.over.load(Relaxed) {
        match rng.below(6) {
            0 => {
                gomaxprocs(1 + rng.below(num_cpu() as u32) as usize);
            }
            1 => {
                let alone = s.with_world_stopped(StopReason::Look, |m| {
                    s.allp.iter().filter(|p| p.is_running()).count() == 1 && m.p().is_some()
                });
                note(shared, alone)
            }
            2 => hold_one_up(&mut rng),
            3 => base::preempt_at_unlock(rng.below(3) * (20 + rng.below(200))),
            _ => {
                let name = NAMES[rng.below(NAMES.len() as u32) as usize];
                let action = match rng.below(5) {
                    0 => Action::Off,
                    1 => Action::Yield,
                    2 => Action::DelayNs(rng.below(100_000).into()),
                    _ => Action::Preempt,
                };
                arm(name, action).expect("a fault point")
            }
        }
        sleep(Duration::from_micros(rng.below(1_000).into()))
    }
    base::preempt_at_unlock(0);
    for name in NAMES {
        arm(name, Action::Off).expect("a fault point")
    }
}

/// The first CPU that comes by a random point stands still for 50 ms there.
fn hold_one_up(rng: &mut Rng) {
    let name = NAMES[rng.below(NAMES.len() as u32) as usize];
    let (before, begin) = (hits(name), Instant::now());
    arm(name, HELD_UP).expect("a fault point");
    while hits(name) == before && begin.elapsed() < Duration::from_millis(1) {
        yield_now()
    }
    arm(name, Action::Off).expect("a fault point")
}

fn soak() -> Outcome {
    for round in 0..param("rounds", 20) {
        one(round).map_err(|why| format!("round {round}: {why}"))?
    }
    let c = counts();
    figure!("switches", c.switches);
    figure!("steals", c.steals);
    figure!("preemptions", c.preemptions);
    Ok(())
}

fn one(round: u64) -> Outcome {
    let mut chance = rng(round, 0);
    let (gs, laps) = (4 + u64::from(chance.below(40)), 10 + chance.below(40));
    let tokens = 1 + u64::from(chance.below(4));
    // Room for all tokens everywhere, so that who has one can always pass it on.
    let room = tokens as usize + chance.below(3) as usize;
    let shared = Arc::new(Shared {
        channels: (0..CHANNELS).map(|_| chan(room)).collect(),
        counter: Mutex::new(0),
        pair: RwLock::new((0, 0)),
        room: Semaphore::new(1 + chance.below(3) as usize),
        added: AtomicU64::new(0),
        wrote: AtomicU64::new(0),
        begun: AtomicU64::new(0),
        ended: AtomicU64::new(0),
        wrong: AtomicU64::new(0),
        over: AtomicBool::new(false),
    });
    for token in 0..tokens {
        shared.channels[0].0.send(token).expect("open")
    }
    let disturber = {
        let shared = shared.clone();
        spawn(move || disturb(&shared, rng(round, 1)))
    };
    let all: Vec<_> = (0..gs)
        .map(|g| {
            let shared = shared.clone();
            spawn(move || {
                let mut rng = rng(round, 2 + g);
                (0..laps).for_each(|_| operation(&shared, &mut rng))
            })
        })
        .collect();
    all.into_iter().for_each(|g| g.join());
    until(|| shared.ended.load(Relaxed) == shared.begun.load(Relaxed));
    shared.over.store(true, Relaxed);
    disturber.join();
    until(|| num_goroutine() == 1);
    check(&shared, tokens)
}

fn check(shared: &Shared, tokens: u64) -> Outcome {
    let mut left: Vec<u64> = Vec::new();
    for (_, from) in &shared.channels {
        left.extend(core::iter::from_fn(|| from.try_recv().ok()))
    }
    left.sort_unstable();
    let (counter, pair) = (*shared.counter.lock(), *shared.pair.read());
    let (added, wrote) = (shared.added.load(Relaxed), shared.wrote.load(Relaxed));
    let wrong = shared.wrong.load(Relaxed);
    ensure!(
        left.iter().copied().eq(0..tokens),
        "tokens left: {left:?} of {tokens}"
    );
    ensure!(
        counter == added,
        "the counter is {counter}, {added} were added"
    );
    ensure!(
        pair == (wrote, wrote),
        "the pair is {pair:?} after {wrote} writes"
    );
    ensure!(wrong == 0, "{wrong} things were seen that must not be");
    Ok(())
}
