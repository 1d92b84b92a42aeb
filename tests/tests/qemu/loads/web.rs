//! The `http` demo under `wrk`, over tap.

use super::IP;
use crate::env;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::Duration;
use tests::{Beside, Board, Case, demo, note, tools};

/// What `wrk` prints behind this word.
fn printed<'a>(text: &'a str, word: &str) -> Option<&'a str> {
    let mut lines = text.lines().map(str::trim);
    lines
        .find_map(|line| line.strip_prefix(word))
        .map(str::trim)
}

/// What the server answers to one question.
fn ask(method: &str, path: &str) -> Result<String, String> {
    let patience = Duration::from_secs(10);
    let talk = || -> std::io::Result<String> {
        let mut stream = TcpStream::connect_timeout(&(IP, 80).into(), patience)?;
        stream.set_read_timeout(Some(patience))?;
        let head = "Host: x\r\nContent-Length: 0\r\nConnection: close\r\n\r\n";
        write!(stream, "{method} {path} HTTP/1.1\r\n{head}")?;
        let mut answer = String::new();
        stream.read_to_string(&mut answer)?;
        Ok(answer)
    };
    let answer = talk().map_err(|e| format!("{path}: {e}"))?;
    match answer.contains(" 200 OK") {
        true => Ok(answer),
        false => Err(format!("{path}: {answer}")),
    }
}

/// `wrk` with keep-alive connections, as the figures of Go were taken.
fn wrk(machine: &Beside, smp: u32, several_queues: bool) -> Result<(), String> {
    machine.keep_trying(|| ask("GET", "/"))?;
    let said = match tools::or_note("wrk against the http server", tools::wrk()) {
        None => Ok(()),
        Some(wrk) => [64, 512]
            .iter()
            .try_for_each(|n| wrk_with(&wrk, *n, smp, &format!("http://{IP}/")))
            .and_then(|()| spread(machine, smp, several_queues)),
    };
    // The answer may be lost with the machine.
    drop(machine.keep_trying(|| ask("POST", "/stop")));
    said
}

/// For a second, or for longer where a busy host has not let as many connections in by then.
fn wrk_with(wrk: &std::path::Path, connections: u32, smp: u32, url: &str) -> Result<(), String> {
    let first = env("RINGO_WRK_S", 1);
    let mut said = String::new();
    for seconds in [first, 10 * first, 60 * first] {
        let output = std::process::Command::new(wrk)
            .args(["-t1", "--latency", "--timeout", "60s"])
            .args([
                format!("-c{connections}"),
                format!("-d{seconds}s"),
                url.into(),
            ])
            .output()
            .map_err(|e| format!("wrk: {e}"))?;
        let text = String::from_utf8_lossy(&output.stdout);
        let rate = printed(&text, "Requests/sec:").and_then(|n| n.parse::<f64>().ok());
        let wrong = printed(&text, "Socket errors:").or(printed(&text, "Non-2xx"));
        said = format!("{text}{}", String::from_utf8_lossy(&output.stderr));
        let (Some(rate), None) = (rate, wrong) else {
            break;
        };
        if rate > 0.0 {
            let p99 = printed(&text, "99%").unwrap_or("?");
            note(format!(
                "wrk, {connections} connections, smp {smp}: {rate:.0} requests/s, p99 {p99}"
            ));
            return Ok(());
        }
    }
    Err(format!("wrk with {connections} connections: {said}"))
}

/// What the server says of each pair of its card's queues: frames that came, frames that went.
fn queues(state: &str) -> Option<Vec<[u64; 2]>> {
    let lines = state.lines().filter(|line| line.starts_with("queues "));
    let counts = lines.map(|line| {
        let numbers = line.split(' ').filter_map(|word| word.parse().ok());
        let numbers: Vec<u64> = numbers.collect();
        numbers.try_into().ok()
    });
    counts.collect()
}

/// A pair of queues for each CPU where the interface has several, and each is used; one pair else.
fn spread(machine: &Beside, smp: u32, several: bool) -> Result<(), String> {
    let state = machine.keep_trying(|| ask("GET", "/state"))?;
    let counts = queues(&state).ok_or(format!("no numbers: {state}"))?;
    let pairs = if several { smp as usize } else { 1 };
    let used = counts.iter().flatten().all(|&frames| frames > 0);
    (counts.len() == pairs && used)
        .then(|| {
            note(format!(
                "frames in and out by pairs of queues, smp {smp}: {counts:?}"
            ))
        })
        .ok_or_else(|| format!("{pairs} pairs of queues, all used? {counts:?}"))
}

pub fn web(smp: u32, board: Board, several_queues: bool) -> Case {
    let case = Case::new("loads", "http")
        .named(if several_queues {
            "wrk, several queues"
        } else {
            "wrk"
        })
        .smp(smp)
        .no_events();
    let case = case.kernel(|| demo("http")).tap(several_queues);
    let case = case.machine(move |machine| machine.board = board);
    case.client(move |machine| wrk(machine, smp, several_queues))
        .says(" requests served")
}
