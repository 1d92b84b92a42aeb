//! Models of what threads of a ring-3 program say to each other, checked by loom from the library's own source, the kernel's futex being
//! one of loom's locks. Built with `RUSTFLAGS="--cfg ringo_loom"` only; `cargo test -p tests --test models` builds and runs all of them,
//! with and without planted bugs.
#![cfg(ringo_loom)]

use base::shim::Cell;
use rt::chan::{TrySendError, chan};
use rt::sync::{Cond, Mutex, WaitGroup};
use rt::thread::spawn;
use std::cell::RefCell;
use std::collections::BTreeSet;
use std::sync::Arc;

thread_local! {
    /// What has come to pass in any interleaving so far. Beside the model: adds nothing to it.
    static SEEN: RefCell<BTreeSet<&'static str>> = const { RefCell::new(BTreeSet::new()) };
}

/// Explores `f` with at most `preemptions` switches of a thread that could have gone on. Each of `outcomes` must come to pass in some
/// interleaving, and nothing else.
fn explore(preemptions: usize, outcomes: &[&'static str], f: impl Fn() + Send + Sync + 'static) {
    SEEN.take();
    base::explore(preemptions, move || {
        rt::futex::begin_model();
        f()
    });
    assert_eq!(SEEN.take(), outcomes.iter().copied().collect(), "outcomes")
}

fn saw(outcome: &'static str) {
    SEEN.with_borrow_mut(|seen| seen.insert(outcome));
}

/// What a lock or a channel hands over: loom reports uses that are not ordered.
struct Letter(Cell<u32>);

// SAFETY: loom's threads are one thread of the host.
unsafe impl Send for Letter {}

impl Letter {
    fn new(n: u32) -> Letter {
        Letter(Cell::new(n))
    }

    fn add(&self, n: u32) {
        let before = self.0.replace(0);
        self.0.replace(before + n);
    }

    fn read(&self) -> u32 {
        self.0.replace(0)
    }
}

#[test]
fn user_two_lock() {
    explore(4, &["free", "held"], || {
        let lock = Arc::new(Mutex::new(Letter::new(0)));
        let theirs = lock.clone();
        let other = spawn(move || theirs.lock().add(1));
        match lock.try_lock() {
            Some(letter) => {
                saw("free");
                letter.add(1)
            }
            None => {
                saw("held");
                lock.lock().add(1)
            }
        }
        other.join();
        assert_eq!(lock.lock().read(), 2)
    })
}

#[test]
fn user_three_lock() {
    explore(3, &[], || {
        let lock = Arc::new(Mutex::new(Letter::new(0)));
        let others: Vec<_> = (0..2)
            .map(|_| {
                let theirs = lock.clone();
                spawn(move || theirs.lock().add(1))
            })
            .collect();
        lock.lock().add(1);
        others.into_iter().for_each(|other| other.join());
        assert_eq!(lock.lock().read(), 3)
    })
}

#[test]
fn user_wait_against_notify() {
    explore(3, &["waited", "came late"], || {
        let shared = Arc::new((Mutex::new(false), Cond::new()));
        let theirs = shared.clone();
        let other = spawn(move || {
            *theirs.0.lock() = true;
            theirs.1.notify_one();
        });
        let mut set = shared.0.lock();
        saw(if *set { "came late" } else { "waited" });
        while !*set {
            set = shared.1.wait(set)
        }
        drop(set);
        other.join()
    })
}

#[test]
fn user_wait_against_two_done() {
    explore(3, &[], || {
        let group = WaitGroup::new();
        let letters: Arc<[Letter; 2]> = Arc::new([Letter::new(0), Letter::new(0)]);
        group.add(2);
        for i in 0..2 {
            let (group, letters) = (group.clone(), SendAll(letters.clone()));
            loom::thread::spawn(move || {
                letters.get()[i].add(1);
                group.done()
            });
        }
        group.wait();
        assert_eq!(letters.iter().map(Letter::read).sum::<u32>(), 2)
    })
}

/// Letters for two threads, each of which uses its own.
struct SendAll(Arc<[Letter; 2]>);

// SAFETY: loom's threads are one thread of the host.
unsafe impl Send for SendAll {}

impl SendAll {
    fn get(&self) -> &[Letter; 2] {
        &self.0
    }
}

#[test]
fn user_join_against_end() {
    explore(4, &["ended", "under way"], || {
        let other = spawn(|| Letter::new(7));
        saw(if other.is_finished() {
            "ended"
        } else {
            "under way"
        });
        assert_eq!(other.join().read(), 7)
    })
}

#[test]
fn user_send_against_receive() {
    explore(3, &["came later", "waited"], || {
        let (tx, rx) = chan(0);
        let other = spawn(move || rx.recv().map(|letter: Letter| letter.read()));
        match tx.try_send(Letter::new(5)) {
            Ok(()) => saw("waited"),
            Err(TrySendError::Full(letter)) => {
                saw("came later");
                assert!(tx.send(letter).is_ok())
            }
            Err(TrySendError::Closed(_)) => panic!("it is open"),
        }
        assert_eq!(other.join(), Some(5))
    })
}

#[test]
fn user_sender_waits_at_a_full_buffer() {
    explore(3, &[], || {
        let (tx, rx) = chan(1);
        let other = spawn(move || {
            for n in 1..=2 {
                assert!(tx.send(Letter::new(n)).is_ok())
            }
        });
        let got: Vec<u32> = rx.iter().map(|letter| letter.read()).collect();
        other.join();
        assert_eq!(got, [1, 2])
    })
}

#[test]
fn user_close_against_send() {
    explore(3, &["given back", "received"], || {
        let (tx, rx) = chan(0);
        let theirs = tx.clone();
        let other = spawn(move || theirs.send(Letter::new(5)).map_err(|e| e.0.read()));
        let third = spawn(move || rx.try_recv().map(|letter| letter.read()));
        tx.close();
        match (other.join(), third.join()) {
            (Ok(()), Ok(5)) => saw("received"),
            (Err(5), Err(_)) => saw("given back"),
            wrong => panic!("{wrong:?}"),
        }
    })
}

#[test]
fn user_close_against_receive() {
    explore(3, &[], || {
        let (tx, rx) = chan::<Letter>(0);
        let other = spawn(move || rx.recv().is_none());
        drop(tx);
        assert!(other.join())
    })
}
