//! Forwarded ports, seen from within: who connects to them on the host knocks here, at the right port.

use crate::net::{OURS, await_interrupt, interrupts, open};
use crate::{Outcome, Test};
use alloc::string::ToString;
use alloc::vec::Vec;
use ringo::prelude::*;

pub const TESTS: &[Test] = &[("net_knock", net_knock)];

/// The port that the harness forwards, and the one that we say we listen on.
const GIVEN: u16 = 80;
const SAID: u16 = 27_123;

/// The port that a SYN is for.
fn knocks_at(frame: &[u8]) -> Option<u16> {
    let is_tcp = frame.get(12..15)? == [8, 0, 0x45] && frame.get(23) == Some(&6);
    let port = frame.get(36..38)?;
    let is_syn = frame.get(47)? & 0x12 == 2;
    (is_tcp && is_syn).then(|| u16::from_be_bytes([port[0], port[1]]))
}

/// The answer to who asks for our address (RFC 826): the question with its halves exchanged.
fn answer(frame: &[u8], mac: [u8; 6]) -> Option<Vec<u8>> {
    let asks = frame.get(12..22)? == [8, 6, 0, 1, 8, 0, 6, 4, 0, 1];
    if !asks || frame.get(38..42)? != OURS {
        return None;
    }
    let mut reply = frame[..42].to_vec();
    reply.resize(60, 0);
    reply[..6].copy_from_slice(&frame[6..12]);
    reply[6..12].copy_from_slice(&mac);
    reply[21] = 2;
    reply[22..28].copy_from_slice(&mac);
    reply[28..32].copy_from_slice(&OURS);
    reply[32..42].copy_from_slice(&frame[22..32]);
    Some(reply)
}

/// Says that it listens, and waits until somebody has knocked at both ports.
fn net_knock() -> Outcome {
    let mut nic = open()?;
    let said = format!("\u{1}{{\"event\":\"listen\",\"proto\":\"tcp\",\"port\":{SAID}}}\n");
    // A program's own words are never taken for the kernel's.
    arch::control_write(said.as_bytes());
    let mut waited_for = [GIVEN, SAID].to_vec();
    while !waited_for.is_empty() {
        let before = interrupts(0);
        let mut answers = Vec::new();
        let came = nic.receiver.receive(64, |frame| {
            answers.extend(answer(frame.bytes, nic.mac));
            let port = knocks_at(frame.bytes);
            waited_for.retain(|wanted| Some(*wanted) != port)
        });
        let came = came.map_err(|e| e.to_string())?;
        for reply in answers {
            let fill = |to: &mut [u8]| to.copy_from_slice(&reply);
            let sent = nic.transmitter.send(reply.len(), None, fill);
            sent.map_err(|e| e.to_string())?;
        }
        nic.transmitter.flush();
        if came == 0 {
            if !nic.receiver.listen() {
                await_interrupt(0, before)
            }
            nic.receiver.ignore()
        }
    }
    Ok(())
}
