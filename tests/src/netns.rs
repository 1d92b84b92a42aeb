//! A network of the test's own, with a tap interface in it: a Linux network namespace that is there as long as its threads.
//!
//! Real clients (`curl`, `nc`, `wrk`, sockets of `std::net`) that a script starts within reach the machine at its own address,
//! and nobody outside sees any of it. It takes root and `/dev/net/tun`.

use crate::note;
use crate::tools::ip as ip_tool;
use nix::sched::{CloneFlags, unshare};
use std::process::Command;

/// The tap interface's name within.
pub const TAP: &str = "tap0";
/// Our address on it, the machine's gateway, with the bits of the network.
const ADDRESS: &str = "10.0.2.2/24";

/// Whence tap interfaces come.
const TUN: &str = "/dev/net/tun";
/// Of the namespace of the thread that writes.
const NO_IPV6: &str = "/proc/sys/net/ipv6/conf/all/disable_ipv6";

/// Runs `f` within a network of its own, on a thread of its own: what `f` starts, threads and processes, is within as well.
/// `queues`: whether the interface has several.
///
/// # Errors
/// No such network can be had here; why.
pub fn within<T: Send>(queues: bool, f: impl FnOnce() -> T + Send) -> Result<T, String> {
    std::thread::scope(|scope| {
        let thread = scope.spawn(|| {
            set_up(queues)?;
            Ok(f())
        });
        thread
            .join()
            .unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    })
}

/// As [`within`]; where it cannot be had, a loud line among the results says that `what` was not run.
pub fn within_or_note<T: Send>(
    what: &str,
    queues: bool,
    f: impl FnOnce() -> T + Send,
) -> Option<T> {
    let result = within(queues, f);
    result
        .map_err(|why| note(format!("{what} was NOT RUN: no network of its own: {why}")))
        .ok()
}

fn set_up(queues: bool) -> Result<(), String> {
    if !std::path::Path::new(TUN).exists() {
        return Err(format!("there is no {TUN}"));
    }
    // Of this thread alone, and of what it starts from here on.
    unshare(CloneFlags::CLONE_NEWNET).map_err(|e| format!("a network namespace: {e}"))?;
    let ip = ip_tool()?;
    // IPv6 would ask around on the cable unasked. Where there is none, there is nothing to switch off.
    if std::path::Path::new(NO_IPV6).exists() {
        std::fs::write(NO_IPV6, "1").map_err(|e| format!("{NO_IPV6}: {e}"))?
    }
    let several = if queues { " multi_queue" } else { "" };
    for line in [
        "link set lo up".to_string(),
        format!("tuntap add dev {TAP} mode tap{several}"),
        format!("addr add {ADDRESS} dev {TAP}"),
        format!("link set {TAP} up"),
    ] {
        let output = Command::new(&ip).args(line.split(' ')).output();
        let output = output.map_err(|e| format!("ip {line}: {e}"))?;
        if !output.status.success() {
            let said = String::from_utf8_lossy(&output.stderr);
            return Err(format!("ip {line}: {}", said.trim()));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;
    use std::io::Write;

    /// What is bound within is free outside, and what is outside cannot be seen.
    #[test]
    fn of_its_own() {
        // As for tests of machines: loud (not captured), and no failure.
        let not_run = |why: &str| {
            let line = format!("NOT RUN: no network of its own: {why}\n");
            drop(std::io::stderr().write_all(line.as_bytes()))
        };
        if Command::new("ip").arg("-V").output().is_err() {
            return not_run("there is no ip");
        }
        let names = || -> BTreeSet<String> {
            let text = std::fs::read_to_string("/proc/thread-self/net/dev").unwrap();
            let names = text.lines().filter_map(|line| line.split_once(':'));
            names.map(|(name, _)| name.trim().to_string()).collect()
        };
        let outside = names();
        let inside = within(false, move || {
            std::net::TcpListener::bind("10.0.2.2:80").unwrap();
            names()
        });
        match inside {
            Ok(inside) => {
                assert!(
                    inside.contains("tap0") && inside.contains("lo"),
                    "{inside:?}"
                );
                // Some kernels give each network a few interfaces besides; cards are not among them.
                assert!(!inside.contains("eth0"), "{inside:?}");
                assert!(!outside.contains("tap0") || names().contains("tap0"));
                assert_eq!(names(), outside)
            }
            Err(why) => not_run(&why),
        }
    }
}
