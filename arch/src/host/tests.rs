//! The contract on host threads, with a scheduler of ten lines.

use super::*;
use crate::Context;
use crate::{PENDING_RESCHED, PENDING_TIMER};
use std::collections::VecDeque;
use std::process::Command;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::SeqCst};
use std::sync::{Mutex, MutexGuard};
use std::time::{Duration, Instant};

/// A machine of the tests: tasks that take turns, one queue, any thread.
struct Toy {
    queue: Mutex<VecDeque<&'static Task>>,
    live: AtomicUsize,
    switches: AtomicUsize,
    moves: AtomicUsize,
    rounds: usize,
}
struct Task {
    context: Context,
    toy: &'static Toy,
    /// Adds up to what the rounds say only if registers and stack survive.
    sum: AtomicUsize,
}

impl Toy {
    fn lock(&self) -> MutexGuard<'_, VecDeque<&'static Task>> {
        self.queue.lock().unwrap()
    }
}

fn toy(tasks: usize, rounds: usize) -> &'static Toy {
    let toy: &'static Toy = Box::leak(Box::new(Toy {
        queue: Mutex::default(),
        live: AtomicUsize::new(tasks),
        switches: AtomicUsize::new(0),
        moves: AtomicUsize::new(0),
        rounds,
    }));
    for _ in 0..tasks {
        let stack = hosted::map_stack(64 << 10).unwrap();
        let task: &'static Task = Box::leak(Box::new(Task {
            context: Context::new(),
            toy,
            sum: AtomicUsize::new(0),
        }));
        // SAFETY: fresh stack, fresh context.
        unsafe { task.context.set(new_context(stack.top, task_entry)) };
        toy.lock().push_back(task);
    }
    toy
}

fn current() -> &'static Task {
    // SAFETY: `next` leaves leaked tasks there.
    unsafe { &*curg().cast::<Task>() }
}

extern "C" fn task_entry() -> ! {
    preempt_enable();
    let task = current();
    let mut local = 0;
    for round in 0..task.toy.rounds {
        let before = cpu_id();
        preempt_disable();
        // SAFETY: on the task's stack, count 1; `again` queues it on g0.
        unsafe { mcall(&task.context, again, task as *const Task as usize) };
        preempt_enable();
        if cpu_id() != before {
            task.toy.moves.fetch_add(1, SeqCst);
        }
        assert!(core::ptr::eq(current(), task));
        local += round;
    }
    task.sum.store(local, SeqCst);
    preempt_disable();
    // SAFETY: as above; nobody resumes it.
    unsafe { mcall(&task.context, gone, task as *const Task as usize) };
    unreachable!()
}

unsafe extern "C" fn again(task: usize) -> *const Context {
    // SAFETY: `mcall` in `task_entry` passes a leaked task.
    let task: &'static Task = unsafe { &*(task as *const Task) };
    task.toy.switches.fetch_add(1, SeqCst);
    task.toy.lock().push_back(task);
    next(task.toy)
}

unsafe extern "C" fn gone(task: usize) -> *const Context {
    // SAFETY: as in `again`.
    let task: &'static Task = unsafe { &*(task as *const Task) };
    assert_eq!(task.sum.load(SeqCst), (0..task.toy.rounds).sum());
    task.toy.live.fetch_sub(1, SeqCst);
    next(task.toy)
}

unsafe extern "C" fn first(toy: usize) -> *const Context {
    // SAFETY: `run_toy` passes a leaked toy.
    next(unsafe { &*(toy as *const Toy) })
}

fn next(toy: &'static Toy) -> *const Context {
    assert_eq!(preempt_count(), 1);
    loop {
        let task = toy.lock().pop_front();
        if let Some(task) = task {
            // SAFETY: leaked, and about to run here.
            unsafe { set_curg(task as *const Task as *mut ()) };
            return &task.context;
        }
        if toy.live.load(SeqCst) == 0 {
            // SAFETY: on g0.
            unsafe { leave_g0() }
        }
        std::thread::yield_now();
    }
}

static TOY: AtomicUsize = AtomicUsize::new(0);
/// The tests that start CPUs share `TOY`.
static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());

fn other_cpu(id: usize) {
    assert_eq!((cpu_id(), num_cpus(), preempt_count()), (id, 2, 1));
    assert!(!irqs_enabled());
    // SAFETY: on the thread's stack.
    unsafe { start_g0(first, TOY.load(SeqCst)) };
}

#[test]
fn switches_over_two_threads_keep_every_register_and_stack() {
    hosted::show_panics();
    let _one = ONE_AT_A_TIME.lock();
    let toy = toy(10, 20_000);
    TOY.store(toy as *const Toy as usize, SeqCst);
    // SAFETY: on the thread's stack.
    assert_eq!(unsafe { start_cpus(2, other_cpu) }, 2);
    let begin = Instant::now();
    // SAFETY: as above.
    unsafe { start_g0(first, toy as *const Toy as usize) };
    hosted::join_cpus();
    assert_eq!((preempt_count(), num_cpus()), (0, 1));
    assert_eq!(toy.switches.load(SeqCst), 200_000);
    println!(
        "200000 switches in {:?}, {} on another thread than before",
        begin.elapsed(),
        toy.moves.load(SeqCst)
    );
    assert!(toy.moves.load(SeqCst) > 0);
}

#[test]
fn a_thread_can_be_an_m_many_times_and_several_at_once() {
    hosted::show_panics();
    let threads: Vec<_> = (0..3)
        .map(|_| {
            std::thread::spawn(|| {
                for _ in 0..20 {
                    let toy = toy(2, 50);
                    // SAFETY: on the thread's stack.
                    unsafe { start_g0(first, toy as *const Toy as usize) };
                    assert_eq!(toy.switches.load(SeqCst), 100);
                }
            })
        })
        .collect();
    for thread in threads {
        thread.join().unwrap();
    }
}

#[test]
fn no_wake_is_lost() {
    const ROUNDS: usize = 100_000;
    let turn: &'static AtomicUsize = Box::leak(Box::new(AtomicUsize::new(0)));
    let (send, receive) = std::sync::mpsc::channel();
    let (send_back, receive_back) = std::sync::mpsc::channel();
    // SAFETY of the protocol: each waits for its parity, sets the other's, wakes it.
    let play = move |parity: usize, other: CpuRef| {
        while turn.load(SeqCst) < ROUNDS {
            irq_disable();
            take_pending();
            if turn.load(SeqCst) % 2 == parity || turn.load(SeqCst) >= ROUNDS {
                irq_enable();
                turn.fetch_add(1, SeqCst);
                wake_cpu(other);
            } else {
                halt();
                assert!(irqs_enabled());
            }
        }
        wake_cpu(other);
    };
    let thread = std::thread::spawn(move || {
        send.send(cpu_ref()).unwrap();
        play(1, receive_back.recv().unwrap());
    });
    send_back.send(cpu_ref()).unwrap();
    play(0, receive.recv().unwrap());
    thread.join().unwrap();
}

#[test]
fn halt_ends_at_the_deadline_and_says_so() {
    for wait_ns in [0, 100_000, 5_000_000] {
        irq_disable();
        let begin = now_ns();
        arm_timer(begin + wait_ns);
        halt();
        let late = now_ns() - begin - wait_ns;
        assert_eq!(take_pending(), PENDING_TIMER);
        assert!(late < 1_000_000_000, "{late} ns late");
    }
    irq_disable();
    arm_timer(now_ns() + 1_000_000);
    disarm_timer();
    raise_pending(PENDING_RESCHED);
    halt();
    std::thread::sleep(Duration::from_millis(2));
    assert_eq!(take_pending(), PENDING_RESCHED);
}

#[test]
fn a_wake_from_another_thread_ends_halt() {
    let me = cpu_ref();
    let woken = AtomicBool::new(false);
    std::thread::scope(|s| {
        s.spawn(|| {
            std::thread::sleep(Duration::from_millis(20));
            woken.store(true, SeqCst);
            wake_cpu(me);
        });
        while !woken.load(SeqCst) {
            irq_disable();
            if pending() == 0 {
                halt();
            } else {
                irq_enable();
                take_pending();
            }
        }
    });
}

#[test]
fn on_g0_runs_elsewhere_and_comes_back() {
    extern "C" fn there(out: usize) {
        let here = 0u8;
        // SAFETY: points to a local of the caller that waits.
        unsafe { *(out as *mut usize) = &here as *const u8 as usize };
    }
    let mut at = 0usize;
    preempt_disable();
    // SAFETY: count 1; `at` outlives the call.
    unsafe { on_g0(there, &mut at as *mut usize as usize) };
    preempt_enable();
    let top = cpu::this().g0_top;
    assert!(at < top && at > top - 4096, "{at:#x} is not near {top:#x}");
}

/// Runs one of the tests below, which die, in a process of its own: (exit status, stderr).
fn child(test: &str) -> (Option<i32>, String) {
    let out = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", &format!("imp::tests::{test}"), "--nocapture"])
        .env("RINGO_TEST_CHILD", "1")
        .output()
        .unwrap();
    (
        out.status.code(),
        String::from_utf8_lossy(&out.stderr).into_owned(),
    )
}

extern "C" fn tell(fatal: &crate::upcalls::Fatal) -> ! {
    control_write(format!("{:?} cpu {} cr2 {:#x}\n", fatal.kind, fatal.cpu, fatal.cr2).as_bytes());
    exit(crate::ExitCode::Fatal)
}

/// In the child: runs `body` as a G. Never returns there.
fn in_g(body: extern "C" fn() -> !) {
    unsafe extern "C" fn enter(context: usize) -> *const Context {
        context as *const Context
    }
    let mut table = *crate::upcalls::upcalls();
    table.fatal = tell;
    let stack = hosted::map_stack(64 << 10).unwrap();
    let context = Context::new();
    // SAFETY: before any M; then a fresh stack and context, on the thread's own stack.
    unsafe {
        crate::upcalls::set_upcalls(table);
        context.set(new_context(stack.top, body));
        start_g0(enter, &context as *const Context as usize);
    }
}

fn is_child() -> bool {
    std::env::var_os("RINGO_TEST_CHILD").is_some()
}

#[allow(unconditional_recursion)]
fn recurse(n: usize) -> usize {
    core::hint::black_box(recurse(core::hint::black_box(n + 1)) + 1)
}

#[test]
fn overflow_of_a_g_is_told_from_other_faults() {
    extern "C" fn body() -> ! {
        recurse(0);
        exit(crate::ExitCode::Success)
    }
    if is_child() {
        in_g(body);
    }
    let (status, text) = child("overflow_of_a_g_is_told_from_other_faults");
    assert_eq!(status, Some(2), "{text}");
    assert!(text.contains("StackOverflow cpu 0"), "{text}");
}

#[test]
fn null_pointer_of_a_g_is_an_exception() {
    extern "C" fn body() -> ! {
        // SAFETY: none, that is the test; the child dies here.
        unsafe {
            core::ptr::with_exposed_provenance::<u8>(core::hint::black_box(8)).read_volatile()
        };
        exit(crate::ExitCode::Success)
    }
    if is_child() {
        in_g(body);
    }
    let (status, text) = child("null_pointer_of_a_g_is_an_exception");
    assert_eq!(status, Some(2), "{text}");
    assert!(text.contains("Exception cpu 0 cr2 0x8"), "{text}");
}

#[test]
fn stacks_have_dense_numbers_and_guards() {
    let a = hosted::map_stack(256 << 10).unwrap();
    assert_eq!(hosted::stack_slot_of(a.lo), Some(a.slot));
    assert_eq!(hosted::stack_slot_of(a.top - 1), Some(a.slot));
    assert_eq!(hosted::stack_slot_of(a.lo - 1), Some(a.slot));
    assert!(stacks::in_guard(a.lo - 1) && !stacks::in_guard(a.lo));
    assert_eq!(a.top - a.lo, (256 << 10) - 4096);
    assert_eq!(hosted::stack_slot_of(0x1000), None);
    for _ in 0..300 {
        let b = hosted::map_stack(256 << 10).unwrap();
        assert_eq!(hosted::stack_slot_of(b.lo), Some(b.slot));
    }
}

#[test]
fn more_stacks_than_a_process_may_have_mappings() {
    let mut slots: Vec<_> = (0..70_000)
        .map(|_| hosted::map_stack(16 << 10).unwrap().slot)
        .collect();
    slots.dedup();
    assert_eq!(slots.len(), 70_000);
    // And something is left for everybody else.
    std::thread::spawn(|| ()).join().unwrap();
}

#[test]
fn safe_point_is_called_by_the_drop_of_the_last_guard_only_with_a_g() {
    // On a plain thread there is no G: the bit stays, nothing is called, nothing loops.
    raise_pending(PENDING_RESCHED);
    preempt_disable();
    preempt_enable();
    assert_eq!(take_pending(), PENDING_RESCHED);
    assert_eq!(take_pending(), 0);
}
