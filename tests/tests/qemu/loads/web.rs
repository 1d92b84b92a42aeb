//! The `http` demo under `wrk`, over tap.

use super::{IP, hung};
use crate::env;
use std::time::{Duration, Instant};
use tests::{Beside, Board, Case, demo, note, tools};

/// What `wrk` prints behind this word.
fn printed<'a>(text: &'a str, word: &str) -> Option<&'a str> {
    let mut lines = text.lines().map(str::trim);
    lines
        .find_map(|line| line.strip_prefix(word))
        .map(str::trim)
}

/// The time that `curl` waits for the answer to one question to the server.
fn curl(curl: &std::path::Path, args: &[&str]) -> bool {
    let done = std::process::Command::new(curl)
        .args(["-s", "-m", "5"])
        .args(args)
        .output();
    done.is_ok_and(|output| output.status.success())
}

/// `wrk` with keep-alive connections, as the figures of Go were taken.
fn wrk(machine: &Beside, smp: u32, several_queues: bool) -> Result<(), String> {
    let base = format!("http://{IP}/");
    let stop = format!("{base}stop");
    let what = "wrk against the http server";
    let Some(client) = tools::or_note(what, tools::curl()) else {
        // Nobody else can end it.
        return Err("there is no curl to end the server with".into());
    };
    let begin = Instant::now();
    while !curl(&client, &[&base]) {
        if machine.has_ended() || begin.elapsed() > hung() {
            return Err("the server does not answer".into());
        }
        std::thread::sleep(Duration::from_millis(20))
    }
    let said = match tools::or_note(what, tools::wrk()) {
        None => Ok(()),
        Some(wrk) => [64, 512]
            .iter()
            .try_for_each(|n| wrk_with(&wrk, *n, smp, &base))
            .and_then(|()| spread(&client, smp, several_queues)),
    };
    curl(&client, &["-X", "POST", &stop]);
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
fn queues(curl: &std::path::Path) -> Result<Vec<[u64; 2]>, String> {
    let url = format!("http://{IP}/state");
    let output = std::process::Command::new(curl)
        .args(["-s", "-m", "60", &url])
        .output()
        .map_err(|e| format!("curl: {e}"))?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let lines = text.lines().filter(|line| line.starts_with("queues "));
    let counts = lines.map(|line| {
        let numbers = line.split(' ').filter_map(|word| word.parse().ok());
        let numbers: Vec<u64> = numbers.collect();
        numbers.try_into().ok()
    });
    let counts: Option<Vec<_>> = counts.collect();
    counts.ok_or(format!("no numbers: {text}"))
}

/// A pair of queues for each CPU where the interface has several, and each is used; one pair else.
fn spread(curl: &std::path::Path, smp: u32, several: bool) -> Result<(), String> {
    let counts = queues(curl)?;
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
