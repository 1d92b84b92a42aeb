//! On threads of the host.

use super::*;
use crate::thread::spawn;
use ::core::time::Duration;

fn a_while() {
    std::thread::sleep(Duration::from_millis(5));
}

#[test]
fn values_come_in_order_whatever_the_room() {
    for cap in [0, 1, 3, 1000] {
        let (tx, rx) = chan(cap);
        assert_eq!((tx.capacity(), rx.capacity()), (cap, cap));
        let sender = spawn(move || (0..500).all(|n| tx.send(n).is_ok()));
        assert!(rx.into_iter().eq(0..500), "capacity {cap}");
        assert!(sender.join());
    }
}

#[test]
fn many_to_many_lose_nothing() {
    let (tx, rx) = chan::<u64>(2);
    for part in 0..4 {
        let tx = tx.clone();
        spawn(move || (0..1000).for_each(|n| tx.send(part * 1000 + n).unwrap()));
    }
    drop(tx);
    let receivers: Vec<_> = (0..3)
        .map(|_| {
            let rx = rx.clone();
            spawn(move || rx.iter().sum::<u64>())
        })
        .collect();
    let sum: u64 = receivers.into_iter().map(|receiver| receiver.join()).sum();
    assert_eq!(sum, (0..4000).sum());
}

#[test]
fn without_waiting() {
    let (tx, rx) = chan(1);
    assert_eq!(rx.try_recv(), Err(TryRecvError::Empty));
    assert_eq!(tx.try_send(1), Ok(()));
    assert_eq!((tx.len(), rx.is_empty()), (1, false));
    assert_eq!(tx.try_send(2), Err(TrySendError::Full(2)));
    assert_eq!(rx.try_recv(), Ok(1));
    tx.send(3).unwrap();
    assert!(tx.close());
    assert!(!rx.close());
    assert_eq!(tx.try_send(4), Err(TrySendError::Closed(4)));
    assert_eq!(rx.try_recv(), Ok(3));
    assert_eq!(rx.try_recv(), Err(TryRecvError::Closed));
}

#[test]
fn without_room_a_value_needs_a_receiver_that_waits() {
    let (tx, rx) = chan(0);
    assert_eq!(tx.try_send(1), Err(TrySendError::Full(1)));
    let receiver = spawn(move || rx.recv());
    while tx.try_send(2).is_err() {
        a_while();
    }
    assert_eq!(receiver.join(), Some(2));
}

#[test]
fn closing_wakes_who_receives() {
    let (tx, rx) = chan::<u32>(0);
    let receiver = spawn(move || rx.recv());
    a_while();
    assert!(tx.close());
    assert_eq!(receiver.join(), None);
}

#[test]
fn closing_gives_senders_their_values_back_and_keeps_the_buffer() {
    let (tx, rx) = chan(1);
    tx.send("kept".to_string()).unwrap();
    let theirs = tx.clone();
    let sender = spawn(move || theirs.send("back".to_string()));
    a_while();
    tx.close();
    assert_eq!(sender.join().unwrap_err().0, "back");
    assert_eq!(rx.recv().as_deref(), Some("kept"));
    assert_eq!(rx.recv(), None);
}

#[test]
fn the_last_end_closes() {
    let (tx, rx) = chan::<u32>(1);
    let second = tx.clone();
    drop(tx);
    assert!(!rx.is_closed());
    drop(second);
    assert!(rx.is_closed());
    assert_eq!(rx.recv(), None);

    let (tx, rx) = chan(5);
    drop(rx);
    assert_eq!(tx.send(1), Err(SendError(1)));
}

#[test]
fn values_in_the_buffer_go_with_the_channel() {
    let value = Arc::new(());
    let (tx, rx) = chan(3);
    tx.send(value.clone()).unwrap();
    tx.send(value.clone()).unwrap();
    drop(rx);
    drop(tx);
    assert_eq!(Arc::strong_count(&value), 1);
}
