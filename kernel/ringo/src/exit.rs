//! The end of a program.

use alloc::boxed::Box;
use alloc::vec::Vec;
use base::{PreemptGuard, Rank, SpinLock};
use core::sync::atomic::{AtomicU64, Ordering};
use sched::{Commit, GRef, WaitReason};

type Callback = Box<dyn FnOnce() + Send>;

static CALLBACKS: SpinLock<Vec<Callback>> = SpinLock::new(Rank::Channel, Vec::new());
/// Number of the goroutine that ends the program; 0: none yet.
static LEAVING: AtomicU64 = AtomicU64::new(0);

/// Registers `f` to run when the program ends by itself: `main` returns, or somebody calls [`exit`]. The one that was
/// registered last runs first, all on the goroutine that ends the program. A fatal error runs none of them.
///
/// ```no_run
/// ringo::at_exit(|| ringo::println!("second"));
/// ringo::at_exit(|| ringo::println!("first"));
/// ringo::exit(0)
/// ```
pub fn at_exit<F>(f: F)
where
    F: FnOnce() + Send + 'static,
{
    let f: Callback = Box::new(f);
    CALLBACKS.lock().push(f);
}

/// Ends the program with exit status `code`; 0 is success. Runs what [`at_exit`] registered, waits for no goroutine.
///
/// What was written on TCP connections still arrives: connections are closed, and the machine stays until the other side has
/// acknowledged all, for a second at most. Nothing that goroutines write meanwhile is sent.
///
/// A blocking call that the caller is in ends here. If two goroutines call it, the first one ends the program and the other waits. Called from within an `at_exit`
/// function, it leaves out the ones that have not run.
///
/// A panic ends the program first. While another goroutine puts its message together this waits, for 2 s at most; then that
/// there is a panic is what is reported. Within the message itself it is a fatal error.
///
/// ```no_run
/// if ringo::args().next().is_none() {
///     ringo::eprintln!("what shall I do?");
///     ringo::exit(2);
/// }
/// ```
pub fn exit(code: i32) -> ! {
    let me = sched::current().id();
    if sched::in_call() {
        sched::exitsyscall() // callbacks may wait, and so may this
    }
    not_in_a_message(format_args!("exit({code})"));
    // Relaxed: only the numbers count, the callbacks are under their lock.
    match LEAVING.compare_exchange(0, me, Ordering::Relaxed, Ordering::Relaxed) {
        Ok(_) => run_callbacks(),
        Err(other) if other == me => {}
        Err(_) => wait_for_the_end(),
    }
    sched::this().end_network();
    // A panic elsewhere ends the program, whatever comes while its message is put together (Go: `main`, `panicking`).
    if let Some(who) = crate::fatal::who_panics() {
        wait_for_the_panic(who)
    }
    end_machine(code)
}

/// Ends the calling goroutine, as [`csp::join::goexit`].
///
/// In a function of [`at_exit`] it is a fatal error: the goroutine is the one that ends the program, and the end would
/// never come. In the message of a panic it is one as well: the panic would be lost.
///
/// ```
/// # sched::testing::run(2, 2, || {
/// use ringo::prelude::{WaitGroup, goexit};
/// let group = WaitGroup::new();
/// group.go(|| goexit());
/// group.wait(); // it has ended, the program goes on
/// # });
/// ```
pub fn goexit() -> ! {
    not_in_a_message(format_args!("goexit"));
    if LEAVING.load(Ordering::Relaxed) == sched::current().id() {
        sched::fatal(format_args!(
            "goexit in an at_exit function: the program ends when it returns, or by exit(n)"
        ))
    }
    csp::join::goexit()
}

/// Is the caller the `Display` of something in a panic's message? Then the program ends here.
fn not_in_a_message(what: core::fmt::Arguments) {
    if crate::fatal::in_a_message() {
        sched::fatal(format_args!(
            "{what} while a panic's message was being put together: the panic ends the program"
        ))
    }
}

fn run_callbacks() {
    loop {
        // One at a time: a callback may register another one.
        let last = CALLBACKS.lock().pop();
        match last {
            Some(f) => f(),
            None => return,
        }
    }
}

fn wait_for_the_end() -> ! {
    unsafe fn stay(_: GRef, _: usize) -> bool {
        true
    }
    loop {
        let commit = Commit { f: stay, arg: 0 };
        // SAFETY: `stay` uses nothing; that nobody readies the G is what is wanted.
        unsafe { sched::gopark(PreemptGuard::new(), WaitReason::ProgramExit, commit) };
    }
}

/// How long the end waits for a panic's message, by the machine's clock, since the program's or a bubble's may stand: whatever the
/// message waits for may never come.
const MESSAGE_S: u64 = 2;

/// Goroutine `who` panics, and when it has put its message together the program ends.
fn wait_for_the_panic(who: u64) -> ! {
    let until_ns = sched::machine_now_ns() + MESSAGE_S * 1_000_000_000;
    while sched::machine_now_ns() < until_ns {
        sched::yield_now()
    }
    let late = format_args!("panics, and its message has not come for {MESSAGE_S} s");
    match who {
        u64::MAX => sched::fatal(format_args!("the scheduler {late}")), // on g0
        who => sched::fatal(format_args!("goroutine {who} {late}")),
    }
}

/// What the disk's module says at the end, if the program uses it: an event for the runner.
#[cfg(ringo_kernel)]
pub(crate) static SAY_DISK: spin::Once<fn()> = spin::Once::new();

/// The status goes to the runner over the control channel, since the exit device carries none but the kernel's own.
#[cfg(ringo_kernel)]
fn end_machine(code: i32) -> ! {
    if crate::start::config().json {
        say_stats();
        crate::leaks::say()
    }
    if let Some(say) = SAY_DISK.get() {
        say()
    }
    // Without the heap, which may be what the program has used up.
    crate::fatal::say(format_args!(
        "\u{1}{{\"event\":\"exit\",\"code\":{code}}}\n"
    ));
    arch::exit(exit_code(code))
}

/// On the host machine the process says it itself, in the runner's words.
#[cfg(not(ringo_kernel))]
fn end_machine(code: i32) -> ! {
    if code != 0 {
        crate::eprintln!("exit status {code}");
    }
    arch::exit(exit_code(code))
}

/// The run's figures, for `--json`.
#[cfg(ringo_kernel)]
fn say_stats() {
    let c = crate::machine::counts();
    crate::fatal::say(format_args!(
        "\u{1}{{\"event\":\"stats\",\"since_start_ns\":{},\"switches\":{},\"steals\":{},\"stolen\":{},\"preemptions\":{},\"gave_way\":{},\"halts\":{},\"wakes\":{},\"timers\":{},{}}}\n",
        sched::machine_now_ns(),
        c.switches,
        c.steals,
        c.stolen,
        c.preemptions,
        c.gave_way,
        c.halts,
        c.wakes,
        c.timers,
        crate::metrics::Json(&crate::metrics::read())
    ));
}

fn exit_code(code: i32) -> arch::ExitCode {
    if code == 0 {
        arch::ExitCode::Success
    } else {
        arch::ExitCode::ProgramFailed
    }
}
