//! Servers of ring 3, `echo` and `httpd`; programs that lie on the disk.

use crate::param::param;
use crate::ring3_memory::{left_nothing, succeeds};
use crate::{Outcome, Test, ensure};
use ringo::net::Error;
use ringo::prelude::*;
use ringo::user::{Process, Stdio, spawn as start};

pub const TESTS: &[Test] = &[
    ("ring3_net_inside", || left_nothing(inside)),
    ("ring3_net_outside", outside),
    ("ring3_disk", disk),
];

fn server(name: &str, port: &str) -> Result<Process, String> {
    start(name, &[port], Stdio::without_input()).map_err(|e| format!("{name}: {e}"))
}

/// Ends it, in the midst of `accept`, which it is in for ever.
fn ended(process: &Process) -> Outcome {
    process.kill();
    let how = process.wait();
    ensure!(how.code() == 200, "a server ended by itself: {how}");
    Ok(())
}

/// A client in a process of its own, in this machine. The ports are new ones each time: old connections linger.
fn inside() -> Outcome {
    use core::sync::atomic::{AtomicU64, Ordering::Relaxed};
    static NEXT_PORT: AtomicU64 = AtomicU64::new(8000);
    let port = || format!("{}", NEXT_PORT.fetch_add(1, Relaxed));
    let ports = [port(), port()];
    let servers = [server("echo", &ports[0])?, server("httpd", &ports[1])?];
    let connections = format!("{}", param("connections", 100));
    succeeds("talk", &[&ports[0], &ports[1], &connections])?;
    servers.iter().try_for_each(ended)
}

/// Serves until somebody connects to port 9.
fn outside() -> Outcome {
    let said = |e: Error| format!("{e}");
    let servers = [server("echo", "7")?, server("httpd", "80")?];
    let over = TcpListener::bind("0.0.0.0:9").map_err(said)?;
    over.accept().map_err(said)?;
    servers.iter().try_for_each(ended)
}

/// What lies on the disk, good and damaged: a program runs, or there is an error, as often as it is asked for.
fn disk() -> Outcome {
    for _ in 0..2 {
        succeeds("elsewhere", &[])?;
        for (name, error) in [
            ("garbage", "garbage cannot be run: "),
            ("short", "short cannot be run: "),
            ("empty", "empty cannot be run: "),
            ("huge", "program huge cannot be read: "),
            ("behind", "there is no program behind"),
            ("nothing", "there is no program nothing"),
        ] {
            let said = match start(name, &[""; 0], Stdio::without_input()) {
                Ok(process) => format!("it runs: {}", process.wait()),
                Err(e) => format!("{e}"),
            };
            ensure!(said.starts_with(error), "{name}: {said}");
        }
    }
    Ok(())
}
