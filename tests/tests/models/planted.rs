//! The bugs that loom must find when they are planted: where each is looked for, and how the finding is said.

use crate::harness::Mutant;

/// How loom says that all threads are blocked: a wake-up was lost.
const DEADLOCK: &str = "deadlock; threads";
/// How loom says that something was handed over without ordering.
const RACE: &str = "Causality violation";
/// How loom says that a thread waits for ever in a loop.
const ENDLESS: &str = "maximum number of branches";
const LOST: &str = "times that G";
const STATUS: &str = "was found";
/// A G is readied that is awake.
const READIED: &str = "is readied";
/// A G goes on while somebody may still find it in a list.
const LISTED: &str = "still in a list";

/// What loom's models find.
pub const MUTANTS: &[Mutant] = &[
    ("ring_put_relaxed", "ring::each_once", LOST),
    ("ring_tail_relaxed", "ring::each_once", LOST),
    ("ring_get_no_cas", "ring::each_once", RACE),
    ("ring_steal_no_cas", "ring::each_once", RACE),
    (
        "ring_consume_relaxed",
        "ring::each_once_one_at_a_time",
        RACE,
    ),
    ("runnext_put_relaxed", "ring::runnext_once", RACE),
    ("runnext_steal_no_cas", "ring::runnext_once", RACE),
    ("overflow_no_cas", "ring::overflow_once", RACE),
    (
        "runqempty_one_look",
        "ring::never_looks_empty",
        "looks empty",
    ),
    ("bubble_look_then_count", "bubble::wait_against_block", LOST),
    (
        "bubble_count_late",
        "bubble::ready_against_idle",
        "the waiter went on while another could run",
    ),
    (
        "bubble_left_active_first",
        "bubble::end_against_look",
        "it ended well",
    ),
    (
        "poll_commit_no_cas",
        "netpoll::wait_against_ready",
        DEADLOCK,
    ),
    (
        "poll_reset_no_fence",
        "netpoll::wait_against_ready",
        DEADLOCK,
    ),
    (
        "poll_ready_no_fence",
        "netpoll::wait_against_ready",
        DEADLOCK,
    ),
    (
        "poll_count_stays",
        "netpoll::wait_against_ready",
        "waiters left",
    ),
    (
        "poll_wait_no_recheck",
        "netpoll::wait_against_close",
        DEADLOCK,
    ),
    (
        "poll_wait_no_fence",
        "netpoll::wait_against_close",
        DEADLOCK,
    ),
    (
        "poll_evict_no_fence",
        "netpoll::wait_against_close",
        DEADLOCK,
    ),
    ("poll_wake_no_cas", "netpoll::two_readies", DEADLOCK),
    (
        "poll_deadline_stays",
        "netpoll::deadline_moved_is_not_over",
        "it was moved",
    ),
    (
        "poll_no_listen",
        "netpoll::halt_against_interrupt",
        DEADLOCK,
    ),
    (
        "poll_asked_is_no_work",
        "netpoll::ask_against_spinner",
        DEADLOCK,
    ),
    (
        "poll_leaves_unasked",
        "netpoll::interrupt_while_another_polls",
        DEADLOCK,
    ),
    (
        "poll_leave_relaxed",
        "netpoll::interrupt_while_another_polls",
        DEADLOCK,
    ),
    ("park_after_commit", "park::park_against_ready", STATUS),
    ("park_unlock_on_stack", "park::park_against_ready", STATUS),
    ("wakep_no_fence", "idle::make_against_idle", DEADLOCK),
    ("recheck_no_fence", "idle::make_against_idle", DEADLOCK),
    ("no_recheck", "idle::make_against_idle", DEADLOCK),
    ("recheck_no_woken", "idle::woken_against_idle", DEADLOCK),
    ("stopm_no_look", "idle::make_against_transit", DEADLOCK),
    (
        "startm_no_needspinning",
        "idle::make_against_transit",
        DEADLOCK,
    ),
    ("no_needspinning", "idle::last_spinner_finds_work", DEADLOCK),
    (
        "needspinning_no_fence",
        "idle::last_spinner_finds_work",
        DEADLOCK,
    ),
    ("drop_no_fence", "idle::last_spinner_finds_work", DEADLOCK),
    (
        "resetspinning_no_wakep",
        "idle::last_spinner_finds_work",
        DEADLOCK,
    ),
    (
        "recheck_no_needspinning",
        "idle::spinner_finds_work_but_no_p",
        DEADLOCK,
    ),
    ("runqsize_relaxed", "idle::batch_in_flight", DEADLOCK),
    ("timer_no_fence", "idle::timer_against_timekeeper", DEADLOCK),
    ("start_no_wakep", "idle::stop_against_idle", DEADLOCK),
    ("drop_while_stopping", "idle::stop_against_idle", ENDLESS),
    (
        "transit_ignores_tray",
        "locked::deliver_against_idle",
        DEADLOCK,
    ),
    (
        "tray_kept_without_p",
        "locked::deliver_with_the_only_p",
        LOST,
    ),
    (
        "tray_kept_at_stop",
        "locked::deliver_against_stop",
        DEADLOCK,
    ),
    (
        "locked_keeps_p",
        "locked::park_locked_against_ready",
        "two owners",
    ),
    ("retake_then_lock", "handoff::idle_m_retakes", LOST),
    ("start_call_idle", "handoff::call_against_stop", DEADLOCK),
    (
        "reenter_anybodys",
        "handoff::two_calls_on_one_p",
        "two owners",
    ),
    (
        "retake_no_cas",
        "handoff::call_against_retake",
        "two owners",
    ),
    ("park_unlock_early", "chan::send_against_receive", READIED),
    ("send_no_recheck", "chan::send_against_receive", DEADLOCK),
    ("recv_no_recheck", "chan::send_against_receive", DEADLOCK),
    ("value_after_wake", "chan::send_against_receive", RACE),
    (
        "full_buffer_forgets_sender",
        "chan::sender_waits_at_a_full_buffer",
        DEADLOCK,
    ),
    ("close_in_two_steps", "chan::close_against_send", DEADLOCK),
    (
        "close_forgets_senders",
        "chan::close_against_send",
        DEADLOCK,
    ),
    (
        "close_forgets_receivers",
        "chan::close_against_receivers",
        DEADLOCK,
    ),
    (
        "batch_readies_one",
        "chan::close_against_receivers",
        DEADLOCK,
    ),
    ("last_sender_relaxed", "chan::last_sender_closes", RACE),
    ("closed_relaxed", "chan::closed_at_a_glance", RACE),
    (
        "closed_before_empty",
        "chan::try_receive_against_close",
        "empty before it was closed",
    ),
    ("claim_no_cas", "select::two_wakers", READIED),
    (
        "pop_stops_at_a_loser",
        "select::loser_is_passed_over",
        DEADLOCK,
    ),
    ("select_unlock_early", "select::two_wakers", READIED),
    ("select_leaves_one_listed", "select::two_wakers", LISTED),
    (
        "select_locks_unsorted",
        "select::two_that_face_each_other",
        DEADLOCK,
    ),
    ("select_locks_twice", "select::one_channel_twice", DEADLOCK),
    ("mutex_lock_relaxed", "mutex::two_lock", RACE),
    ("mutex_unlock_relaxed", "mutex::two_lock", RACE),
    ("mutex_slow_unlock_relaxed", "mutex::three_lock", RACE),
    ("mutex_waits_in_two_steps", "mutex::two_lock", DEADLOCK),
    ("mutex_unlock_wakes_nobody", "mutex::two_lock", DEADLOCK),
    ("mutex_clears_waiters", "mutex::three_lock", DEADLOCK),
    ("mutex_stays_woken", "mutex::three_lock", DEADLOCK),
    (
        "mutex_hands_over_free",
        "mutex::three_lock_and_starve",
        RACE,
    ),
    (
        "mutex_hands_over_unsaid",
        "mutex::three_lock_and_starve",
        DEADLOCK,
    ),
    (
        "last_reader_forgets_writer",
        "sync::readers_and_a_writer",
        DEADLOCK,
    ),
    (
        "readers_come_in_uncounted",
        "sync::readers_and_a_writer",
        RACE,
    ),
    ("writer_comes_in_unsaid", "sync::writers_and_a_reader", RACE),
    ("cond_enlists_late", "sync::wait_against_signal", DEADLOCK),
    ("cond_no_recheck", "sync::wait_against_signal", DEADLOCK),
    ("cond_always_asleep", "sync::wait_against_signal", READIED),
    ("acquire_in_two_steps", "sync::semaphore", DEADLOCK),
    ("release_counts_twice", "sync::semaphore", "permits left"),
    ("waitgroup_add_relaxed", "sync::wait_against_two_done", RACE),
    (
        "waitgroup_no_recheck",
        "sync::wait_against_two_done",
        DEADLOCK,
    ),
    ("waitgroup_glances", "sync::wait_against_two_done", DEADLOCK),
    ("once_done_relaxed", "sync::once", RACE),
    ("once_no_recheck", "sync::once", DEADLOCK),
    ("join_no_recheck", "join::join_against_end", DEADLOCK),
    ("end_in_two_steps", "join::join_against_end", DEADLOCK),
    (
        "deliver_to_nobody",
        "join::drop_against_end",
        "dropped on g0",
    ),
    (
        "detach_leaves_result",
        "join::drop_against_end",
        "dropped on g0",
    ),
    (
        "context_asks_early",
        "context::child_against_cancel",
        "the child",
    ),
    (
        "context_second_returns",
        "context::cancel_against_cancel_below",
        "below",
    ),
    (
        "context_done_left_open",
        "context::cancel_against_cancel_below",
        "below: done",
    ),
    (
        "context_done_before_err",
        "context::done_against_err",
        "what is over has a reason",
    ),
    (
        "timer_stop_keeps_value",
        "timer::stop_against_fire",
        "its tick was taken back",
    ),
    (
        "timer_fires_unlocked",
        "timer::stop_against_fire",
        "its tick was taken back",
    ),
    (
        "timer_reset_keeps_value",
        "timer::reset_against_fire",
        "its tick was taken back",
    ),
    (
        "timer_rests_late",
        "timer::receive_against_rest",
        "timers that fire later",
    ),
    (
        "timer_fires_stale",
        "timer::stop_and_reset_against_fire",
        "timers that fire later",
    ),
    ("begin_relaxed", "futex::wait_against_stop", DEADLOCK),
    ("nudge_relaxed", "futex::wait_against_stop", DEADLOCK),
    ("park_over_nudge", "futex::wait_against_stop", DEADLOCK),
    ("park_unlocks_first", "futex::wait_against_wake", DEADLOCK),
    ("futex_loads_unlocked", "futex::wait_against_wake", DEADLOCK),
    (
        "close_nudges_all",
        "asleep::closing_disturbs_no_sleeper",
        "all is well",
    ),
    (
        "asleep_two_looks",
        "asleep::woken_while_another_ends",
        "the woken one runs",
    ),
    (
        "woken_counted_late",
        "asleep::the_last_one_is_told",
        "the waker runs",
    ),
    (
        "asleep_timed_late",
        "asleep::one_whose_time_will_be_up",
        "time goes on",
    ),
    (
        "wait_ignores_stop",
        "wait::threads_come_and_go_while_it_stops",
        DEADLOCK,
    ),
    (
        "wait_looks_first",
        "wait::the_other_one_is_served",
        DEADLOCK,
    ),
    ("close_loads", "wait::wait_against_close", DEADLOCK),
    (
        "publish_relaxed",
        "virtqueue::kick_with_event_index",
        "sees other buffers",
    ),
    ("kick_no_fence", "virtqueue::kick_with_flags", DEADLOCK),
    (
        "kick_by_equality",
        "virtqueue::kick_with_event_index",
        DEADLOCK,
    ),
    (
        "late_kick_no_fence",
        "virtqueue::late_kick_with_event_index",
        DEADLOCK,
    ),
    (
        "late_kick_from_published",
        "virtqueue::late_kick_with_event_index",
        DEADLOCK,
    ),
    (
        "pop_relaxed",
        "virtqueue::interrupt_with_flags",
        "it keeps to the rules",
    ),
    (
        "rearm_no_fence",
        "virtqueue::interrupt_with_event_index",
        DEADLOCK,
    ),
    (
        "rearm_no_recheck",
        "virtqueue::interrupt_with_flags",
        DEADLOCK,
    ),
    ("user_mutex_unlock_relaxed", "user_two_lock", RACE),
    ("user_mutex_wakes_nobody", "user_two_lock", DEADLOCK),
    ("user_mutex_forgets_sleepers", "user_three_lock", DEADLOCK),
    ("user_cond_reads_late", "user_wait_against_notify", DEADLOCK),
    (
        "user_cond_counts_nothing",
        "user_wait_against_notify",
        DEADLOCK,
    ),
    (
        "user_waitgroup_add_relaxed",
        "user_wait_against_two_done",
        RACE,
    ),
    ("user_join_wakes_nobody", "user_join_against_end", DEADLOCK),
    ("user_serve_relaxed", "user_send_against_receive", RACE),
    (
        "user_serve_wakes_nobody",
        "user_send_against_receive",
        DEADLOCK,
    ),
    (
        "user_recv_in_two_steps",
        "user_send_against_receive",
        DEADLOCK,
    ),
    (
        "user_close_forgets_senders",
        "user_close_against_send",
        DEADLOCK,
    ),
];

/// Planted bugs that no model can find, with the reason: reviewed instead.
pub const REVIEWED: &[(&str, &str)] = &[(
    "ring_head_relaxed",
    "lets a thief's read of a slot happen after the owner overwrote it; loom runs each thread's reads in their order",
)];
