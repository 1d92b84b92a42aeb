//! How busy this system's cores are with other work, while something is measured that needs them.

use std::fs;
use std::time::Duration;

/// A tick of the counts in `/proc/stat`: the kernel shows all times in hundredths of a second (`USER_HZ`, proc(5)).
const TICKS_PER_S: f64 = 100.0;

/// Time that all cores together have been busy since the system's start, in seconds; `None`: the system does not say.
pub fn host_busy() -> Option<f64> {
    busy_of(&fs::read_to_string("/proc/stat").ok()?)
}

/// The first line has user, nice, system, idle, iowait, irq, softirq and steal; of a guest's time they know already.
fn busy_of(stat: &str) -> Option<f64> {
    let words = stat
        .lines()
        .next()?
        .strip_prefix("cpu ")?
        .split_whitespace();
    let ticks: Vec<f64> = words.take(8).filter_map(|word| word.parse().ok()).collect();
    let [user, nice, system, _idle, _iowait, irq, softirq, steal] = ticks[..] else {
        return None;
    };
    Some((user + nice + system + irq + softirq + steal) / TICKS_PER_S)
}

/// Cores that something else kept busy on average, between two looks `wall` apart, beside what itself has used `own`.
pub fn others(
    before: Option<f64>,
    after: Option<f64>,
    own: Duration,
    wall: Duration,
) -> Option<f64> {
    let busy = after? - before?;
    Some(((busy - own.as_secs_f64()) / wall.as_secs_f64().max(0.001)).max(0.0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_system_says() {
        let stat = "cpu  100 20 30 4000 500 6 7 8 0 0\ncpu0 1 2 3\n";
        assert_eq!(busy_of(stat), Some(1.71));
        assert_eq!(busy_of("cpu  1 2\n"), None);
        assert!(host_busy().is_some_and(|s| s > 0.0));
    }

    #[test]
    fn what_others_used() {
        let s = Duration::from_secs;
        assert_eq!(others(Some(10.0), Some(40.0), s(20), s(10)), Some(1.0));
        // The counts are coarse.
        assert_eq!(others(Some(10.0), Some(29.9), s(20), s(10)), Some(0.0));
        assert_eq!(others(None, Some(1.0), s(1), s(1)), None);
    }
}
