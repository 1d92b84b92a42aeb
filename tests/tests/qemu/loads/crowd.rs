//! Very many connections that stand at once.

use super::{ECHO, Load, SLACK_BYTES};
use crate::env;
use tests::note;
use tests::peer::{Crowd, Wire};

/// Of a crowd, those who are waited for at a time.
const WINDOW: usize = 10;
/// The same while they come and go.
const RUSH: usize = 60;

/// Processor time of the machine for a message there and back, with so many connections that all stand.
fn cost(load: &mut Load, crowd: &mut Crowd, messages: usize) -> Result<f64, String> {
    let rounds = messages.div_ceil(crowd.len());
    let begin = load.peer.machine_cpu_time()?;
    for round in 0..rounds {
        crowd.talk(&mut load.peer, 64, round as u8, WINDOW)?
    }
    let cost = load.peer.machine_cpu_time()? - begin;
    Ok(cost.as_secs_f64() * 1e6 / (rounds * crowd.len()) as f64)
}

/// What a message costs with few connections, and with very many; what those take, and give back.
pub fn crowds(wire: Wire, smp: u32) -> Result<(), String> {
    Load::run(wire, 6, |load| {
        let mut crowd = Crowd::new(&mut load.peer, load.mac, ECHO);
        stand(load, &mut crowd, smp)
    })
}

fn stand(load: &mut Load, crowd: &mut Crowd, smp: u32) -> Result<(), String> {
    let (few, many) = (10, env("RINGO_CONNECTIONS", 10_000) as usize);
    crowd.join(&mut load.peer, few, WINDOW)?;
    let us = cost(load, crowd, 1_000)?.min(cost(load, crowd, 1_000)?);
    crowd.join(&mut load.peer, many - few, RUSH)?;
    let full = load.settled("all stand", load.rest.goroutines + many as u64)?;
    let us_many = cost(load, crowd, many)?;
    crowd.leave(&mut load.peer, RUSH)?;
    let after = load.settled("all have left", load.rest.goroutines)?;
    let each = full.heap_bytes.saturating_sub(load.rest.heap_bytes) / many as u64;
    note(format!(
        "a message on one of {few} connections takes {us:.1} µs of the host's processors, of {many}: {us_many:.1} (smp {smp}); {each} bytes of heap a connection"
    ));
    // Of each a reminder may stay that has not yet come.
    let most = load.rest.heap_bytes + SLACK_BYTES + 64 * many as u64;
    if after.heap_bytes > most {
        return Err(format!(
            "{:?} before, {full:?} with all, {after:?} after",
            load.rest
        ));
    }
    if us_many > 3.0 * us {
        return Err(format!(
            "a message: {us:.1} µs with {few}, {us_many:.1} with {many}"
        ));
    }
    Ok(())
}
