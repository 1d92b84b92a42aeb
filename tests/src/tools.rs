//! Real clients, fetched as QEMU is: from the system's packages, when a test wants them.

use crate::note;
use std::path::PathBuf;

/// `curl`.
///
/// # Errors
/// It is missing and cannot be installed; the line says what to do.
pub fn curl() -> Result<PathBuf, String> {
    tool("curl", "curl")
}

/// `nc`.
///
/// # Errors
/// As [`curl`].
pub fn netcat() -> Result<PathBuf, String> {
    tool("nc", "netcat-openbsd")
}

/// `wrk`.
///
/// # Errors
/// As [`curl`].
pub fn wrk() -> Result<PathBuf, String> {
    tool("wrk", "wrk")
}

/// `ip`.
///
/// # Errors
/// As [`curl`].
pub fn ip() -> Result<PathBuf, String> {
    tool("ip", "iproute2")
}

fn tool(program: &'static str, package: &'static str) -> Result<PathBuf, String> {
    ringo_runner::prepare_tool(program, package).map_err(|e| e.to_string())
}

/// A tool; where it cannot be had, a loud line among the results says that `what` was not run.
pub fn or_note(what: &str, tool: Result<PathBuf, String>) -> Option<PathBuf> {
    tool.map_err(|why| note(format!("{what} was NOT RUN: {why}")))
        .ok()
}
