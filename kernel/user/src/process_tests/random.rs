//! Programs that make any calls.

use super::*;

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
