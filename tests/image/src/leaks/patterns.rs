//! Programs that leave goroutines behind which can never run again.

use crate::wait::until;
use core::sync::atomic::{AtomicU64, Ordering::*};
use ringo::leaks::Why;
use ringo::prelude::*;
use sched::WaitReason;

/// What a pattern leaves behind, in the order of the goroutines' numbers.
pub type Expected = &'static [(WaitReason, Kind)];

/// [`Why`] without the numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    Nothing,
    Own,
    Other,
    Ended,
    Unreachable,
}

pub fn kind(leak: &ringo::leaks::Leak) -> Option<Kind> {
    Some(match leak.why {
        Why::NeverComes => Kind::Nothing,
        Why::LockOf(owner) if owner == leak.g.id => Kind::Own,
        Why::LockOf(_) => Kind::Other,
        Why::LockOfEnded(_) => Kind::Ended,
        Why::Unreachable => Kind::Unreachable,
        Why::LongWait => return None,
    })
}

/// Name, the program, what it leaves behind.
pub const PATTERNS: &[(&str, fn(), Expected)] = &[
    (
        "the sender lies deep in the receiver's own heap",
        || {
            let (tx, rx) = chan::<u32>(0);
            let list = Arc::new(Mutex::new(vec![Box::new((1, Some(tx)))]));
            go(move || _ = (rx.recv(), list.lock().pop()));
        },
        &[(WaitReason::ChanReceive, Kind::Unreachable)],
    ),
    (
        "each waits for the other's value",
        || {
            let ((tx_a, rx_a), (tx_b, rx_b)) = (chan::<u32>(0), chan::<u32>(0));
            go(move || _ = (rx_a.recv(), tx_b.send(1)));
            go(move || _ = (rx_b.recv(), tx_a.send(1)));
        },
        &[
            (WaitReason::ChanReceive, Kind::Unreachable),
            (WaitReason::ChanReceive, Kind::Unreachable),
        ],
    ),
    (
        "the receiver has the only sender",
        || {
            let (tx, rx) = chan::<u32>(0);
            go(move || _ = (rx.recv(), tx.send(1)));
        },
        &[(WaitReason::ChanReceive, Kind::Unreachable)],
    ),
    (
        "a full buffer, and nobody else can receive",
        || {
            let (tx, rx) = chan::<u32>(2);
            go(move || {
                (0..3).for_each(|i| _ = tx.send(i));
                rx.recv();
            });
        },
        &[(WaitReason::ChanSend, Kind::Unreachable)],
    ),
    (
        "a nil channel",
        || go(|| _ = never::<u32>().recv()),
        &[(WaitReason::ChanReceiveNil, Kind::Nothing)],
    ),
    (
        "locked twice",
        || {
            go(|| {
                let m = Mutex::new(0);
                let _first = m.lock();
                *m.lock() += 1;
            })
        },
        &[(WaitReason::SyncMutexLock, Kind::Own)],
    ),
    (
        "two locks in two orders",
        || {
            static A: Mutex<u32> = Mutex::new(0);
            static B: Mutex<u32> = Mutex::new(0);
            static READY: AtomicU64 = AtomicU64::new(0);
            for (first, second) in [(&A, &B), (&B, &A)] {
                go(move || {
                    let _first = first.lock();
                    READY.fetch_add(1, Relaxed);
                    until(|| READY.load(Relaxed) == 2);
                    *second.lock() += 1;
                });
            }
        },
        &[
            (WaitReason::SyncMutexLock, Kind::Other),
            (WaitReason::SyncMutexLock, Kind::Other),
        ],
    ),
    (
        "the owner has ended",
        || {
            static M: Mutex<u32> = Mutex::new(0);
            let owner = spawn(|| {
                let _kept = M.lock();
                goexit()
            });
            until(|| owner.is_finished());
            go(|| *M.lock() += 1);
        },
        &[(WaitReason::SyncMutexLock, Kind::Ended)],
    ),
    (
        "the owner waits for ever, and others for those that wait for it",
        || {
            static M: Mutex<u32> = Mutex::new(0);
            static HAS: AtomicU64 = AtomicU64::new(0);
            go(|| {
                let _kept = M.lock();
                HAS.store(1, Relaxed);
                never::<u32>().recv();
            });
            until(|| HAS.load(Relaxed) == 1);
            go(|| *M.lock() += 1);
            go(|| *M.lock() += 1);
        },
        &[
            (WaitReason::ChanReceiveNil, Kind::Nothing),
            (WaitReason::SyncMutexLock, Kind::Other),
            (WaitReason::SyncMutexLock, Kind::Other),
        ],
    ),
    (
        "a wait group that is never done",
        || {
            go(|| {
                let wg = WaitGroup::new();
                wg.add(1);
                wg.wait();
            })
        },
        &[(WaitReason::SyncWaitGroupWait, Kind::Unreachable)],
    ),
    (
        "a signal that came before the wait",
        || {
            let pair = Arc::new((Mutex::new(()), Cond::new()));
            pair.1.notify_one();
            go(move || drop(pair.1.wait(pair.0.lock())));
        },
        &[(WaitReason::SyncCondWait, Kind::Unreachable)],
    ),
    (
        "a permit that nobody gives back",
        || {
            go(|| {
                let s = Semaphore::new(1);
                s.acquire();
                s.acquire();
            })
        },
        &[(WaitReason::SemAcquire, Kind::Unreachable)],
    ),
    (
        "a result that never comes",
        || {
            go(|| {
                spawn(|| _ = never::<u32>().recv()).join();
            })
        },
        &[
            (WaitReason::Join, Kind::Unreachable),
            (WaitReason::ChanReceiveNil, Kind::Nothing),
        ],
    ),
    (
        "a select on its own channels",
        || {
            let ((tx_a, rx_a), (tx_b, rx_b)) = (chan::<u32>(0), chan::<u32>(0));
            go(move || {
                select! { recv(rx_a) -> _v => (), recv(rx_b) -> _v => () }
                drop((tx_a, tx_b))
            });
        },
        &[(WaitReason::Select, Kind::Unreachable)],
    ),
    (
        "a lock for reading inside one for writing",
        || {
            go(|| {
                let l = RwLock::new(0);
                let _held = l.write();
                let _again = *l.read();
            })
        },
        &[(WaitReason::SyncRwMutexRLock, Kind::Unreachable)],
    ),
];
