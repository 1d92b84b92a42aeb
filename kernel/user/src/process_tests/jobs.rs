//! Processes that start others.

use super::*;
use crate::reason::HowEnded;

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

/// What would wait for a process that never began would wait for ever.
#[test]
fn a_process_that_cannot_begin_has_ended() {
    crate::testing::run(|| {
        let (system, job) = (system(&[("a", &[exit(0)])]), Job::new());
        let prepare = || {
            let spawn = Spawn {
                name: "a",
                args: b"",
                handles: vec![Some(Object::Null)],
            };
            let prepared = system.prepare(&job, spawn).unwrap();
            (prepared.process.clone(), prepared)
        };
        let threads = (0..).take_while(|_| job.take_thread()).count();
        let (process, prepared) = prepare();
        assert_eq!(prepared.start().err(), Some(Error::Limit));
        assert_eq!(process.ended().map(|e| e.how), Some(Ending::Killed as u32));
        (0..threads).for_each(|_| job.give_thread());
        all_back(system, &job);
        // Its job is over, just before.
        let (process, prepared) = prepare();
        system.kill_job(&job);
        assert_eq!(prepared.start().err(), Some(Error::Killed));
        assert_eq!(process.ended().map(|e| e.how), Some(Ending::Killed as u32));
        all_back(system, &job);
    })
}
