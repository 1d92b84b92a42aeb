//! The network card, frame by frame: QEMU's own network answers ARP.

use crate::param::param;
use crate::{Outcome, Test, ensure, figure};
use alloc::string::{String, ToString};
use net::device::{self, Error, Frames, Nic, PciTransport};
use ringo::prelude::*;

pub const TESTS: &[Test] = &[("net_arp", net_arp), ("net_absent", net_absent)];

pub(crate) type Card = Nic<PciTransport>;

/// Where QEMU's network lives, one whom nobody knows there, and the address that it would give us.
const GATEWAY: [u8; 4] = [10, 0, 2, 2];
const NOBODY: [u8; 4] = [10, 0, 2, 99];
pub(crate) const OURS: [u8; 4] = [10, 0, 2, 15];

/// The CPUs that the card interrupts: when something came, when something has gone.
fn cpu_of(entry: u16) -> usize {
    if entry == 0 { num_cpu() - 1 } else { 0 }
}

/// Interrupts so far on the CPU of this entry.
pub(crate) fn interrupts(entry: u16) -> u64 {
    arch::bare::bare_stats(cpu_of(entry)).interrupts
}

/// Waits for an interrupt since `before`. Without slices and sysmon no other comes. The harness has the clock.
pub(crate) fn await_interrupt(entry: u16, before: u64) {
    while interrupts(entry) == before {
        yield_now()
    }
}

/// As long as nothing has come after that: what is missing is lost.
const SILENCE_NS: u64 = 5_000_000_000;

/// Who has this address (RFC 826)? False: there is no room.
fn send_request(nic: &mut Card, whose: [u8; 4]) -> Result<bool, String> {
    let mac = nic.mac;
    let sent = nic.transmitter.send(60, None, |frame| {
        frame.fill(0);
        frame[..6].fill(0xff);
        frame[6..12].copy_from_slice(&mac);
        frame[12..22].copy_from_slice(&[8, 6, 0, 1, 8, 0, 6, 4, 0, 1]);
        frame[22..28].copy_from_slice(&mac);
        frame[28..32].copy_from_slice(&OURS);
        frame[38..42].copy_from_slice(&whose)
    });
    sent.map_err(|e| e.to_string())
}

fn is_answer(frame: &[u8]) -> bool {
    frame.get(12..22) == Some(&[8, 6, 0, 1, 8, 0, 6, 4, 0, 2])
        && frame.get(28..32) == Some(&GATEWAY)
        && frame.get(38..42) == Some(&OURS)
}

/// Asks `n` times at once who the gateway is, and waits for as many answers, for an interrupt each time before it looks. How many
/// did not come although the card was given every question and brought all that it had: the host lost them.
fn ask(nic: &mut Card, n: u64) -> Result<u64, String> {
    let mut before = interrupts(0);
    // Nobody was asked yet, so nothing has come.
    ensure!(!nic.receiver.listen(), "a frame that nobody has sent");
    for _ in 0..n {
        ensure!(send_request(nic, GATEWAY)?, "no room for {n} frames");
    }
    nic.transmitter.flush();
    let mut answers = 0;
    let mut silent_at_ns = sched::machine_now_ns() + SILENCE_NS;
    loop {
        while interrupts(0) == before && sched::machine_now_ns() < silent_at_ns {
            yield_now()
        }
        let told = interrupts(0) != before;
        nic.receiver.ignore();
        loop {
            let came = nic
                .receiver
                .receive(64, |frame| answers += u64::from(is_answer(frame.bytes)));
            let came = came.map_err(|e| e.to_string())?;
            ensure!(told || came == 0, "{came} frames came, and no interrupt");
            if came != 0 {
                silent_at_ns = sched::machine_now_ns() + SILENCE_NS;
                continue;
            }
            if answers == n {
                return Ok(0);
            }
            if sched::machine_now_ns() >= silent_at_ns {
                nic.transmitter.reclaim().map_err(|e| e.to_string())?;
                let lie = nic.transmitter.under_way();
                ensure!(lie == 0, "{lie} of {n} questions were never taken");
                return Ok(n - answers);
            }
            before = interrupts(0);
            if !nic.receiver.listen() {
                break;
            }
        }
    }
}

/// Sends `n` frames that nobody answers, more than the ring has room for. How often there was none.
fn overrun(nic: &mut Card, n: u64) -> Result<u64, String> {
    let mut full = 0;
    for _ in 0..n {
        while !send_request(nic, NOBODY)? {
            full += 1;
            nic.transmitter.flush();
            let before = interrupts(1);
            if !nic.transmitter.listen() {
                await_interrupt(1, before)
            }
            nic.transmitter.ignore()
        }
    }
    nic.transmitter.flush();
    while nic.transmitter.under_way() != 0 {
        nic.transmitter.reclaim().map_err(|e| e.to_string())?;
        yield_now()
    }
    Ok(full)
}

/// The card, started, with its interrupts on their ways.
pub(crate) fn open() -> Result<Card, String> {
    let transport = device::find().map_err(|e| e.to_string())?;
    let mut nic = device::start::<_, Frames>(transport).map_err(|e| e.to_string())?;
    for entry in [0, 1] {
        let vector = arch::bare::VECTOR_DEVICE_FIRST + entry as u8;
        let routed = nic.transport.route(entry, cpu_of(entry), vector);
        ensure!(routed, "the card has no interrupt {entry}");
    }
    Ok(nic)
}

/// Requests one by one and in bursts, both rings many times round; the card tells of what came by its own interrupts.
fn net_arp() -> Outcome {
    let mut nic = open()?;
    ensure!(device::find().is_err(), "a second driver");
    let begin = interrupts(0);
    let rounds = param("rounds", 200);
    // As many at once as QEMU's network holds for us. What the host loses, of its first answers while it takes note of the cable,
    // is asked for once more.
    let (mut lost, may_lose) = (0, param("may_lose", 0));
    for round in 0..rounds {
        let mut left = 1 + round % 20;
        while left != 0 {
            left = ask(&mut nic, left)?;
            lost += left;
            ensure!(lost <= may_lose, "round {round}: {lost} answers are lost");
        }
    }
    let told = interrupts(0) - begin;
    ensure!(told >= rounds, "{told} interrupts in {rounds} rounds");
    let full = overrun(&mut nic, 2000)?;
    ensure!(full != 0, "the ring was never full");
    ensure!(nic.receiver.runts() == 0, "{} runts", nic.receiver.runts());
    figure!("interrupts", told);
    figure!("lost", lost);
    figure!("full", full);
    figure!("event_idx", u64::from(nic.offers.event_idx));
    Ok(())
}

/// A machine without a card says so.
fn net_absent() -> Outcome {
    let error = device::find().err();
    ensure!(error == Some(Error::NoDevice), "{error:?}");
    Ok(())
}
