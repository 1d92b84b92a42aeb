//! The memory of ring-3 programs: bad pointers, isolation, pages that come and go.

use tests::{Case, Expect, injection, sized};

/// All in one boot for each number of CPUs. Who waits for CPUs to forget a page waits for those that the host took off.
fn all((smp, race, storm): (u32, u64, u64)) -> Case {
    let tests = [
        "ring3_memory_pointers".to_string(),
        sized("ring3_memory_race", "rounds", race),
        "ring3_memory_isolation".to_string(),
        sized("ring3_memory_storm", "rounds", storm),
    ];
    Case::several("ring3_memory", "bad pointers, isolation, storms", &tests).smp(smp)
}

pub fn cases() -> Vec<Case> {
    let mut cases: Vec<Case> = [(1, 600, 1000), (2, 200, 300), (4, 80, 100)]
        .map(all)
        .into();
    for smp in [1, 2, 4] {
        // Small, so that its frames go round quickly.
        let small = Case::new("ring3_memory", "ring3_memory_reused").smp(smp);
        cases.push(small.machine(|machine| machine.mem_bytes = 96 << 20));
    }
    // A shoot-down that does nothing: pages are reached that are gone.
    let planted = Case::new("ring3_memory", "ring3_memory_storm").named("nobody forgets");
    cases.push(
        planted
            .kernel(injection)
            .arg("bug", 30)
            .arg("rounds", 5000)
            .judge(|outcome| {
                let shows = ["a new page is not zero", "a page was reached that is gone"];
                let shown = shows.iter().any(|text| outcome.stderr.contains(text));
                shown
                    .then_some(())
                    .ok_or_else(|| "the program has seen nothing of it".into())
            })
            .expect(Expect::Failure),
    );
    cases
}
