//! Sockets on a machine without a card: the loopback interface alone.

use tests::{Case, DEFAULT, NO_NET};

/// Several in a boot: what one leaves behind is the next one's.
const SHORT: &[&str] = &[
    "sockets_echo",
    "sockets_close",
    "sockets_datagrams",
    "sockets_refused",
    "sockets_again",
    "sockets_many",
];
const LONG: &[&str] = &["sockets_deadlines", "sockets_stream"];

pub fn cases() -> Vec<Case> {
    let mut all = Vec::new();
    for smp in [1, 2, 4] {
        let mode = if smp == 2 { NO_NET } else { DEFAULT };
        for (name, tests) in [("short", SHORT), ("long", LONG)] {
            let case = Case::new("sockets", &tests.join(","));
            all.push(case.named(name).mode(mode).smp(smp))
        }
    }
    // With `netpoll=block` each wait keeps its M, of which there are as many as CPUs.
    for (word, connections) in [("netpoll=block", 1), ("netpoll=poll", 20)] {
        all.push(
            Case::new("sockets", "sockets_echo,sockets_stream")
                .named(word)
                .word(word)
                .arg("connections", connections)
                .arg("kib", 256)
                .smp(4),
        );
    }
    all
}
