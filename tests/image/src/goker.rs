//! Deadlocks and leaks of real programs, and what the look for leaks says of them.
//!
//! The bugs are those of GoKer, the kernels of GoBench ("GoBench: A Benchmark Suite of Real-World Go Concurrency Bugs", CGO
//! 2021), which Go tests its profile `goroutineleak` with: a name is the project and the number of the issue or change. Each is
//! told anew here, as small as it can be. Time is virtual, so steps come in the order of their turns ([`kit::later`]), however
//! many CPUs there are, and each bug shows in each run.
//!
//! Every program has its correction as well: with it, it has to end, and at no moment on the way may one of its goroutines be
//! called certain.

use crate::{Outcome, Test, ensure, figure};
use alloc::collections::{BTreeMap, BTreeSet};
use core::hint::black_box;
use core::sync::atomic::{AtomicUsize, Ordering::*};
use kit::{Left, Program, Verdict};
use ringo::prelude::*;
use sched::WaitReason;

mod cockroach_channels;
mod cockroach_locks;
mod etcd;
mod grpc;
mod hugo_istio;
mod kit;
mod kubernetes;
mod moby;
mod serving_syncthing;

pub const TESTS: &[Test] = &[
    ("goker_leaks", goker_leaks),
    ("goker_corrected", goker_corrected),
];

const ALL: &[&[Program]] = &[
    cockroach_locks::PROGRAMS,
    cockroach_channels::PROGRAMS,
    etcd::PROGRAMS,
    grpc::PROGRAMS,
    hugo_istio::PROGRAMS,
    kubernetes::PROGRAMS,
    moby::PROGRAMS,
    serving_syncthing::PROGRAMS,
    // Last: its goroutine runs again and again, and what is dead in its frames would be as good as alive.
    grpc::RETRIES,
];

/// A look from time to time: between the turns, where nobody else acts. Looks are what
/// these tests cost.
const BETWEEN: Duration = Duration::from_millis(17);
/// Programs have settled after that.
const SETTLED: Duration = Duration::from_secs(1);
/// A corrected program has ended after so many looks.
const LOOKS: usize = 100;

/// Those that are new in a look.
struct Found {
    certain: BTreeMap<u64, WaitReason>,
    suspect: BTreeMap<u64, WaitReason>,
    report: ringo::leaks::Report,
}

/// Overwrites what frames that have returned left behind. A frame that is entered later has places that it does not use yet:
/// they would hold addresses of objects that are free by then, or others' already, and every address counts.
#[inline(never)]
fn forget_frames() {
    black_box([0usize; 1000]);
}

/// Starts a program, in a frame of its own: what a live one leaves in dead places counts as a pointer.
#[inline(never)]
fn begin(run: fn(bool), fixed: bool) {
    go(move || run(fixed))
}

/// Looks for leaks among goroutines that are not `known`; everybody who waits is suspect at least.
#[inline(never)]
fn look(known: &BTreeSet<u64>) -> Result<Found, String> {
    forget_frames();
    look_now(known)
}

#[inline(never)]
fn look_now(known: &BTreeSet<u64>) -> Result<Found, String> {
    let report = ringo::leaks_after(Duration::ZERO);
    if let Some(limit) = report.0.limit {
        return Err(format!("the look was limited: {limit}"));
    }
    let new = |list: &[ringo::leaks::Leak]| {
        let new = list.iter().filter(|l| !known.contains(&l.g.id));
        new.map(|l| (l.g.id, l.g.wait)).collect()
    };
    Ok(Found {
        certain: new(&report.0.certain),
        suspect: new(&report.0.suspect),
        report,
    })
}

/// Those that are called certain while the program is under way.
#[inline(never)]
fn look_early(known: &BTreeSet<u64>) -> Result<BTreeMap<u64, WaitReason>, String> {
    Ok(look(known)?.certain)
}

/// The program with its bug. What it leaves becomes `known`. True: nobody was overlooked.
#[inline(never)]
fn with_bug(program: &Program, known: &mut BTreeSet<u64>) -> Result<bool, String> {
    let &(name, run, left) = program;
    begin(run, false);
    sleep(BETWEEN);
    let early = look_early(known)?;
    sleep(SETTLED);
    let found = look(known)?;
    known.extend(found.certain.keys().chain(found.suspect.keys()));
    for (id, reason) in &early {
        // Suspect is possible: something new may look like its address.
        let now = found.certain.get(id).or(found.suspect.get(id));
        ensure!(
            now == Some(reason),
            "{name}: goroutine {id} was certain, and ran: {now:?}"
        );
    }
    let all = judge_verdicts(&found, left).map_err(|why| format!("{name}: {why}"))?;
    kit::drop_kept();
    if !left.iter().any(|l| l.1 == Verdict::Kept) {
        return Ok(all);
    }
    let waiting = certain_of(found.suspect.keys())?;
    Ok(all && waiting.is_none_or(|n| n == found.suspect.len()))
}

/// How many of these are certain; `None`: none of them is there any more.
#[inline(never)]
fn certain_of<'a>(ids: impl Iterator<Item = &'a u64> + Clone) -> Result<Option<usize>, String> {
    let found = look(&BTreeSet::new())?;
    let certain = ids.clone().filter(|id| found.certain.contains_key(id));
    let there = |id: &&u64| found.certain.contains_key(id) || found.suspect.contains_key(id);
    Ok(ids.clone().any(|id| there(&id)).then(|| certain.count()))
}

/// Is everybody there who is to be, for the right reason, and nobody else; and is nobody called certain who is not to be? True:
/// all who are to be certain are.
fn judge_verdicts(found: &Found, left: &[Left]) -> Result<bool, String> {
    let mut want: Vec<Left> = left.to_vec();
    let certain = found.certain.values().map(|reason| (reason, true));
    let suspect = found.suspect.values().map(|reason| (reason, false));
    let mut all = true;
    // Who is certain has to be; one that is suspect may be one that was overlooked.
    for (reason, is_certain) in certain.chain(suspect) {
        let fits = |l: &Left, exact: bool| {
            l.0 == *reason && (!exact || is_certain == (l.1 == Verdict::Certain))
        };
        let exact = want.iter().position(|l| fits(l, true));
        let any = || {
            want.iter()
                .position(|l| fits(l, false))
                .filter(|_| !is_certain)
        };
        all &= exact.is_some();
        match exact.or_else(any) {
            Some(i) => _ = want.swap_remove(i),
            None => {
                return Err(format!(
                    "one that waits for {reason} is {}",
                    if is_certain {
                        "called certain"
                    } else {
                        "too many"
                    }
                ));
            }
        }
    }
    ensure!(want.is_empty(), "{want:?} are missing");
    Ok(all)
}

/// The program with its bug corrected: it ends, and nobody is ever certain. How many looks were taken.
fn corrected(program: &Program, known: &BTreeSet<u64>) -> Result<usize, String> {
    let &(name, run, _) = program;
    let before = num_goroutine();
    begin(run, true);
    for looks in 1..LOOKS {
        let found = look(known)?;
        ensure!(
            found.certain.is_empty(),
            "{name}, corrected: {:?} are called certain\n{}",
            found.certain,
            found.report
        );
        kit::drop_kept();
        if num_goroutine() == before {
            return Ok(looks);
        }
        sleep(BETWEEN);
    }
    Err(format!(
        "{name}, corrected, does not end\n{}",
        look(known)?.report
    ))
}

/// Those whose fate is settled.
static KNOWN: Mutex<BTreeSet<u64>> = Mutex::new(BTreeSet::new());
/// What went wrong.
static WRONG: Mutex<Vec<String>> = Mutex::new(Vec::new());

/// Times that somebody was overlooked.
static OVERLOOKED: AtomicUsize = AtomicUsize::new(0);
/// So often a program is run until nobody is: addresses that lie about hide one now and then.
const TRIES: usize = 16;

/// A try: under way, good, somebody was overlooked, or [`WRONG`].
static TRIED: AtomicUsize = AtomicUsize::new(UNDER_WAY);
const UNDER_WAY: usize = 0;
const GOOD: usize = 1;
const OVERLOOKS: usize = 2;
const BAD: usize = 3;

/// Judges a program in a goroutine of its own. Main, which lives on, has nothing in its frames that was ever freed; and what
/// lies about in the judge's, and hides somebody whose memory was its own before, lies nowhere in the next one's.
#[inline(never)]
fn judge(program: &'static Program, attempt: usize) {
    go(move || {
        forget_frames();
        deeper(attempt - 1, program)
    })
}

/// With its frames so many further down.
#[inline(never)]
fn deeper(n: usize, program: &'static Program) {
    if n != 0 {
        deeper(n - 1, program);
        return black_box(()); // it has a frame to come back to
    }
    let tried = match with_bug(program, &mut KNOWN.lock()) {
        Ok(true) => GOOD,
        Ok(false) => OVERLOOKS,
        Err(why) => {
            WRONG.lock().push(why);
            BAD
        }
    };
    TRIED.store(tried, Release)
}

/// Judges it until nobody is overlooked. How many tries that took.
#[inline(never)]
fn judge_often(program: &'static Program) -> usize {
    for attempt in 1..=TRIES {
        TRIED.store(UNDER_WAY, Relaxed);
        judge(program, attempt);
        while TRIED.load(Acquire) == UNDER_WAY {
            sleep(SETTLED)
        }
        if TRIED.load(Relaxed) != OVERLOOKS {
            return attempt;
        }
        OVERLOOKED.fetch_add(1, Relaxed);
    }
    let why = format!("{}: always overlooked", program.0);
    WRONG.lock().push(why);
    TRIES
}

/// All 68, one after the other; what earlier ones left over stays.
fn goker_leaks() -> Outcome {
    let (mut programs, mut most_tries) = (0, 0);
    for program in ALL.iter().copied().flatten() {
        programs += 1;
        most_tries = judge_often(program).max(most_tries)
    }
    let wrong = WRONG.lock();
    let known = KNOWN.lock();
    figure!("programs", programs);
    figure!("leaks", known.len());
    figure!("overlooked", OVERLOOKED.load(Relaxed));
    figure!("most_tries", most_tries);
    let begin = sched::machine_now_ns();
    look(&known)?;
    figure!("look_us", (sched::machine_now_ns() - begin) / 1000);
    ensure!(wrong.is_empty(), "{}", wrong.join("\n"));
    Ok(())
}

/// All 68 without their bugs.
fn goker_corrected() -> Outcome {
    let (known, mut looks) = (BTreeSet::new(), 0);
    for program in ALL.iter().copied().flatten() {
        looks += corrected(program, &known)?;
    }
    figure!("looks", looks);
    Ok(())
}
