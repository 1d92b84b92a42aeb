//! Disk reads that occupy their CPUs for milliseconds, and goroutines that compute beside them. Try `--set handoff=off`. `-- N`: reads.
#![no_std]
#![no_main]
use core::sync::atomic::{AtomicBool, AtomicU64, Ordering::*};
use ringo::prelude::*;
use ringo::{disk, machine};
ringo::main!(main);

/// Sectors of one read: one request of the disk.
const SECTORS: usize = 32;
/// How long a read lasts that is only played, where there is no disk (`--seed`, the host machine).
const PLAYED: Duration = Duration::from_millis(5);
/// A disk that rested answers the first reads at once; those tell nothing.
const LONG: Duration = Duration::from_millis(2);
/// Goroutines that are started just before each read of the second part.
const BESIDE: u64 = 8;

/// The rounds come in so many parts.
const PARTS: u64 = 5;
/// So often the rounds are done anew where the host let too few of them last.
const TRIES: u64 = 10;

/// Pieces of work that the computing goroutines have done.
static WORK: AtomicU64 = AtomicU64::new(0);
static STOP: AtomicBool = AtomicBool::new(false);

/// Some tens of microseconds of arithmetic.
fn piece() {
    let mut x = 1u64;
    for _ in 0..5_000 {
        x = core::hint::black_box(x.wrapping_mul(6364136223846793005).wrapping_add(1));
    }
}

/// Computes until it is told to stop; gives way after each piece, so that it shares its P without any clock.
fn compute() {
    while !STOP.load(Relaxed) {
        piece();
        WORK.fetch_add(1, Relaxed);
        yield_now();
    }
}

/// One read that keeps its CPU busy until the disk has answered.
fn read(n: u64) {
    match disk::sectors() {
        Ok(sectors) => {
            let mut buffer = vec![0; SECTORS * disk::SECTOR_BYTES];
            let sector = n * SECTORS as u64 % (sectors - SECTORS as u64 + 1);
            disk::read(sector, &mut buffer).expect("the disk answers");
        }
        Err(_) => {
            let begin = Instant::now();
            blocking(|| {
                while begin.elapsed() < PLAYED {
                    core::hint::spin_loop()
                }
            })
        }
    }
}

/// Work and time between two instants of a round: from when the last reader begins to when the first is back. In between
/// every P that was there at the start belongs to a read.
#[derive(Default)]
struct Round {
    begun: u64,
    at_begin: Option<(u64, Instant)>,
    work: u64,
    time: Duration,
    ended: u64,
}

/// All readers read at the same time, `rounds` times: pieces of work in a second, in each round that lasted.
fn read_together(readers: u64, rounds: u64) -> Vec<f64> {
    let all: Arc<Vec<Mutex<Round>>> =
        Arc::new((0..rounds).map(|_| Mutex::new(Round::default())).collect());
    let wg = WaitGroup::new();
    for reader in 0..readers {
        let all = all.clone();
        wg.go(move || {
            for (n, round) in (0..).zip(all.iter()) {
                if n > 0 {
                    // Nobody begins a round before all have ended the last one.
                    while all[n as usize - 1].lock().ended < readers {
                        yield_now()
                    }
                }
                begin(round, readers);
                read(n * readers + reader);
                end(round);
            }
        });
    }
    wg.wait();
    let rounds = all.iter().map(|round| round.lock());
    let lasted = rounds.filter(|round| round.time >= LONG);
    lasted
        .map(|round| round.work as f64 / round.time.as_secs_f64())
        .collect()
}

/// Part by part, and again until a few rounds lasted. Before each part nobody reads for a moment: the host's time for this
/// machine changes, and both kinds of work have their share of good and bad moments. In order: the work of those moments, and that
/// of the rounds. If `hands_on`, also until work was done in one: a read may last just because the host had no time for the CPUs that
/// would have seen it.
fn read_until_some_last(readers: u64, rounds: u64, hands_on: bool) -> (Vec<f64>, Vec<f64>) {
    let (mut alone, mut lasted) = (Vec::new(), Vec::new());
    for n in 1..=PARTS * TRIES {
        alone.push(rate());
        lasted.extend(read_together(readers, rounds.div_ceil(PARTS)));
        let enough = n >= PARTS && lasted.len() as u64 >= rounds.div_ceil(8);
        if enough && (!hands_on || lasted.iter().any(|work| *work > 0.0)) {
            break;
        }
    }
    alone.sort_by(f64::total_cmp);
    lasted.sort_by(f64::total_cmp);
    (alone, lasted)
}

fn begin(round: &Mutex<Round>, readers: u64) {
    let mut round = round.lock();
    round.begun += 1;
    if round.begun == readers && round.ended == 0 {
        round.at_begin = Some((WORK.load(Relaxed), Instant::now()))
    }
}

fn end(round: &Mutex<Round>) {
    let mut round = round.lock();
    if round.ended == 0
        && let Some((work, when)) = round.at_begin
    {
        round.work = WORK.load(Relaxed) - work;
        round.time = when.elapsed();
    }
    round.ended += 1
}

/// Pieces of work in a second while nobody reads, over a moment.
fn rate() -> f64 {
    let (work, begin) = (WORK.load(Relaxed), Instant::now());
    sleep(Duration::from_millis(40));
    (WORK.load(Relaxed) - work) as f64 / begin.elapsed().as_secs_f64()
}

/// With a P for each CPU: `BESIDE` goroutines are started on the reader's own P just before each read. How many that were,
/// and how many of them ran before the read was over; the reads that count are those that lasted. If `hands_on`, until one did.
fn read_and_leave(rounds: u64, hands_on: bool) -> (u64, u64) {
    static DONE: AtomicU64 = AtomicU64::new(0);
    static EARLY: AtomicU64 = AtomicU64::new(0);
    let wg = WaitGroup::new();
    let (mut started, mut early) = (0, 0);
    for n in 0..2 * rounds * TRIES {
        if n >= 2 * rounds && started != 0 && (!hands_on || early != 0) {
            break;
        }
        EARLY.store(0, Relaxed);
        for _ in 0..BESIDE {
            wg.go(move || {
                if DONE.load(Relaxed) == n {
                    EARLY.fetch_add(1, Relaxed);
                }
            });
        }
        let begin = Instant::now();
        read(n);
        DONE.store(n + 1, Relaxed);
        if begin.elapsed() >= LONG {
            started += BESIDE;
            early += EARLY.load(Relaxed);
        }
        wg.wait();
    }
    (started, early)
}

fn main() -> Result<(), String> {
    let cpus = num_cpu();
    let rounds = ringo::args::number("reads", 60, 1..=10_000);
    if cpus < 2 {
        return Err(
            "a P can go to another CPU only where there is one: at least --smp 2".to_string(),
        );
    }
    if machine::procs() == cpus {
        gomaxprocs(cpus / 2);
    }
    let procs = machine::procs();
    let hands_on = machine::hands_on();
    if !hands_on {
        println!("nobody takes a P from a read that lasts (handoff=off, or no sysmon to see it)");
    }
    for _ in 0..2 * cpus {
        go(compute);
    }

    let (alone, during) = read_until_some_last(procs as u64, rounds, hands_on);
    let alone = alone[alone.len() / 2];
    let Some(&middle) = during.get(during.len() / 2) else {
        STOP.store(true, Relaxed);
        return Err(nothing_shown("each P was in a read"));
    };
    let share = middle / alone;
    println!(
        "P = {procs} on {cpus} CPUs: {procs} read, {} compute",
        2 * cpus
    );
    println!("{alone:.0} pieces of work a second while nobody reads");
    println!(
        "{middle:.0} while each P has a goroutine in a read, the median of {} times: a share of {share:.2}",
        during.len()
    );
    if share > 1.0 {
        println!(
            "(more than 1: the host was busy, and had less time for this machine while nobody read)"
        )
    }

    gomaxprocs(cpus);
    let (started, early) = read_and_leave(rounds, hands_on);
    STOP.store(true, Relaxed);
    if started == 0 {
        return Err(nothing_shown("a reader left goroutines on its P"));
    }
    println!("P = {cpus} on {cpus} CPUs: no CPU is free to take a P");
    println!(
        "{early} of {started} goroutines that a reader left on its P ran elsewhere before the read was over"
    );
    let most = during.last().copied().unwrap_or(middle) / alone;
    judge(hands_on, share, most, early as f64 / started as f64)
}

/// The reads that count did not come.
fn nothing_shown(what: &str) -> String {
    format!(
        "nothing is shown: there was no time of {LONG:?} in which {what}; a slower disk, or more of the host's time, would bring some"
    )
}

/// Does what was seen fit the switch? The bounds are wide: on a host with little time for this machine, its CPUs, its disk and
/// its clock all wait, and half of the reads may be over before sysmon had the time to see them.
fn judge(hands_on: bool, share: f64, most: f64, early: f64) -> Result<(), String> {
    if hands_on && most < 0.01 {
        return Err("the computing goroutines stood still during the reads".to_string());
    }
    if hands_on && early < 0.01 {
        return Err("what a reader left behind on its P waited for the read".to_string());
    }
    if !hands_on && (share > 0.25 || early > 0.25) {
        return Err("somebody ran while every P was in a read".to_string());
    }
    Ok(())
}
