//! `select!`: claims, locks in order, losers taken out of their lists.
use crate::world::{Letter, explore, g, gs, saw};
use csp::{chan, select};
use sched::models::{parks, run_gs};

/// Two selects offer each other both directions: one value goes, and both know which.
#[test]
fn two_that_face_each_other() {
    explore(3, &["on a", "on b"], || {
        let ((to_a, a), (to_b, b)) = (chan::<Letter>(0), chan::<Letter>(0));
        let mut went = ["", ""];
        let [first, second] = &mut went;
        gs([
            g(|| {
                *first = select! {
                    send(to_a, Letter::new(1)) -> sent => { sent.unwrap(); "on a" }
                    recv(b) -> l => { assert_eq!(l.map(|l| l.read()), Some(2)); "on b" }
                }
            }),
            g(|| {
                *second = select! {
                    send(to_b, Letter::new(2)) -> sent => { sent.unwrap(); "on b" }
                    recv(a) -> l => { assert_eq!(l.map(|l| l.read()), Some(1)); "on a" }
                }
            }),
        ]);
        assert_eq!(went[0], went[1], "where each thinks that it went");
        saw(went[0])
    })
}

/// The same with the second in reverse order: both begin with the same channel, so that it is this one.
#[test]
fn two_that_face_each_other_reversed() {
    explore(3, &["on a"], || {
        let ((to_a, a), (to_b, b)) = (chan::<()>(0), chan::<()>(0));
        let mut went = ["", ""];
        let [first, second] = &mut went;
        run_gs(
            0b10,
            [
                g(|| {
                    *first = select! {
                        send(to_a, ()) -> _sent => "on a",
                        recv(b) -> _l => "on b",
                    }
                }),
                g(|| {
                    *second = select! {
                        send(to_b, ()) -> _sent => "on b",
                        recv(a) -> _l => "on a",
                    }
                }),
            ],
        );
        assert_eq!(went[0], went[1], "where each thinks that it went");
        saw(went[0])
    })
}

/// Both directions of one channel, twice: a select never takes from itself.
#[test]
fn both_directions_of_one_channel() {
    explore(3, &["the first sends", "the second sends"], || {
        let (tx, rx) = chan::<Letter>(0);
        let mut sent = [false; 2];
        let [first, second] = &mut sent;
        let (tx, rx) = (&tx, &rx);
        let both = |n: u32, sent: &mut bool| {
            *sent = select! {
                send(tx, Letter::new(n)) -> r => { r.unwrap(); true }
                recv(rx) -> l => { assert_eq!(l.map(|l| l.read()), Some(3 - n)); false }
            }
        };
        gs([g(|| both(1, first)), g(|| both(2, second))]);
        match sent {
            [true, false] => saw("the first sends"),
            [false, true] => saw("the second sends"),
            _ => panic!("who sent: {sent:?}"),
        }
    })
}

/// One channel in two cases: locked once, listed twice, one value.
#[test]
fn one_channel_twice() {
    explore(3, &["found", "waited"], || {
        let (tx, rx) = chan::<Letter>(0);
        gs([
            g(|| {
                let l = select! { recv(rx) -> l => l, recv(rx) -> l => l };
                assert_eq!(l.map(|l| l.read()), Some(7));
                saw(["found", "waited"][parks() as usize])
            }),
            g(|| tx.send(Letter::new(7)).unwrap()),
        ])
    })
}

/// A value on each of two channels at once: one case wins, and the other's value stays where it is.
#[test]
fn two_wakers() {
    explore(3, &["a", "b"], || {
        let ((to_a, a), (to_b, b)) = (chan::<Letter>(1), chan::<Letter>(1));
        gs([
            g(|| {
                let (won, other, l) = select! {
                    recv(a) -> l => ("a", &b, l),
                    recv(b) -> l => ("b", &a, l),
                };
                let own = if won == "a" { 1 } else { 2 };
                assert_eq!(l.map(|l| l.read()), Some(own));
                assert_eq!(other.recv().map(|l| l.read()), Some(3 - own));
                saw(won)
            }),
            g(|| to_a.send(Letter::new(1)).unwrap()),
            g(|| to_b.send(Letter::new(2)).unwrap()),
        ])
    })
}

/// A select waits on two channels and wins on the second; its entry on the first is met by a sender that looks for somebody,
/// or taken out by itself. The plain receiver behind it there gets the value.
#[test]
fn loser_is_passed_over() {
    explore(3, &["done"], || {
        let ((to_a, a), (to_b, b)) = (chan::<Letter>(0), chan::<Letter>(0));
        let a = &a;
        gs([
            g(|| {
                to_b.send(Letter::new(2)).unwrap();
                to_a.send(Letter::new(1)).unwrap();
                saw("done")
            }),
            g(move || {
                let n = select! {
                    recv(a) -> l => l.map(|l| l.read()),
                    recv(b) -> l => l.map(|l| l.read()),
                };
                assert_eq!(n, Some(2))
            }),
            g(move || assert_eq!(a.recv().map(|l| l.read()), Some(1))),
        ])
    })
}

/// The same with a sender that does not wait: a channel on which only a loser stands has no receiver.
#[test]
fn loser_is_nobody() {
    explore(3, &["full", "sent"], || {
        let ((to_a, a), (to_b, b)) = (chan::<Letter>(0), chan::<Letter>(0));
        gs([
            g(|| {
                to_b.send(Letter::new(2)).unwrap();
                if to_a.try_send(Letter::new(1)).is_err() {
                    saw("full");
                    to_a.close();
                } else {
                    saw("sent")
                }
            }),
            g(|| {
                let n = select! {
                    recv(a) -> l => l.map(|l| l.read()),
                    recv(b) -> l => l.map(|l| l.read()),
                };
                assert_eq!(n, Some(2));
                if let Some(l) = a.recv() {
                    assert_eq!(l.read(), 1)
                }
            }),
        ])
    })
}

/// Close of both channels, one by one, against a select that receives on one and sends on the other.
#[test]
fn select_against_close() {
    explore(3, &["receive", "send"], || {
        let ((to_a, a), (to_b, b)) = (chan::<Letter>(0), chan::<Letter>(0));
        gs([
            g(|| {
                saw(select! {
                    recv(a) -> l => { assert!(l.is_none()); "receive" }
                    send(to_b, Letter::new(2)) -> r => {
                        assert_eq!(r.unwrap_err().0.read(), 2);
                        "send"
                    }
                })
            }),
            g(|| assert!(to_a.close())),
            g(|| assert!(b.close())),
        ])
    })
}

/// `default` only if nobody waits, and it leaves nothing in any list.
#[test]
fn default_against_send() {
    explore(3, &["default", "received"], || {
        let (tx, rx) = chan::<Letter>(0);
        gs([
            g(|| {
                let got = select! {
                    recv(rx) -> l => l,
                    default => {
                        saw("default");
                        rx.recv()
                    }
                };
                assert_eq!(got.map(|l| l.read()), Some(7));
                saw("received")
            }),
            g(|| tx.send(Letter::new(7)).unwrap()),
        ])
    })
}
