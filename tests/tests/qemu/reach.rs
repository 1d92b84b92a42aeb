//! How costs grow.

use libtest_mimic::Trial;
use tests::{Case, NO_NET, host_cost, least, note, trial};

const WAITERS: &[&str] = &["reach_mutex_waiters", "reach_semaphore_waiters"];

pub fn cases() -> Vec<Case> {
    // Time is what is executed: ratios are the program's own.
    let counted = |title, tests: &[&str]| {
        Case::several("reach", title, tests)
            .smp(1)
            .machine(|m| m.seed = Some(5))
            .limit(400)
    };
    let hot = || Case::new("reach", "reach_hot_channel");
    vec![
        counted("waiters, virtual time", WAITERS),
        counted("timers, virtual time", &["reach_timers"]),
        Case::several("reach", "waiters", WAITERS)
            .arg("once", 1)
            .mode(NO_NET),
        hot(),
        hot().host(),
    ]
}

/// A test, the number that is varied, two values of it, and how many times as much processor time the larger one may take.
type Growth = (&'static str, &'static str, [u64; 2], f64);

/// On the host machine, which is fast enough for the sizes that the project promises.
const ON_HOST: &[Growth] = &[
    ("reach_mutex_waiters", "waiters", [10_000, 20_000], 3.0),
    ("reach_semaphore_waiters", "waiters", [10_000, 20_000], 3.0),
    // Sixteen times as many, a third more for the depth of the heap, and caches that hold the small one only.
    ("reach_timers", "timers", [62_500, 1_000_000], 64.0),
];

pub fn trials() -> Vec<Trial> {
    let of = |&growth: &Growth| {
        let name = format!("reach::{} host, processor time", growth.0);
        trial(name, move || grows(growth))
    };
    ON_HOST.iter().map(of).collect()
}

fn grows((test, key, sizes, most): Growth) -> Result<(), String> {
    let [s, l] = least(|which| host_cost(test, 2, &[("once", 1), (key, sizes[which])]))?;
    let ratio = l.as_secs_f64() / s.as_secs_f64().max(0.001);
    let [small, large] = sizes;
    if ratio >= most {
        return Err(format!(
            "{test}: {small} {key} take {s:.2?} of processor time, {large} take {l:.2?}: {ratio:.1} times as much, not below {most}"
        ));
    }
    note(format!(
        "{test}: {small} {key} take {s:.2?} of processor time, {large} take {l:.2?}: {ratio:.1} times as much"
    ));
    Ok(())
}
