//! What takes no memory: operations on a channel or a lock that nobody else wants, and parking on one. Counted by the allocator
//! of this test program, which is alone in its process.

use core::sync::atomic::{AtomicU64, AtomicUsize, Ordering::Relaxed};
use csp::sync::{Cond, Mutex, RwLock, Semaphore, WaitGroup};
use csp::time::{Duration, Timer, sleep};
use csp::{chan, never, select, spawn};
use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::Arc;

struct Counting;
static ALLOCATIONS: AtomicU64 = AtomicU64::new(0);

// SAFETY: `System` does it all; the count is beside it.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        ALLOCATIONS.fetch_add(1, Relaxed);
        // SAFETY: the caller's promise.
        unsafe { System.alloc(layout) }
    }
    unsafe fn dealloc(&self, at: *mut u8, layout: Layout) {
        // SAFETY: the caller's promise.
        unsafe { System.dealloc(at, layout) }
    }
}

#[global_allocator]
static COUNTING: Counting = Counting;

/// Allocations of the whole process while `f` runs for the second time: what is kept for later is there then.
fn second_time(mut f: impl FnMut()) -> u64 {
    f();
    let before = ALLOCATIONS.load(Relaxed);
    f();
    ALLOCATIONS.load(Relaxed) - before
}

const N: u32 = 1000;

fn uncontended() {
    let (tx, rx) = chan::<u64>(8);
    let (quiet_tx, quiet) = chan::<u64>(0);
    let channel = second_time(|| {
        for i in 0..N.into() {
            tx.send(i).unwrap();
            tx.try_send(i).unwrap();
            assert_eq!(rx.recv(), Some(i));
            assert_eq!(rx.try_recv(), Ok(i));
            assert!(quiet_tx.try_send(1).is_err());
            select! { send(tx, i) -> r => r.unwrap(), recv(quiet) -> _v => unreachable!() }
            select! { recv(rx) -> v => assert_eq!(v, Some(i)), recv(never::<u64>()) -> _v => unreachable!() }
            select! { recv(rx) -> _v => unreachable!(), default => {} }
        }
    });
    let (mutex, lock, semaphore) = (Mutex::new(0), RwLock::new(0), Semaphore::new(1));
    let locks = second_time(|| {
        for _ in 0..N {
            *mutex.lock() += 1;
            *mutex.try_lock().unwrap() += 1;
            *lock.write() += 1;
            assert!(*lock.read() > 0);
            semaphore.acquire();
            semaphore.release();
        }
    });
    assert_eq!((channel, locks), (0, 0), "uncontended");
}

/// Another goroutine answers on one channel what comes on the other: each operation parks somebody.
fn parked_on_channels() {
    for cap in [0, 1] {
        let ((ping, pings), (pong, pongs)) = (chan::<u32>(cap), chan::<u32>(cap));
        let (_open, quiet) = chan::<u32>(0);
        let partner = spawn({
            let quiet = quiet.clone();
            move || {
                for v in &pings {
                    select! { send(pong, v) -> r => r.unwrap(), recv(quiet) -> _v => {} }
                }
            }
        });
        let n = second_time(|| {
            for i in 0..N {
                ping.send(i).unwrap();
                let v = select! { recv(pongs) -> v => v, recv(quiet) -> v => v };
                assert_eq!(v, Some(i));
            }
        });
        drop(ping);
        partner.join();
        assert_eq!(n, 0, "parked on channels of capacity {cap}");
    }
}

/// Two goroutines hand a turn to each other over a mutex and a condition, and over two semaphores.
fn parked_on_locks() {
    let turn = Arc::new((Mutex::new(0u32), Cond::new()));
    let sems = Arc::new((Semaphore::new(0), Semaphore::new(0)));
    let take = |turn: &(Mutex<u32>, Cond), mine: u32| {
        let mut now = turn.0.lock();
        while *now % 2 != mine {
            now = turn.1.wait(now)
        }
        *now += 1;
        turn.1.notify_all()
    };
    let partner = spawn({
        let (turn, sems) = (turn.clone(), sems.clone());
        move || {
            for _ in 0..2 * N {
                take(&turn, 1);
                sems.0.acquire();
                sems.1.release()
            }
        }
    });
    let n = second_time(|| {
        for _ in 0..N {
            take(&turn, 0);
            sems.0.release();
            sems.1.acquire()
        }
    });
    partner.join();
    assert_eq!(n, 0, "parked on locks");
}

/// Sleeping, and waiting for a timer that there is already.
fn parked_on_time() {
    let (timer, us) = (Timer::new(Duration::ZERO), Duration::from_micros(1));
    let wg = WaitGroup::new();
    // Each P has timers of its own, which grow when they are first used: once for each P it may take memory.
    let sleeps = [(); 4].map(|()| {
        second_time(|| {
            for _ in 0..50 {
                sleep(us);
                wg.wait()
            }
        })
    });
    let taken = sleeps.iter().filter(|n| **n != 0).count();
    assert!(
        taken <= 2 && sleeps.contains(&0),
        "parked on time: {sleeps:?}"
    );
    timer.recv();
}

/// As many Gs as there are Ps run at the same instant, each on an M of its own: a thread that only starts takes memory.
fn all_ms_meet(procs: usize) {
    let come = Arc::new(AtomicUsize::new(0));
    let meet = move || {
        come.fetch_add(1, Relaxed);
        while come.load(Relaxed) < procs {
            core::hint::spin_loop()
        }
    };
    let others: Vec<_> = (1..procs).map(|_| spawn(meet.clone())).collect();
    meet();
    others.into_iter().for_each(|g| g.join());
}

/// As a harness would: one test, which filters may leave out.
fn main() {
    if std::env::args().any(|arg| arg == "--list") {
        return println!("nothing_is_allocated: test");
    }
    let mut filters = std::env::args().skip(1).filter(|arg| !arg.starts_with('-'));
    if filters.all(|filter| "nothing_is_allocated".contains(&filter)) {
        nothing_is_allocated();
        println!("test nothing_is_allocated ... ok")
    }
}

/// Others beside it would be counted too.
fn nothing_is_allocated() {
    let counted = second_time(|| drop(std::hint::black_box(Box::new(7))));
    assert!(counted > 0, "the count counts");
    for procs in [1, 2] {
        sched::testing::run(procs, procs, move || {
            all_ms_meet(procs);
            uncontended();
            parked_on_channels();
            parked_on_locks();
            parked_on_time();
        });
    }
}
