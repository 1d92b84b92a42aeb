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
fn wrk(machine: &Beside, smp: u32) -> Result<(), String> {
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
            .try_for_each(|n| wrk_with(&wrk, *n, smp, &base)),
    };
    curl(&client, &["-X", "POST", &stop]);
    said
}

fn wrk_with(wrk: &std::path::Path, connections: u32, smp: u32, url: &str) -> Result<(), String> {
    let seconds = env("RINGO_WRK_S", 1);
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
    let Some(rate) = rate.filter(|rate| *rate > 0.0 && wrong.is_none()) else {
        let said = String::from_utf8_lossy(&output.stderr);
        return Err(format!("wrk with {connections} connections: {text}{said}"));
    };
    let p99 = printed(&text, "99%").unwrap_or("?");
    note(format!(
        "wrk, {connections} connections, smp {smp}: {rate:.0} requests/s, p99 {p99}"
    ));
    Ok(())
}

pub fn web(smp: u32, board: Board) -> Case {
    let case = Case::new("loads", "http").named("wrk").smp(smp).no_events();
    let case = case.kernel(|| demo("http")).tap(false);
    let case = case.machine(move |machine| machine.board = board);
    case.client(move |machine| wrk(machine, smp))
        .says(" requests served")
}
