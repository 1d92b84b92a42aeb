//! Waits for the network: descriptors, deadlines, who polls.

use tests::{Case, DEFAULT, NO_NET};

fn new(test: &str, smp: u32) -> Case {
    Case::new("netpoll", test).smp(smp)
}

pub fn cases() -> Vec<Case> {
    let mut all = Vec::new();
    for smp in [1, 2, 4] {
        for mode in [DEFAULT, NO_NET] {
            all.push(
                Case::several(
                    "netpoll",
                    "rounds",
                    &[
                        "netpoll_halts",
                        "netpoll_deadlines",
                        "netpoll_rests",
                        "netpoll_protocols",
                    ],
                )
                .smp(smp)
                .mode(mode),
            );
        }
        all.push(new("netpoll_hogs", smp).word("slice_us=5000"));
    }
    all.push(
        new("netpoll_hogs", 1)
            .named("virtual time")
            .machine(|m| m.seed = Some(1))
            .limit(400),
    );
    // On one CPU the wait would hold the only one, for ever.
    for (smp, mode) in [(2, DEFAULT), (2, NO_NET), (4, DEFAULT)] {
        all.push(
            new("netpoll_ways", smp)
                .mode(mode)
                .named("block")
                .word("netpoll=block"),
        );
    }
    all.push(new("netpoll_ways", 2).named("poll").word("netpoll=poll"));
    for test in ["netpoll_dead", "netpoll_dead_alone"] {
        all.push(
            new(test, 2)
                .exit(2)
                .says("all goroutines are asleep - deadlock!")
                .says("IO wait"),
        );
    }
    all
}
