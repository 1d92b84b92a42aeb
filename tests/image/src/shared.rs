//! Tests that are `csp`'s own as well: there they run on threads of the host, here on the machine. They panic where others answer.

#[path = "../../../kernel/csp/tests/both/bubbles.rs"]
mod bubbles;
#[path = "../../../kernel/csp/tests/both/contexts.rs"]
mod contexts;
#[path = "../../../kernel/csp/tests/both/timers.rs"]
mod timers;

/// All of them.
pub fn tests() -> impl Iterator<Item = (&'static str, fn())> {
    let all = [contexts::TESTS, bubbles::TESTS, timers::TESTS];
    all.into_iter().flatten().copied()
}
