//! Channels, `select!` and `sync`: on the bare machine and on the host's threads, many of them in each boot.

use tests::{Case, DEFAULT, NO_NET};

const CHANS: &[&str] = &[
    "chan_every_capacity",
    "chan_try_recv_race",
    "chan_closed_is_seen",
    "chan_multi_consumer",
    "chan_pointers",
    "chan_barrier",
    "chan_fifo",
    "chan_chain",
    "chan_matrix",
    "chan_zero_size_and_large",
    "chan_power_series",
    "chan_sieve_twice",
];

const SELECTS: &[&str] = &[
    "select_default_race",
    "select_self",
    "select_stress",
    "select_is_fair",
    "select_operands_once",
    "select_leaves_nothing",
    "select_same_channel_twice",
    "select_closed_and_never",
    "select_close_wakes_all",
];

const SYNC: &[&str] = &[
    "sync_handoff",
    "sync_handed_over_runs_next",
    "sync_semaphore_hammer",
    "sync_mutex_hammer",
    "sync_wait_group_rounds",
    "sync_cond_signal",
    "sync_cond_generations",
    "sync_cond_broadcast",
    "sync_cond_race",
    "sync_once_crowd",
    "sync_once_goexit",
];

/// One that does not give way has to be made to, or there has to be another P.
const SYNC_BESIDE_A_HOG: &[&str] = &["sync_mutex_fairness"];

pub fn cases() -> Vec<Case> {
    let mut all = Vec::new();
    for (title, tests) in [
        ("chans", CHANS),
        ("selects", SELECTS),
        ("sync", SYNC),
        ("sync beside a hog", SYNC_BESIDE_A_HOG),
    ] {
        let case = || Case::several("channels", title, tests);
        for (smp, mode) in [(1, DEFAULT), (2, NO_NET), (4, DEFAULT)] {
            all.push(case().smp(smp).mode(mode));
        }
        for smp in [1, 2, 4] {
            if smp > 1 || title != "sync beside a hog" {
                all.push(case().smp(smp).host())
            }
        }
    }
    for smp in [1, 2, 4] {
        for (test, says) in [
            ("panic_in_wait_group", "one of a group"),
            ("wait_group_below_zero", "negative WaitGroup counter"),
            (
                "wait_group_done_in_go",
                "negative WaitGroup counter: what `go` starts counts itself out",
            ),
        ] {
            let case = Case::new("channels", test).smp(smp).exit(2).says(says);
            let case = case.never_says("the wait is over");
            // A panic, on any number of CPUs.
            if smp == 2 {
                all.push(case.clone());
            }
            all.push(case.host());
        }
    }
    all
}
