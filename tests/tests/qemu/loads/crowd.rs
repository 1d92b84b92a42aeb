//! Very many connections that stand at once.

use super::{ECHO, Load, SLACK_BYTES};
use crate::env;
use tests::note;
use tests::peer::{Crowd, State, Wire};

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

/// As many connections as the machine's memory allows; it lives, and so does each of them.
pub fn bound(wire: Wire) -> Result<(), String> {
    Load::run(wire, 7, |load| {
        let most = load.rest.most;
        // A share of 64 MiB.
        if !(200..1_600).contains(&most) {
            return Err(format!("64 MiB have room for {most} connections"));
        }
        beyond(load, most)
    })
}

/// As many as it was told.
pub fn bound_of(wire: Wire, most: u64) -> Result<(), String> {
    Load::run(wire, 8, |load| match load.rest.most {
        told if told == most => beyond(load, most),
        other => Err(format!("{other} connections may be, not {most}")),
    })
}

/// With all places taken a SYN is not answered, and the machine itself gets no connection; with one free again both work.
fn beyond(load: &mut Load, most: u64) -> Result<(), String> {
    // That on which the machine says how it is counts as well.
    let free = most - load.rest.connections;
    let mut crowd = Crowd::new(&mut load.peer, load.mac, ECHO);
    crowd.join(&mut load.peer, free as usize, WINDOW)?;
    let late = load.peer.dial(ECHO)?;
    for byte in 0..2 {
        crowd.talk(&mut load.peer, 64, byte, WINDOW)?
    }
    let full = load.state()?;
    let state = load.peer.tcp(late).state();
    if (full.connections, full.most) != (most, most) || full.turned_away == 0 {
        return Err(format!("with all places taken: {full:?}"));
    }
    if state != State::SynSent {
        return Err(format!("one beyond all places is in state {state:?}"));
    }
    if !finds_no_room(load)? {
        return Err("the machine itself has found room".into());
    }
    crowd.leave(&mut load.peer, WINDOW)?;
    load.peer.connected(late)?;
    load.echo_on(late, 3)?;
    load.peer.finish(late)?;
    load.settled("all have left", load.rest.goroutines)?;
    // Nobody listens there.
    if finds_no_room(load)? {
        return Err("there is no room although all have left".into());
    }
    let after = load.state()?;
    if after.connections != load.rest.connections {
        return Err(format!("{:?} before, {after:?} after", load.rest));
    }
    Ok(())
}

/// Whether the machine has no room for a connection of its own.
fn finds_no_room(load: &mut Load) -> Result<bool, String> {
    load.peer.send_all(load.control, b"c")?;
    Ok(load.peer.recv_exact(load.control, 1)? == [1])
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
    if after.heap_bytes > most || after.connections != load.rest.connections {
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
