//! Processes on the model of the machine: programs are lists of its instructions.

mod jobs;
mod kills;
mod random;

use crate::call::Services;
use crate::elf::tests::file;
use crate::files::Module;
use crate::futex::Futexes;
use crate::limits::{self, Job};
use crate::machine::{self, PAGE, op::*};
use crate::object::{Child, Object};
use crate::process::Process;
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
        // Its own: a test has a scheduler of its own.
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
    let used = (job.processes.used(), job.threads(), job.used_bytes());
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
fn who_nobody_can_wake_ends() {
    let deadlock = Ended {
        how: Ending::Deadlock as u32,
        ..Ended::default()
    };
    let waits = |address| call(Call::FutexWait, &[address, 0, abi::FOREVER]);
    let thread = |entry| call(Call::SpawnThread, &[at(entry), 0, STACK_TOP - 8]);
    let ends = call(Call::ThreadExit, &[]);
    // One alone; two, each on a word of its own; and one that the other could have woken, and has not.
    assert_eq!(run(&[waits(DATA), exit(1)]), deadlock);
    assert_eq!(run(&[thread(2), waits(DATA), waits(DATA + 4)]), deadlock);
    assert_eq!(
        run(&[thread(2), waits(DATA), call(Call::Yield, &[]), ends]),
        deadlock
    );
    // Not while one sleeps for a time, on a word or without one, and goes on.
    for sleeps in [
        call(Call::FutexWait, &[DATA + 4, 0, 3_000_000]),
        call(Call::Sleep, &[3_000_000]),
    ] {
        let code = [
            thread(3),
            waits(DATA),
            exit(5),
            sleeps,
            call(Call::FutexWake, &[DATA, 1]),
            ends,
        ];
        assert_eq!(run(&code), exited(5));
    }
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
    // A page that is there, and the same fault whenever it is tried again.
    let ended = run(&[store(DATA, 1), [RAISE, 14, 1, DATA, 0, 0]]);
    assert_eq!((ended.how, ended.code), (Ending::Exception as u32, 14));
    assert_eq!((ended.address, ended.rip), (DATA, at(1)));
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
