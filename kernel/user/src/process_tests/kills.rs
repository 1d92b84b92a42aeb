//! Processes that are ended, and their threads.

use super::*;

#[test]
fn whatever_its_threads_do_a_kill_ends_a_process() {
    let ways = [
        FOR_EVER,
        call(Call::Sleep, &[abi::FOREVER]),
        call(Call::FutexWait, &[DATA, 0, 3_600_000_000_000]),
        call(Call::Sleep, &[3_600_000_000_000]),
    ];
    for way in ways {
        crate::testing::run(move || {
            let thread = call(Call::SpawnThread, &[at(2), 0, STACK_TOP - 8]);
            let code = [thread, jump(0), way, jump(2)];
            let (system, job) = (system(&[("many", &code)]), Job::new());
            let many = spawn(system, &job, "many").unwrap();
            // The first goes on asking for more.
            while job.threads() < 100 {
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
