//! The network card as a mirror: each frame goes back as it came, by the driver alone. The harness is at the other end.

use crate::net::{await_interrupt, interrupts, open};
use crate::{Outcome, Test, ensure, figure};
use alloc::string::{String, ToString};
use net::device::{Bell, Transmitter};

pub const TESTS: &[Test] = &[("net_echo_frames", net_echo_frames)];

/// Kinds of frames, of those that Ethernet keeps for experiments: what is only mirrored has any other.
const ASK: [u8; 2] = [0x88, 0xb5];
const END: [u8; 2] = [0x88, 0xb6];
/// We listen: what the card has had before is gone.
const READY: [u8; 2] = [0x88, 0xb7];
/// Taken at once.
const BATCH: usize = 64;

/// What the mirror has done.
#[derive(Default)]
struct Mirror {
    frames: u64,
    /// How often there was no room to send.
    full: u64,
    /// How often it found nothing and waited for an interrupt.
    waits: u64,
    end: bool,
    error: Option<String>,
}

impl Mirror {
    /// Sends a frame back. Who asks is told how often there was no room, behind the header; so is who ends it.
    fn reflect<B: Bell>(
        &mut self,
        out: &mut Transmitter<B>,
        frame: &mut [u8],
    ) -> Result<(), String> {
        let kind = [frame[12], frame[13]];
        self.end |= kind == END;
        if let (ASK | END, Some(place)) = (kind, frame.get_mut(14..22)) {
            place.copy_from_slice(&self.full.to_be_bytes())
        }
        self.frames += 1;
        let fill = |to: &mut [u8]| to.copy_from_slice(frame);
        while !out
            .send(frame.len(), None, fill)
            .map_err(|e| e.to_string())?
        {
            self.full += 1;
            out.flush();
            let before = interrupts(1);
            if !out.listen() {
                await_interrupt(1, before)
            }
            out.ignore()
        }
        Ok(())
    }
}

/// Mirrors until it is told to end.
fn net_echo_frames() -> Outcome {
    let mut nic = open()?;
    let ready = nic.transmitter.send(60, None, |frame| {
        frame.fill(0);
        frame[..6].fill(0xff);
        frame[6..12].copy_from_slice(&nic.mac);
        frame[12..14].copy_from_slice(&READY)
    });
    ready.map_err(|e| e.to_string())?;
    nic.transmitter.flush();
    let mut mirror = Mirror::default();
    while !mirror.end {
        let before = interrupts(0);
        let (receiver, out) = (&mut nic.receiver, &mut nic.transmitter);
        let came = receiver.receive(BATCH, |frame| {
            if let Err(error) = mirror.reflect(out, frame.bytes) {
                mirror.error = Some(error)
            }
        });
        let came = came.map_err(|e| e.to_string())?;
        if let Some(error) = mirror.error {
            return Err(error);
        }
        nic.transmitter.flush();
        if came == 0 {
            if !nic.receiver.listen() {
                mirror.waits += 1;
                await_interrupt(0, before)
            }
            nic.receiver.ignore()
        }
    }
    while nic.transmitter.under_way() != 0 {
        nic.transmitter.reclaim().map_err(|e| e.to_string())?;
    }
    ensure!(nic.receiver.runts() == 0, "{} runts", nic.receiver.runts());
    figure!("frames", mirror.frames);
    figure!("full", mirror.full);
    figure!("waits", mirror.waits);
    figure!("event_idx", u64::from(nic.offers.event_idx));
    Ok(())
}
