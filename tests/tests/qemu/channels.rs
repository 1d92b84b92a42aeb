//! Channels, `select!` and `sync`.

use tests::{Case, DEFAULT, NO_NET};

const TESTS: &[&str] = &[
    "chan_every_capacity",
    "chan_try_recv_race",
    "chan_multi_consumer",
    "chan_pointers",
    "chan_barrier",
    "chan_fifo",
    "chan_chain",
    "chan_matrix",
    "chan_zero_size_and_large",
    "chan_power_series",
    "chan_sieve_twice",
    "select_default_race",
    "select_self",
    "select_stress",
    "select_is_fair",
    "select_operands_once",
    "select_leaves_nothing",
    "select_same_channel_twice",
    "select_closed_and_never",
    "select_close_wakes_all",
    "sync_handoff",
    "sync_semaphore_hammer",
    "sync_mutex_hammer",
    "sync_mutex_fairness",
    "sync_wait_group_rounds",
    "sync_cond_signal",
    "sync_cond_generations",
    "sync_cond_broadcast",
    "sync_cond_race",
    "sync_once_crowd",
];

pub fn cases() -> Vec<Case> {
    let mut all = Vec::new();
    for test in TESTS {
        for (smp, mode) in [(1, DEFAULT), (2, NO_NET), (4, DEFAULT)] {
            all.push(Case::new("channels", test).smp(smp).mode(mode));
        }
    }
    all
}
