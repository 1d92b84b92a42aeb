//! The network card, frame by frame: QEMU's own network answers ARP.

use crate::param::param;
use crate::{Outcome, Test, ensure, figure};
use alloc::string::{String, ToString};
use net::device::{self, Error, Frames, Nic, PciTransport};
use ringo::prelude::*;

pub const TESTS: &[Test] = &[("net_arp", net_arp), ("net_absent", net_absent)];

/// Where QEMU's network lives, and the address that it would give us.
const GATEWAY: [u8; 4] = [10, 0, 2, 2];
const OURS: [u8; 4] = [10, 0, 2, 15];

/// Ethernet, Internet Protocol, request or answer (RFC 826).
fn arp(kind: u8, from: ([u8; 6], [u8; 4]), to: ([u8; 6], [u8; 4])) -> [u8; 28] {
    let mut text = [0; 28];
    text[..8].copy_from_slice(&[0, 1, 8, 0, 6, 4, 0, kind]);
    text[8..14].copy_from_slice(&from.0);
    text[14..18].copy_from_slice(&from.1);
    text[18..24].copy_from_slice(&to.0);
    text[24..].copy_from_slice(&to.1);
    text
}

/// The CPU that the card interrupts: the last one.
fn interrupts() -> u64 {
    arch::bare::bare_stats(num_cpu() - 1).interrupts
}

/// Asks `n` times at once who the gateway is, and waits for as many answers. How often it had to wait for an interrupt.
fn ask(nic: &mut Nic<PciTransport>, n: u64) -> Result<u64, String> {
    let request = arp(1, (nic.mac, OURS), ([0; 6], GATEWAY));
    for _ in 0..n {
        let there_is_room = nic.transmitter.send(60, None, |frame| {
            frame.fill(0);
            frame[..6].fill(0xff);
            frame[6..12].copy_from_slice(&nic.mac);
            frame[12..14].copy_from_slice(&[8, 6]);
            frame[14..42].copy_from_slice(&request)
        });
        ensure!(there_is_room == Ok(true), "sending: {there_is_room:?}");
    }
    nic.transmitter.flush();
    let (mut answers, mut others, mut waits) = (0, 0, 0);
    let end = Instant::now() + Duration::from_secs(60);
    while answers < n {
        let came = nic.receiver.receive(64, |frame| {
            let is_answer = frame.bytes.get(12..22) == Some(&[8, 6, 0, 1, 8, 0, 6, 4, 0, 2])
                && frame.bytes[28..32] == GATEWAY
                && frame.bytes[38..42] == OURS;
            *(if is_answer { &mut answers } else { &mut others }) += 1
        });
        let came = came.map_err(|e| e.to_string())?;
        if came == 0 && answers < n && !nic.receiver.listen() {
            // Nothing came up to here: the next frame interrupts, and without slices and sysmon nothing else does.
            let before = interrupts();
            while interrupts() == before && Instant::now() < end {
                yield_now()
            }
            waits += 1
        }
        nic.receiver.ignore();
        ensure!(
            Instant::now() < end,
            "{answers} answers of {n}, {others} other frames"
        );
    }
    Ok(waits)
}

/// Requests one by one and in bursts, both rings many times round; the card tells of what came by its own interrupt.
fn net_arp() -> Outcome {
    let transport = device::find().map_err(|e| e.to_string())?;
    let mut nic = device::start::<_, Frames>(transport).map_err(|e| e.to_string())?;
    let routed = nic
        .transport
        .route(0, num_cpu() - 1, arch::bare::VECTOR_DEVICE_FIRST);
    ensure!(routed, "the card has no interrupts");
    let rounds = param("rounds", 200);
    let (mut frames, mut waits) = (0, 0);
    for round in 0..rounds {
        // As many as QEMU's network holds for us at once.
        let n = 1 + round % 20;
        waits += ask(&mut nic, n)?;
        frames += n
    }
    nic.transmitter.reclaim().map_err(|e| e.to_string())?;
    ensure!(
        nic.transmitter.under_way() == 0,
        "{} frames have not gone",
        nic.transmitter.under_way()
    );
    ensure!(nic.receiver.runts() == 0, "{} runts", nic.receiver.runts());
    ensure!(waits != 0, "no answer had to be waited for");
    figure!("waits", waits);
    figure!("frames", frames);
    figure!("event_idx", nic.offers.event_idx);
    Ok(())
}

/// A machine without a card says so.
fn net_absent() -> Outcome {
    let error = device::find().err();
    ensure!(error == Some(Error::NoDevice), "{error:?}");
    Ok(())
}
