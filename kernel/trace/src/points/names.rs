//! The names of all fault points. `point!` does not compile with any other, and a test finds names that stand nowhere.

/// All names, `part.place`.
pub const NAMES: &[&str] = &[
    // A G's way to sleep and back: between the state's change and the drop of its lock, and just before it is queued.
    "park.commit",
    "park.unlock",
    "ready.queue",
    // Run queues: between taking a batch and publishing the new head; between the two halves of a full ring's overflow.
    "runq.steal",
    "runq.overflow",
    // Going idle: after the last look and before the halt; after a spinner gave up and before it looks once more.
    "idle.halt",
    "idle.recheck",
    // Looking for work: an M has none, counts as spinning, and is about to look at the others.
    "idle.spin",
    // Going idle: an M is about to be listed, with the scheduler's lock held.
    "idle.locked",
    // Waking: between choosing an idle CPU and telling it; the interrupt that tells it, which can be lost.
    "wake.cpu",
    "wake.ipi",
    // Timers: after one was added and before its CPU's deadline is set.
    "timer.add",
    // Blocking calls: both sides of the P's change of hands.
    "syscall.enter",
    "syscall.exit",
    "handoff.p",
    // The network card: what tells it of buffers, what it would tell us, and the look that makes up for both can be lost.
    "net.watch",
    "net.kick",
    "net.interrupt",
    // Ends: after the G's value is stored and before its joiner is told.
    "goexit.settle",
    // A fatal report is out, and the machine is about to end.
    "fatal.leave",
];
