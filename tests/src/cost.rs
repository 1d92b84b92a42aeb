//! What a machine costs its host.

use crate::{host_image, image, ring3};
use ringo_runner::{HostMachine, Machine};
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
        let kernel = image()?;
        let programs = ring3::programs_for(&kernel)?;
        let mut m = Machine::new(kernel, test);
        m.user_programs = programs;
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

/// The first cost (a share of a processor) below `most` that `measure` finds, in a few attempts: a busy host makes the same work
/// dearer, never cheaper. Not for ratios of two costs, of which noise may be in either: [`least`].
///
/// # Errors
/// Each time it was more, or nothing could be measured.
pub fn cheapest(
    most: f64,
    mut measure: impl FnMut() -> Result<f64, String>,
) -> Result<f64, String> {
    let mut shares = Vec::new();
    while shares.len() < 5 {
        let share = measure()?;
        if share < most {
            return Ok(share);
        }
        shares.push(share)
    }
    Err(format!("measured, all above {most}: {shares:.3?}"))
}

/// Two costs, each the least of three measurements, which take turns.
///
/// # Errors
/// One could not be measured.
pub fn least(
    mut measure: impl FnMut(usize) -> Result<Duration, String>,
) -> Result<[Duration; 2], String> {
    let mut least = [Duration::MAX; 2];
    for _ in 0..3 {
        for (which, cost) in least.iter_mut().enumerate() {
            *cost = measure(which)?.min(*cost)
        }
    }
    Ok(least)
}

/// Processor time that a test of the image takes on threads of the host.
///
/// # Errors
/// It does not build, or does not end well.
pub fn host_cost(test: &str, smp: u32, args: &[(&str, u64)]) -> Result<Duration, String> {
    let mut m = HostMachine::new(host_image()?, test);
    m.smp = smp;
    m.args = vec![test.into()];
    m.args.extend(args.iter().map(|(k, n)| format!("{k}={n}")));
    m.timeout = Some(Duration::from_secs(300));
    let outcome = m.run().map_err(|e| e.to_string())?;
    if outcome.exit == 0 {
        Ok(outcome.cpu_time)
    } else {
        Err(format!(
            "exit status {}\n{}{}",
            outcome.exit, outcome.stdout, outcome.stderr
        ))
    }
}

#[cfg(test)]
mod tests {
    use super::{cheapest, least};
    use std::time::Duration;

    #[test]
    fn each_by_itself() {
        let mut costs = [5, 40, 4, 60, 9, 30].map(Duration::from_secs).into_iter();
        let mut next = |_| costs.next().ok_or_else(|| "no more".to_string());
        assert_eq!(least(&mut next), Ok([4, 30].map(Duration::from_secs)));
        assert_eq!(least(&mut next), Err("no more".to_string()));
    }

    #[test]
    fn one_of_five() {
        let mut costs = [0.9, 0.2, 0.04].into_iter();
        let mut next = || costs.next().ok_or_else(|| "no more".to_string());
        assert_eq!(cheapest(0.1, &mut next), Ok(0.04));
        assert_eq!(cheapest(0.1, &mut next), Err("no more".to_string()));
        assert!(cheapest(0.1, || Ok(0.2)).is_err());
    }
}
