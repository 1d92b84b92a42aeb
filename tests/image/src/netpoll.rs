//! Waits for the network, with a device made by hand: a ring of messages, and interrupts on a device's vector at a CPU picked by
//! chance. Times are judged in virtual time only (`--seed`); elsewhere they are printed.

use crate::param::param;
use crate::wait::{bump, chance, hold_until, meet, others_halt, preempts, spin, until};
use crate::{Outcome, Test, ensure, figure};
use alloc::vec::Vec;
use core::sync::atomic::{AtomicBool, AtomicU64, Ordering::*, fence};
use ringo::machine::counts;
use ringo::prelude::*;
use sched::netpoll::{Mode, PollDesc, PollError, Poller, ReadyList};

pub const TESTS: &[Test] = &[
    ("netpoll_halts", netpoll_halts),
    ("netpoll_hogs", netpoll_hogs),
    ("netpoll_deadlines", netpoll_deadlines),
    ("netpoll_protocols", netpoll_protocols),
    ("netpoll_rests", netpoll_rests),
    ("netpoll_ways", netpoll_ways),
    ("netpoll_dead", netpoll_dead),
    ("netpoll_dead_alone", netpoll_dead_alone),
];

const SOCKETS: usize = 8;
/// Whose other side the protocols' timers make ready.
const PROTOCOLS: usize = 7;

/// The card: a message box for each socket.
struct Card {
    descs: Vec<Arc<PollDesc>>,
    boxes: [AtomicU64; SOCKETS],
    /// Boxes that something came to since the last look.
    came: AtomicU64,
    /// It is to interrupt when something comes.
    armed: AtomicBool,
    interrupts: AtomicU64,
    /// When the protocols want to be looked at, and how often they were.
    next_ns: AtomicU64,
    timers: AtomicU64,
    alone: AtomicBool,
}

impl Poller for Card {
    fn netpoll(&self, list: &mut ReadyList) {
        let came = self.came.swap(0, AcqRel);
        for (i, desc) in self.descs.iter().enumerate() {
            if came & 1 << i != 0 {
                desc.ready(Mode::Read, list)
            }
        }
        if sched::machine_now_ns() >= self.next_ns.load(Acquire) {
            self.next_ns.store(u64::MAX, Release);
            bump(&self.timers);
            self.descs[PROTOCOLS].ready(Mode::Write, list)
        }
    }
    fn listen(&self) -> bool {
        self.armed.store(true, Relaxed);
        fence(SeqCst);
        self.came.load(Relaxed) != 0
    }
    fn next_deadline_ns(&self) -> u64 {
        self.next_ns.load(Acquire)
    }
    fn has_device(&self) -> bool {
        !self.alone.load(Relaxed)
    }
}

/// The machine's one card.
fn card() -> &'static Card {
    static CARD: OnceLock<&'static Card> = OnceLock::new();
    CARD.get_or_init(|| {
        let card: &'static Card = Box::leak(Box::new(Card {
            descs: (0..SOCKETS).map(|_| Arc::new(PollDesc::new())).collect(),
            boxes: [const { AtomicU64::new(0) }; SOCKETS],
            came: AtomicU64::new(0),
            armed: AtomicBool::new(false),
            interrupts: AtomicU64::new(0),
            next_ns: AtomicU64::new(u64::MAX),
            timers: AtomicU64::new(0),
            alone: AtomicBool::new(false),
        }));
        sched::this().set_poller(card);
        card
    })
}

impl Card {
    /// A message comes to box `i`; if need be CPU `cpu` is interrupted.
    fn put(&self, i: usize, cpu: usize) {
        bump(&self.boxes[i]);
        self.came.fetch_or(1 << i, AcqRel);
        fence(SeqCst);
        if self.armed.swap(false, AcqRel) {
            bump(&self.interrupts);
            #[cfg(ringo_kernel)]
            arch::bare::device_interrupt(cpu, arch::bare::VECTOR_DEVICE_LAST);
            #[cfg(not(ringo_kernel))]
            sched::this().device_interrupt(cpu)
        }
    }

    /// What a socket's `read` does.
    fn take(&self, i: usize) -> Result<(), PollError> {
        loop {
            self.descs[i].reset(Mode::Read)?;
            let took = self.boxes[i].fetch_update(AcqRel, Acquire, |n| n.checked_sub(1));
            if took.is_ok() {
                return Ok(());
            }
            self.descs[i].wait(Mode::Read)?
        }
    }

    fn close(&self, i: usize) {
        self.descs[i].unblock(&mut ReadyList::new())
    }
}

fn at_rest() -> Outcome {
    let waiters = sched::this().netpoll_waiters();
    ensure!(waiters == 0, "{waiters} still count as waiters");
    Ok(())
}

/// Messages come one at a time, to any reader, with an interrupt at any CPU: most of them halt, and the one that runs does not look
/// by itself. Each message has its reader go on.
fn netpoll_halts() -> Outcome {
    static READ: AtomicU64 = AtomicU64::new(0);
    let card = card();
    let readers: Vec<_> = (0..3)
        .map(|i| {
            spawn(move || {
                while card.take(i).is_ok() {
                    bump(&READ);
                }
            })
        })
        .collect();
    let mut rng = chance(11);
    let (before, rounds) = (READ.load(Relaxed), param("rounds", 200));
    for n in 1..=rounds {
        if num_cpu() > 1 && n % 4 != 0 {
            others_halt()
        }
        // Now and then at the CPU of this G, which keeps it: where nothing interrupts it, another looks after a while.
        let own = n % 16 == 0 || num_cpu() == 1;
        let cpu = if own {
            arch::cpu_id()
        } else {
            rng.below(num_cpu() as u32) as usize
        };
        spin(rng.below(3_000));
        card.put(rng.below(3) as usize, cpu);
        hold_until(|| READ.load(Acquire) == before + n);
    }
    figure!("rounds", rounds);
    figure!("interrupts", card.interrupts.load(Relaxed));
    (0..3).for_each(|i| card.close(i));
    readers.into_iter().for_each(|g| g.join());
    at_rest()
}

/// A reader beside hogs on every P: it does not wait for their slices.
fn netpoll_hogs() -> Outcome {
    static READ: AtomicU64 = AtomicU64::new(0);
    static WHEN_NS: AtomicU64 = AtomicU64::new(0);
    const SOCKET: usize = 4;
    let card = card();
    for _ in 0..sched::gomaxprocs() as u64 * param("hogs", 2) {
        go(|| {
            loop {
                spin(1_000)
            }
        });
    }
    go(move || {
        while card.take(SOCKET).is_ok() {
            WHEN_NS.store(sched::machine_now_ns(), Relaxed);
            bump(&READ);
        }
    });
    until(|| sched::this().netpoll_waiters() == 1);
    let mut late_us = Vec::new();
    for n in 1..=param("rounds", 60) {
        sleep(Duration::from_millis(2));
        let put_ns = sched::machine_now_ns();
        card.put(SOCKET, n as usize % num_cpu());
        while READ.load(Acquire) != n {
            sleep(Duration::from_micros(200))
        }
        late_us.push((WHEN_NS.load(Relaxed) - put_ns) / 1_000)
    }
    late_us.sort_unstable();
    let (median, p99) = (late_us[late_us.len() / 2], late_us[late_us.len() - 1]);
    figure!("median_us", median);
    figure!("last_us", p99);
    figure!("gave_way", counts().gave_way);
    ensure!(counts().gave_way > 0, "nobody gave way");
    let strict = ringo::start::config().seed.is_some();
    ensure!(!strict || median < 300, "median of {median} us");
    ensure!(!strict || p99 < 1_000, "the last of {p99} us");
    Ok(())
}

/// Go: VariousDeadlines, ReadWriteProlongedTimeout, CloseUnblocksRead. Deadlines from 1 ns to 20 ms, some moved while they pass,
/// some ended by a close: none fires early, none is lost.
fn netpoll_deadlines() -> Outcome {
    card();
    let mut rng = chance(12);
    let gs: Vec<_> = (0..param("sockets", 48))
        .map(|n| {
            let ns = [1, 1_000, 250_000, 1_000_000, 5_000_000][n as usize % 5];
            let ns = ns + u64::from(rng.below(ns as u32));
            let desc = Arc::new(PollDesc::new());
            let (theirs, closes) = (desc.clone(), n % 7 == 6);
            let reader = spawn(move || {
                let due_ns = sched::now_ns() + ns;
                theirs.set_deadline(Mode::Read, Some(due_ns));
                let end = theirs.wait(Mode::Read);
                match end {
                    Err(PollError::Timeout) if sched::now_ns() >= due_ns => Ok(()),
                    Err(PollError::Closing) if closes => Ok(()),
                    _ => Err(format!("socket {n}: {end:?}")),
                }
            });
            let mover = spawn(move || {
                for _ in 0..20 {
                    desc.set_deadline(Mode::Write, Some(sched::now_ns() + 300_000));
                    yield_now()
                }
                if closes {
                    sleep(Duration::from_micros(100));
                    desc.unblock(&mut ReadyList::new());
                    return Ok(());
                }
                match desc.wait(Mode::Write) {
                    Err(PollError::Timeout) => Ok(()),
                    end => Err(format!("socket {n}, the other side: {end:?}")),
                }
            });
            (reader, mover)
        })
        .collect();
    for (reader, mover) in gs {
        reader.join()?;
        mover.join()?
    }
    at_rest()
}

/// The protocols' timers: while all CPUs halt, and beside hogs.
fn netpoll_protocols() -> Outcome {
    let card = card();
    let before = card.timers.load(Relaxed);
    let rounds = param("rounds", 20);
    for n in 0..2 * rounds {
        if n == rounds && preempts() {
            for _ in 0..sched::gomaxprocs() {
                go(|| {
                    loop {
                        spin(1_000)
                    }
                });
            }
        }
        let due_ns = sched::machine_now_ns() + 300_000;
        card.descs[PROTOCOLS]
            .reset(Mode::Write)
            .map_err(|e| e.to_string())?;
        card.next_ns.store(due_ns, Release);
        card.descs[PROTOCOLS]
            .wait(Mode::Write)
            .map_err(|e| e.to_string())?;
        ensure!(sched::machine_now_ns() >= due_ns, "too early");
    }
    let timers = card.timers.load(Relaxed) - before;
    ensure!(timers == 2 * rounds, "{timers} timers of {}", 2 * rounds);
    at_rest()
}

/// One waits for what never comes, one keeps its CPU, and the others halt but for the looks that they take for that one.
fn netpoll_rests() -> Outcome {
    const SOCKET: usize = 3;
    let card = card();
    let reader = spawn(move || card.take(SOCKET));
    until(|| sched::this().netpoll_waiters() == 1);
    if num_cpu() > 1 {
        others_halt()
    }
    let (begin_ns, polls, halts) = (sched::now_ns(), sched::this().netpolls().0, counts().halts);
    // So long that looks would be many if they did not wait for each other.
    hold_until(|| sched::now_ns() - begin_ns > param("ms", 300) * 1_000_000);
    let (polls, halts) = (sched::this().netpolls().0 - polls, counts().halts - halts);
    let looks = (sched::now_ns() - begin_ns) / 10_000_000 + 1;
    figure!("looks_due", looks);
    figure!("polls", polls);
    figure!("halts", halts);
    ensure!(polls <= 2 * looks, "{polls} looks in the time of {looks}");
    ensure!(
        halts <= 8 * looks * num_cpu() as u64,
        "{halts} halts in the time of {looks} looks"
    );
    let watched = preempts() || num_cpu() > 1;
    ensure!(!watched || polls > 0, "nobody looked");
    card.close(SOCKET);
    ensure!(
        reader.join() == Err(PollError::Closing),
        "it read something"
    );
    at_rest()
}

/// A wait that holds its CPU, or asks again and again: messages come all the same, and others run meanwhile.
fn netpoll_ways() -> Outcome {
    static READ: AtomicU64 = AtomicU64::new(0);
    static WORK: AtomicU64 = AtomicU64::new(0);
    const SOCKET: usize = 5;
    let card = card();
    let reader = spawn(move || {
        while card.take(SOCKET).is_ok() {
            bump(&READ);
        }
    });
    static AT_WORK: AtomicBool = AtomicBool::new(true);
    go(|| {
        while AT_WORK.load(Relaxed) {
            bump(&WORK);
            yield_now()
        }
    });
    let mut rng = chance(13);
    let rounds = param("rounds", 100);
    for n in 1..=rounds {
        spin(rng.below(20_000));
        let worked = WORK.load(Relaxed);
        card.put(SOCKET, rng.below(num_cpu() as u32) as usize);
        until(|| READ.load(Acquire) == n && WORK.load(Relaxed) > worked);
    }
    AT_WORK.store(false, Relaxed);
    // Timers that start goroutines, while every CPU but one is held by a wait and that one may be idle.
    let fired = Arc::new(AtomicU64::new(0));
    for n in 1..=param("timers", 50) {
        let theirs = fired.clone();
        let _timer = after_func(Duration::from_micros(300), move || _ = bump(&theirs));
        card.descs[PROTOCOLS].set_deadline(Mode::Read, Some(sched::now_ns() + 600_000));
        ensure!(
            card.take(PROTOCOLS) == Err(PollError::Timeout),
            "no deadline"
        );
        until(|| fired.load(Acquire) == n);
    }
    card.descs[SOCKET].set_deadline(Mode::Read, Some(sched::now_ns() + 2_000_000));
    reader.join();
    figure!("rounds", rounds);
    at_rest()
}

/// Nobody brings anything: there is no network.
fn netpoll_dead() -> Outcome {
    let end = PollDesc::new().wait(Mode::Read);
    Err(format!("a wait ended: {end:?}"))
}

/// There is one, and no device in it.
fn netpoll_dead_alone() -> Outcome {
    meet(sched::gomaxprocs() as u64);
    let card = card();
    card.alone.store(true, Relaxed);
    let end = card.take(0);
    Err(format!("a wait ended: {end:?}"))
}
