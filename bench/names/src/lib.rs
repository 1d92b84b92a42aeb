//! What benchmarks there are, for the kernel that runs them and for the runner that is asked for them by name.
//!
//! Names and definitions are those of the harness that measures Go in the same virtual machine, so that the lines of both can be
//! laid side by side. What is ours alone is in the group `bare`: what the machine itself costs, in each run.
#![no_std]

/// Benchmarks that are asked for together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Group {
    /// What the machine does without a scheduler: the limits of the others. Part of every run.
    Bare,
    /// How fast plain code runs, as the harness for Go measures it.
    Calib,
    /// Single operations of the scheduler, of channels and locks.
    Core,
    /// Work for several Ps.
    Par,
    /// Whole programs.
    App,
    /// How late sleepers wake.
    Lat,
    /// What a parked goroutine costs.
    Mem,
}

impl Group {
    /// All of them, in the order in which they run.
    pub const ALL: &[Group] = &[
        Group::Bare,
        Group::Calib,
        Group::Core,
        Group::Par,
        Group::App,
        Group::Lat,
        Group::Mem,
    ];

    /// As it is typed.
    pub const fn word(self) -> &'static str {
        match self {
            Group::Bare => "bare",
            Group::Calib => "calib",
            Group::Core => "core",
            Group::Par => "par",
            Group::App => "app",
            Group::Lat => "lat",
            Group::Mem => "mem",
        }
    }
}

/// What of the machine bounds a figure. Each is measured in the same run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Limit {
    /// Nothing that is measured.
    None,
    /// So many switches that save what a call keeps: `bare_switch`.
    Switches(u32),
    /// An uncontended lock of two atomic operations: `bare_lock`.
    Lock,
    /// Reading and writing an item: so many loads that depend on each other, `bare_load`.
    Loads(u32),
    /// The lateness of the CPU's own timer: `bare_timer`.
    Timer,
    /// The same work without goroutines on that many CPUs, which the benchmark itself measures: `ideal_ns` of its line.
    Ideal,
}

/// A benchmark.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Name {
    /// Its name.
    pub name: &'static str,
    /// Its group.
    pub group: Group,
    /// What one operation is.
    pub op: &'static str,
    /// What bounds it.
    pub limit: Limit,
}

const fn new(name: &'static str, group: Group, limit: Limit, op: &'static str) -> Name {
    Name {
        name,
        group,
        op,
        limit,
    }
}

/// All of them, in the order in which they run.
#[rustfmt::skip]
pub const NAMES: &[Name] = &[
    new("bare_loop", Group::Bare, Limit::None, "a round of an empty loop"),
    new("bare_switch", Group::Bare, Limit::None, "a switch to another stack that saves what a call keeps"),
    new("bare_load", Group::Bare, Limit::None, "a load that waits for the one before, in 32 KiB"),
    new("bare_lock", Group::Bare, Limit::None, "taking and leaving a lock that nobody wants: two atomic operations"),
    new("bare_timer", Group::Bare, Limit::None, "lateness of the CPU's timer, armed for 1 ms, for a CPU that spins"),
    new("calib_alu", Group::Calib, Limit::None, "a step of x = x*A + C"),
    new("calib_mem", Group::Calib, Limit::None, "a load that waits for the one before, in 32 KiB"),
    new("calib_atomic_add", Group::Calib, Limit::None, "an atomic addition"),
    new("calib_atomic_cas", Group::Calib, Limit::None, "a compare and swap"),
    new("calib_nanotime", Group::Calib, Limit::None, "reading the clock"),
    new("calib_thread_pingpong", Group::Calib, Limit::None, "a round trip of two goroutines, each locked to a CPU of its own"),
    new("spawn_batch", Group::Core, Limit::Switches(2), "a goroutine started, run and ended, 100,000 at once"),
    new("spawn_one", Group::Core, Limit::Switches(2), "a goroutine started, run, ended and waited for"),
    new("yield2", Group::Core, Limit::Switches(1), "a yield of one of two goroutines"),
    new("yield1000", Group::Core, Limit::Switches(1), "a yield of one of 1,000 goroutines"),
    new("chan_pingpong", Group::Core, Limit::Switches(2), "a round trip over two channels without room"),
    new("chan_pingpong_many", Group::Core, Limit::Switches(2), "a round trip of one of 64 pairs"),
    new("chan_buf128_1to1", Group::Core, Limit::Loads(4), "an item through a channel with room for 128"),
    new("chan_buf128_4to4", Group::Core, Limit::Loads(4), "an item through a channel with room for 128, four on each side"),
    new("select4_recv", Group::Core, Limit::Switches(1), "a receive of a select on four channels, each with a sender"),
    new("select4_ready", Group::Core, Limit::Loads(8), "a select on four full channels, and the item put back"),
    new("select4_default", Group::Core, Limit::Loads(4), "a select on four empty channels, with a default"),
    new("mutex_uncontended", Group::Core, Limit::Lock, "lock, add 1, unlock: one goroutine"),
    new("mutex8", Group::Core, Limit::Lock, "lock, add 1, unlock: eight goroutines"),
    new("ring503", Group::Core, Limit::Switches(1), "a hop of a token in a ring of 503"),
    new("fib_serial", Group::Par, Limit::None, "the tree of fib(n) by calls"),
    new("forkjoin_fib27c2", Group::Par, Limit::Ideal, "the tree of fib(27), a goroutine for each call above fib(2)"),
    new("forkjoin_fib27c10", Group::Par, Limit::Ideal, "the tree of fib(27), a goroutine for each call above fib(10)"),
    new("forkjoin_fib35c18", Group::Par, Limit::Ideal, "the tree of fib(35), a goroutine for each call above fib(18)"),
    new("skew_fine", Group::Par, Limit::Ideal, "20,000 pieces of work of 1,000 steps, all started on one P"),
    new("skew_mid", Group::Par, Limit::Ideal, "2,000 pieces of work of 20,000 steps"),
    new("skew_coarse", Group::Par, Limit::Ideal, "64 pieces of work of 1,000,000 steps"),
    new("skynet", Group::App, Limit::None, "a tree of a million goroutines that send their sums upwards"),
    new("sieve_select", Group::App, Limit::None, "the sieve with a quit channel in each step"),
    new("sieve", Group::App, Limit::None, "the sieve of filters up to the 2,000th prime"),
    new("preempt_sleep1ms", Group::Lat, Limit::Timer, "lateness of a sleep of 1 ms beside loops that never give way"),
    new("sleepers", Group::Lat, Limit::Timer, "lateness of a sleep of 10 to 110 ms among 10,000 sleepers"),
    new("parked", Group::Mem, Limit::None, "a goroutine started and parked"),
];

/// Finds a benchmark by its name.
pub fn find(name: &str) -> Option<&'static Name> {
    NAMES.iter().find(|known| known.name == name)
}

/// Those that `word` stands for: a name, a group's word, or `all`; empty if it is none of these.
pub fn chosen(word: &str) -> impl Iterator<Item = &'static Name> {
    let is_meant =
        move |known: &&Name| word == "all" || word == known.name || word == known.group.word();
    NAMES.iter().filter(is_meant)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_different_and_in_the_order_of_groups() {
        for (i, one) in NAMES.iter().enumerate() {
            let same = NAMES.iter().filter(|other| other.name == one.name).count();
            assert_eq!(same, 1, "{}", one.name);
            assert!(Group::ALL.iter().all(|group| group.word() != one.name));
            let rank = |name: &Name| Group::ALL.iter().position(|group| *group == name.group);
            assert!(i == 0 || rank(&NAMES[i - 1]) <= rank(one), "{}", one.name);
        }
    }

    #[test]
    fn words() {
        assert_eq!(chosen("all").count(), NAMES.len());
        assert_eq!(chosen("yield2").count(), 1);
        assert_eq!(chosen("lat").count(), 2);
        assert_eq!(chosen("yield").count(), 0);
        assert_eq!(find("skynet").map(|name| name.group), Some(Group::App));
        assert_eq!(find("core"), None);
    }
}
