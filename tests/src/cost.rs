//! What a machine costs its host.

use crate::image;
use ringo_runner::Machine;
use std::time::Duration;

/// Processor time and time by the clock that a test of the image takes more with `key=long` than with `key=short`: what boot
/// and end cost falls out.
///
/// # Errors
/// A machine does not build, or does not end well.
pub fn cost_between(
    test: &str,
    smp: u32,
    key: &str,
    [short, long]: [u64; 2],
) -> Result<(Duration, Duration), String> {
    let machine = |n: u64| {
        let mut m = Machine::new(image()?, test);
        m.smp = smp;
        m.args = vec![test.into(), format!("{key}={n}")];
        m.timeout = Some(Duration::from_secs(120));
        let outcome = m.run().map_err(|e| e.to_string())?;
        if outcome.exit == 0 {
            Ok(outcome)
        } else {
            Err(format!("exit status {}", outcome.exit))
        }
    };
    let (short, long) = (machine(short)?, machine(long)?);
    Ok((
        long.cpu_time.saturating_sub(short.cpu_time),
        long.wall.saturating_sub(short.wall),
    ))
}
