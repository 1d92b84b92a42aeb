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

/// Asks `n` times at once who the gateway is, and waits for as many answers, for an interrupt each time before it looks.
fn ask(nic: &mut Card, n: u64) -> Outcome {
    let mut before = interrupts(0);
    // Nobody was asked yet, so nothing has come.
    ensure!(!nic.receiver.listen(), "a frame that nobody has sent");
    for _ in 0..n {
        ensure!(send_request(nic, GATEWAY)?, "no room for {n} frames");
    }
    nic.transmitter.flush();
    let mut answers = 0;
    loop {
        await_interrupt(0, before);
        nic.receiver.ignore();
        loop {
            let came = nic
                .receiver
                .receive(64, |frame| answers += u64::from(is_answer(frame.bytes)));
            if came.map_err(|e| e.to_string())? != 0 {
                continue;
            }
            if answers == n {
                return Ok(());
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
    // As many at once as QEMU's network holds for us.
    (0..rounds).try_for_each(|round| ask(&mut nic, 1 + round % 20))?;
    let told = interrupts(0) - begin;
    ensure!(told >= rounds, "{told} interrupts in {rounds} rounds");
    let full = overrun(&mut nic, 2000)?;
    ensure!(full != 0, "the ring was never full");
    ensure!(nic.receiver.runts() == 0, "{} runts", nic.receiver.runts());
    figure!("interrupts", told);
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
