//! Channels: send, receive, close.
use crate::world::{Letter, explore, g, gs, saw};
use base::shim::Watch;
use csp::{SendError, TryRecvError, chan};
use sched::models::parks;

/// Who comes first parks; the value goes from stack to stack.
#[test]
fn send_against_receive() {
    explore(3, &["the receiver waits", "the sender waits"], || {
        let (tx, rx) = chan::<Letter>(0);
        gs([
            g(|| {
                tx.send(Letter::new(7)).unwrap();
                if parks() == 1 {
                    saw("the sender waits")
                }
            }),
            g(|| {
                assert_eq!(rx.recv().map(|l| l.read()), Some(7));
                if parks() == 1 {
                    saw("the receiver waits")
                }
            }),
        ])
    })
}

/// Two senders, a buffer of one: the values of each come in their order, and all come.
#[test]
fn two_senders_and_a_buffer() {
    explore(2, &["11 12 21", "11 21 12", "21 11 12"], || {
        let (tx, rx) = chan::<Letter>(1);
        gs([
            g(|| {
                let got: Vec<u32> = (0..3).filter_map(|_| rx.recv()).map(|l| l.read()).collect();
                match got[..] {
                    [11, 12, 21] => saw("11 12 21"),
                    [11, 21, 12] => saw("11 21 12"),
                    [21, 11, 12] => saw("21 11 12"),
                    _ => panic!("came as {got:?}"),
                }
            }),
            g(|| {
                tx.send(Letter::new(11)).unwrap();
                tx.send(Letter::new(12)).unwrap();
            }),
            g(|| tx.send(Letter::new(21)).unwrap()),
        ])
    })
}

/// A value is received from a full buffer while a sender comes, or waits: its value takes the free place.
#[test]
fn sender_waits_at_a_full_buffer() {
    explore(3, &["full", "there is room"], || {
        let (tx, rx) = chan::<Letter>(1);
        tx.send(Letter::new(1)).unwrap();
        gs([
            g(|| {
                tx.send(Letter::new(2)).unwrap();
                saw(["there is room", "full"][parks() as usize])
            }),
            g(|| {
                assert_eq!(rx.recv().map(|l| l.read()), Some(1));
            }),
        ]);
        assert_eq!(rx.try_recv().map(|l| l.read()), Ok(2))
    })
}

/// Close against a sender: the value is received by nobody, and comes back.
#[test]
fn close_against_send() {
    explore(3, &["parked", "too late"], || {
        let (tx, rx) = chan::<Letter>(0);
        gs([
            g(|| {
                let Err(SendError(back)) = tx.send(Letter::new(7)) else {
                    panic!("sent to nobody")
                };
                assert_eq!(back.read(), 7);
                saw(["too late", "parked"][parks() as usize])
            }),
            g(|| assert!(rx.close())),
        ])
    })
}

/// Close against two receivers: both go on.
#[test]
fn close_against_receivers() {
    explore(3, &["parked", "too late"], || {
        let (tx, rx) = chan::<Letter>(0);
        let receive = || {
            assert!(rx.recv().is_none());
            assert!(rx.is_closed());
            saw(["too late", "parked"][parks() as usize])
        };
        gs([g(receive), g(receive), g(|| assert!(tx.close()))])
    })
}

/// Two close: one has done it.
#[test]
fn close_against_close() {
    explore(3, &["the first", "the second"], || {
        let (tx, rx) = chan::<Letter>(0);
        let mut by = [false; 2];
        let [first, second] = &mut by;
        gs([g(|| *first = tx.close()), g(|| *second = rx.close())]);
        match by {
            [true, false] => saw("the first"),
            [false, true] => saw("the second"),
            _ => panic!("closed {by:?}"),
        }
    })
}

/// Each of two senders leaves something behind and drops its handle: who sees the channel closed sees both.
#[test]
fn last_sender_closes() {
    explore(3, &["closed"], || {
        let (tx, rx) = chan::<()>(0);
        let (one, two) = (Watch::new(), Watch::new());
        let tx2 = tx.clone();
        let rx = &rx;
        gs([
            g(|| {
                assert!(rx.recv().is_none());
                one.used();
                two.used();
                saw("closed")
            }),
            g(|| {
                one.used();
                drop(tx)
            }),
            g(|| {
                two.used();
                drop(tx2)
            }),
        ])
    })
}

/// What was done before the close is seen by who sees, without the lock, that the channel is closed.
#[test]
fn closed_at_a_glance() {
    explore(3, &["closed", "open"], || {
        let (tx, rx) = chan::<()>(0);
        let done = Watch::new();
        gs([
            g(|| {
                if rx.is_closed() {
                    done.used();
                    saw("closed")
                } else {
                    saw("open")
                }
            }),
            g(|| {
                done.used();
                tx.close();
            }),
        ])
    })
}

/// There is a value until the channel is closed: whoever tries never hears that it is open and empty (golang/go #32529).
#[test]
fn try_receive_against_close() {
    explore(3, &["got it", "the other got it"], || {
        let (tx, rx) = chan::<Letter>(1);
        tx.send(Letter::new(7)).unwrap();
        gs([
            g(|| match rx.try_recv() {
                Ok(l) => {
                    assert_eq!(l.read(), 7);
                    saw("got it")
                }
                Err(TryRecvError::Closed) => saw("the other got it"),
                Err(TryRecvError::Empty) => panic!("empty before it was closed"),
            }),
            g(|| {
                tx.close();
                rx.recv();
            }),
        ])
    })
}

/// A receiver that parks is seen by those who try: neither of two tries misses it and lets it sleep.
#[test]
fn try_send_against_receive() {
    explore(3, &["nobody waited", "received"], || {
        let (tx, rx) = chan::<Letter>(0);
        gs([
            g(|| {
                if let Some(l) = rx.recv() {
                    assert_eq!(l.read(), 7);
                    saw("received")
                }
            }),
            g(|| {
                if tx.try_send(Letter::new(7)).is_err() {
                    saw("nobody waited");
                    tx.close();
                }
            }),
        ])
    })
}

/// The last receiver goes while somebody sends: the value comes back or is dropped, once.
#[test]
fn last_receiver_goes() {
    struct Counted<'a>(&'a std::cell::Cell<u32>);
    impl Drop for Counted<'_> {
        fn drop(&mut self) {
            self.0.set(self.0.get() + 1)
        }
    }
    explore(3, &["came back", "discarded"], || {
        let drops = std::cell::Cell::new(0);
        {
            let drops = &drops;
            let (tx, rx) = chan::<Counted>(1);
            gs([
                g(move || match tx.send(Counted(drops)) {
                    Ok(()) => saw("discarded"),
                    Err(SendError(back)) => {
                        assert_eq!(drops.get(), 0);
                        drop(back);
                        saw("came back")
                    }
                }),
                g(move || drop(rx)),
            ]);
        }
        assert_eq!(drops.get(), 1, "times that the value was dropped")
    })
}
