//! Processes on the model of the machine: programs are lists of its instructions.

use crate::call::Services;
use crate::elf::tests::file;
use crate::files::Module;
use crate::futex::Futexes;
use crate::limits::{self, Job};
use crate::machine::{self, PAGE, op::*};
use crate::object::{Child, Object};
use crate::process::Process;
use crate::reason::HowEnded;
use crate::space::{STACK_BYTES, STACK_TOP};
use crate::system::{Spawn, SpawnError, System};
use abi::{Call, Ended, Ending, Error};
use csp::time::{Duration, sleep};
use elf::abi::{PF_R, PF_W, PF_X, PT_LOAD};
use std::string::String;
use std::sync::{Arc, Mutex};
use std::vec::Vec;

type Op = [u64; 6];

/// Where code begins, where data.
const CODE: u64 = 0x40_1000;
const DATA: u64 = 0x50_0000;

/// Address of instruction `n`.
fn at(n: usize) -> u64 {
    CODE + n as u64 * BYTES
}

fn call(call: Call, args: &[u64]) -> Op {
    let mut op = [CALL, call as u64, 0, 0, 0, 0];
    op[2..2 + args.len()].copy_from_slice(args);
    op
}

fn exit(code: i32) -> Op {
    call(Call::Exit, &[code as u64])
}

fn store(address: u64, value: u64) -> Op {
    [STORE, address, value, 0, 0, 0]
}

fn unless(answer: i64, to: usize) -> Op {
    [JUMP_UNLESS, answer as u64, at(to), 0, 0, 0]
}

fn jump(to: usize) -> Op {
    [JUMP, at(to), 0, 0, 0, 0]
}

const FOR_EVER: Op = [SPIN, 0, 0, 0, 0, 0];

fn elf_of(code: &[Op]) -> &'static [u8] {
    let bytes: Vec<u8> = code
        .iter()
        .flatten()
        .flat_map(|w| w.to_le_bytes())
        .collect();
    let n = bytes.len() as u64;
    let headers = [
        (PT_LOAD, PF_R | PF_X, 64 + 2 * 56, CODE, n, n),
        (PT_LOAD, PF_R | PF_W, 0, DATA, 0, 4 * PAGE),
    ];
    file(CODE, &headers, &bytes).leak()
}

static SAID: Mutex<Vec<u8>> = Mutex::new(Vec::new());

/// A machine with these programs.
fn system(programs: &[(&str, &[Op])]) -> &'static System {
    let files = programs
        .iter()
        .map(|(name, code)| (format!("bin/{name}"), elf_of(code)));
    let module = Module::new(files.chain([("notes".into(), &b"no program"[..])]));
    let services = Services {
        console_write: |bytes, _| SAID.lock().unwrap().extend(bytes),
        disk_read: |_, _| Err(Error::Disk),
        frames: machine::SHARED,
        files: Arc::new(module),
        // Its own: a test has a scheduler of its own, and frames are used again.
        futexes: Box::leak(Box::new(Futexes::new())),
    };
    Box::leak(Box::new(System::new(services)))
}

fn spawn(system: &'static System, job: &Arc<Job>, name: &str) -> Result<Arc<Process>, SpawnError> {
    let spawn = Spawn {
        name,
        args: b"one\0two\0",
        handles: vec![Some(Object::Null), None, Some(Object::Null)],
    };
    Ok(system.prepare(job, spawn)?.start()?)
}

/// Runs one program; all is given back.
fn run(code: &[Op]) -> Ended {
    let code = code.to_vec();
    crate::testing::run(move || {
        let (system, job) = (system(&[("prog", &code)]), Job::new());
        let ended = spawn(system, &job, "prog").unwrap().wait();
        all_back(system, &job);
        ended
    })
}

#[track_caller]
fn all_back(system: &'static System, job: &Job) {
    assert_eq!(system.list().len(), 0);
    let used = (job.processes.used(), job.threads.used(), job.pages_used());
    assert_eq!(used, (0, 0, 0));
}

fn exited(code: i32) -> Ended {
    Ended {
        how: Ending::Exit as u32,
        code,
        ..Ended::default()
    }
}

#[test]
fn a_process_ends_by_exit_or_its_last_thread() {
    assert_eq!(run(&[exit(7)]), exited(7));
    assert_eq!(run(&[exit(-1)]), exited(-1));
    assert_eq!(run(&[call(Call::ThreadExit, &[])]), exited(0));
    // Exit ends a thread that computes, and one that waits.
    let thread = |entry| {
        call(
            Call::SpawnThread,
            &[at(entry), 0, STACK_TOP - 1000 * 16 - 8],
        )
    };
    let sleeps = call(Call::FutexWait, &[DATA, 0, abi::FOREVER]);
    let code = [
        thread(4),
        thread(5),
        call(Call::Yield, &[]),
        exit(3),
        FOR_EVER,
        sleeps,
    ];
    assert_eq!(run(&code), exited(3));
}

#[test]
fn threads_share_memory_and_get_their_argument() {
    let code = [
        call(Call::SpawnThread, &[at(5), 0x55, STACK_TOP - 8]),
        [STORE_ANSWER, DATA + 8, 0, 0, 0, 0],
        // 0 becomes 0x55: woken, or it is not 0 any more.
        call(Call::FutexWait, &[DATA, 0, abi::FOREVER]),
        call(Call::FutexWait, &[DATA, 0x55, 0]),
        jump(8),
        [STORE_ARG, DATA, 0, 0, 0, 0],
        call(Call::FutexWake, &[DATA, 10]),
        call(Call::ThreadExit, &[]),
        unless(Error::TimedOut as i64, 10),
        exit(9),
        exit(1),
    ];
    assert_eq!(run(&code), exited(9));
}

#[test]
fn quick_calls_are_answered() {
    let known = [Call::Null, Call::ProcessId, Call::NumCpu];
    for (quick, answer) in known.into_iter().zip([0, 1, 2]) {
        let code = [call(quick, &[]), unless(answer, 3), exit(1), exit(2)];
        assert_eq!(run(&code), exited(1));
    }
    let none = [CALL, 15, 0, 0, 0, 0];
    let no_such = Error::NoSuchCall as i64;
    assert_eq!(
        run(&[none, unless(no_such, 3), exit(1), exit(2)]),
        exited(1)
    );
}

#[test]
fn every_exception_ends_the_process_alone() {
    for vector in [0, 1, 3, 4, 6, 13, 16, 17, 19] {
        let ended = run(&[[RAISE, vector, 0, 0, 0, 0]]);
        let expected = Ended {
            how: Ending::Exception as u32,
            code: vector as i32,
            rip: at(0),
            address: 0,
        };
        assert_eq!(ended, expected);
    }
    for bad in [
        0,
        at(0),
        DATA - 8,
        DATA + 4 * PAGE,
        STACK_TOP,
        0xffff_8000_0000_0000,
    ] {
        let ended = run(&[store(DATA, 1), store(bad, 1)]);
        assert_eq!((ended.how, ended.code), (Ending::Exception as u32, 14));
        assert_eq!((ended.address, ended.rip), (bad, at(1)));
    }
    let said = String::from_utf8_lossy(&SAID.lock().unwrap()).into_owned();
    assert!(said.contains("process 1 (prog), thread "), "{said}");
    let line = "page fault: write to 0x0, where nothing is mapped, at 0x401030\n";
    assert!(said.contains(line), "{said}");
}

#[test]
fn the_stack_is_there_and_ends() {
    let last = STACK_TOP - STACK_BYTES;
    let code = [store(STACK_TOP - 8, 1), store(last, 1), exit(0)];
    assert_eq!(run(&code), exited(0));
    assert_eq!(run(&[store(last - 8, 1)]).address, last - 8);
}

#[test]
fn bad_calls_and_numbers_are_errors() {
    let fails = |op: Op, why: Error| {
        let code = [op, unless(why as i64, 3), exit(0), exit(1)];
        assert_eq!(run(&code), exited(0), "{op:?}")
    };
    for number in [15, 45, 63, 65, 1 << 32, u64::MAX] {
        fails([CALL, number, 0, 0, 0, 0], Error::NoSuchCall);
    }
    let thread = |entry, stack| call(Call::SpawnThread, &[entry, 0, stack]);
    fails(thread(at(0), STACK_TOP), Error::BadArgument);
    fails(thread(at(0), 8), Error::BadAddress);
    fails(thread(1 << 63, STACK_TOP - 8), Error::BadAddress);
    fails(call(Call::Map, &[PAGE, 2]), Error::BadArgument);
    fails(call(Call::Map, &[1, 0]), Error::BadArgument);
    fails(call(Call::Unmap, &[DATA, PAGE]), Error::BadAddress);
    fails(call(Call::ShmMap, &[0, 0]), Error::BadHandle);
    fails(call(Call::Wait, &[0, DATA]), Error::BadHandle);
    fails(call(Call::Kill, &[77]), Error::BadHandle);
    fails(call(Call::SpawnProcess, &[8]), Error::BadAddress);
    let half = DATA + 4 * PAGE - 8;
    fails(call(Call::SpawnProcess, &[half]), Error::BadAddress);
    fails(call(Call::Write, &[1, DATA, 1]), Error::BadHandle); // handle 1 was left out
}

#[test]
fn programs_that_cannot_begin() {
    crate::testing::run(|| {
        let (system, job) = (system(&[("a", &[exit(0)])]), Job::new());
        assert_eq!(system.programs(), ["a"]);
        let why = |name| spawn(system, &job, name).map(|p| p.id()).unwrap_err();
        assert_eq!(why("b").to_string(), "there is no program b");
        let no_elf = "notes cannot be run: it is no ELF file";
        assert_eq!(why("notes").to_string(), no_elf);
        assert_eq!(Error::from(why("notes")), Error::NotExecutable);
        let long = Spawn {
            name: "a",
            args: &[0; limits::ARGS_BYTES as usize + 1],
            handles: Vec::new(),
        };
        assert!(system.prepare(&job, long).is_err());
        all_back(system, &job);
    })
}

/// Stores of a `Spawn` record for the program whose name is these 8 bytes.
fn record(name: &[u8; 8], handles: u64) -> Vec<Op> {
    let words = [DATA + 0x100, 8, 0, 0, DATA + 0x200, handles];
    let mut ops = vec![store(DATA + 0x100, u64::from_le_bytes(*name))];
    ops.extend((0..).zip(words).map(|(i, word)| store(DATA + 8 * i, word)));
    ops
}

#[test]
fn a_process_starts_another_and_sees_how_it_ends() {
    crate::testing::run(|| {
        let mut parent = record(b"a_child!", 1);
        let n = parent.len();
        parent.extend([
            store(DATA + 0x200, u64::from(abi::NO_HANDLE)),
            call(Call::SpawnProcess, &[DATA]),
            unless(1, n + 8), // the lowest free handle
            call(Call::Wait, &[1, DATA + 0x300]),
            unless(0, n + 8),
            // The child's exit code.
            call(Call::FutexWait, &[DATA + 0x304, 42, 0]),
            unless(Error::TimedOut as i64, n + 8),
            exit(0),
            exit(1),
        ]);
        let programs = [("parent", &parent[..]), ("a_child!", &[exit(42)])];
        let (system, job) = (system(&programs), Job::new());
        assert_eq!(spawn(system, &job, "parent").unwrap().wait(), exited(0));
        all_back(system, &job);
    })
}

#[test]
fn an_orphan_goes_on_and_a_job_can_be_ended() {
    crate::testing::run(|| {
        let mut parent = record(b"a_child!", 0);
        parent.extend([call(Call::SpawnProcess, &[DATA]), exit(0)]);
        let programs = [("parent", &parent[..]), ("a_child!", &[FOR_EVER])];
        let (system, job, other) = (system(&programs), Job::new(), Job::new());
        let alone = spawn(system, &other, "a_child!").unwrap();
        spawn(system, &job, "parent").unwrap().wait();
        assert_eq!((job.processes.used(), system.list().len()), (1, 2));
        system.kill_job(&job);
        while job.processes.used() != 0 || system.list().len() != 1 {
            sched::yield_now()
        }
        assert!(spawn(system, &job, "parent").is_err());
        assert_eq!(alone.ended(), None);
        alone.kill();
        assert_eq!(HowEnded(alone.wait()).to_string(), "killed");
        alone.kill(); // it stays as it is
        all_back(system, &job);
        all_back(system, &other);
    })
}

#[test]
fn a_fork_bomb_is_held_and_ends() {
    crate::testing::run(|| {
        let mut bomb = record(b"the_bomb", 0);
        let n = bomb.len();
        bomb.extend([
            call(Call::SpawnProcess, &[DATA]),
            unless(Error::Limit as i64, n),
            call(Call::Sleep, &[20_000_000]),
            exit(0),
        ]);
        let programs = [("the_bomb", &bomb[..]), ("other", &[exit(5)])];
        let (system, job) = (system(&programs), Job::new());
        spawn(system, &job, "the_bomb").unwrap();
        while job.processes.used() < limits::PROCESSES {
            sched::yield_now()
        }
        // Others are not hurt.
        let other = spawn(system, &Job::new(), "other").unwrap();
        assert_eq!(other.wait(), exited(5));
        system.kill_job(&job);
        while !system.list().is_empty() {
            sleep(Duration::from_millis(1))
        }
        all_back(system, &job);
    })
}

#[test]
fn whatever_its_threads_do_a_kill_ends_a_process() {
    let ways = [
        FOR_EVER,
        call(Call::Sleep, &[abi::FOREVER]),
        call(Call::FutexWait, &[DATA, 0, abi::FOREVER]),
        call(Call::Sleep, &[3_600_000_000_000]),
    ];
    for way in ways {
        crate::testing::run(move || {
            let thread = call(Call::SpawnThread, &[at(2), 0, STACK_TOP - 8]);
            let code = [thread, jump(0), way, jump(2)];
            let (system, job) = (system(&[("many", &code)]), Job::new());
            let many = spawn(system, &job, "many").unwrap();
            // The first goes on asking for more.
            while job.threads.used() < 100 {
                sched::yield_now()
            }
            while system.list()[0].threads.len() < 2 {
                sched::yield_now()
            }
            let info = &system.list()[0];
            let said = (info.id, info.name.as_str(), info.handles);
            assert_eq!(said, (many.id(), "many", 2));
            system.process(many.id()).unwrap().kill();
            assert_eq!(many.wait().how, Ending::Killed as u32);
            all_back(system, &job);
        })
    }
}

#[test]
fn threads_of_a_process_have_a_limit() {
    let thread = call(Call::SpawnThread, &[at(4), 0, STACK_TOP - 8]);
    let code = [
        thread,
        unless(Error::Limit as i64, 0),
        exit(1),
        exit(2),
        call(Call::Sleep, &[abi::FOREVER]),
    ];
    assert_eq!(run(&code), exited(1));
}

#[test]
fn threads_begin_while_their_process_is_killed() {
    crate::testing::run(|| {
        let thread = call(Call::SpawnThread, &[at(2), 0, STACK_TOP - 8]);
        let code = [thread, jump(0), call(Call::ThreadExit, &[])];
        let system = system(&[("spawner", &code)]);
        for i in 0..200 {
            let job = Job::new();
            let p = spawn(system, &job, "spawner").unwrap();
            for _ in 0..i % 20 {
                sched::yield_now()
            }
            p.kill();
            assert_eq!(p.wait().how, Ending::Killed as u32);
            all_back(system, &job);
        }
    })
}

/// Any numbers: the kernel goes on, and all is given back.
#[test]
fn a_hundred_thousand_random_calls() {
    crate::testing::run(|| {
        let mut rng = base::Rng::new(11);
        for round in 0..200 {
            let mut code: Vec<Op> = (0..500).map(|_| random_call(&mut rng)).collect();
            code.push(exit(0));
            let name = format!("random{round}");
            let programs = [(name.as_str(), &code[..]), ("a_child!", &[exit(0)])];
            let (system, job) = (system(&programs), Job::new());
            let p = spawn(system, &job, &name).unwrap();
            let killer = p.clone();
            csp::go(move || {
                sleep(Duration::from_millis(20)); // some wait for ever
                killer.kill();
            });
            p.wait();
            system.kill_job(&job);
            while !system.list().is_empty() {
                sleep(Duration::from_micros(100))
            }
            all_back(system, &job);
        }
    })
}

fn random_call(rng: &mut base::Rng) -> Op {
    let good = [
        0,
        1,
        2,
        3,
        8,
        PAGE,
        3 * PAGE,
        DATA,
        DATA + 8,
        DATA + 4 * PAGE - 4,
        at(0),
        1 << 32,
        STACK_TOP - 8,
    ];
    let odd = [
        u64::MAX,
        1 << 63,
        0x7fff_ffff_0000,
        (1 << 32) + PAGE,
        (1 << 32) + 1,
        1 << 47,
        u64::MAX - PAGE + 1,
    ];
    // These end it, or stop the test's world.
    let ends = |c: &Call| matches!(c, Call::Exit | Call::ThreadExit | Call::Gomaxprocs);
    let calls: Vec<Call> = Call::ALL.iter().copied().filter(|c| !ends(c)).collect();
    let pick = |rng: &mut base::Rng, from: &[u64]| from[rng.below(from.len() as u32) as usize];
    let mut op = [CALL, 0, 0, 0, 0, 0];
    op[1] = match rng.below(20) {
        0 => u64::from(rng.below(200)),
        _ => calls[rng.below(calls.len() as u32) as usize] as u64,
    };
    if ends(&Call::from_number(op[1]).unwrap_or(Call::Null)) {
        op[1] = 99
    }
    for arg in &mut op[2..] {
        *arg = match rng.below(8) {
            0..5 => pick(rng, &good),
            5 | 6 => pick(rng, &odd),
            _ => rng.next_u64(),
        }
    }
    op
}
