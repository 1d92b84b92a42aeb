//! Model checking of the scheduler from the kernel's own source, and of the models themselves: each planted bug must be found.
//!
//! | what | tool | explores |
//! |---|---|---|
//! | `loom` | loom | every interleaving of two or three Ms over one protocol, with the orderings that are written down |
//! | `whole` | shuttle | thousands of random programs on the whole scheduler, a random interleaving each |
//!
//! `cargo test -p tests --test models -- --nocapture` shows the tables. A time-out is no finding.

mod harness;
mod loom;
mod planted;
mod whole;

use harness::root;
use std::path::Path;
use std::sync::Mutex;

/// The tests would share the processors.
static TURN: Mutex<()> = Mutex::new(());

/// A place where a bug can be planted, and that no line above names, would never be tried.
#[test]
fn every_planted_bug_is_tried() {
    let mut names = vec![];
    for dir in [
        "kernel/sched/src",
        "kernel/base/src",
        "kernel/sched/tests/loom",
        "kernel/csp/src",
        "kernel/csp/tests/loom",
        "kernel/net/src",
        "kernel/net/tests/loom",
        "kernel/user/src",
        "kernel/user/tests/loom",
        "userspace/rt/src",
    ] {
        sources(&root().join(dir), &mut |text| {
            for call in ["mutant(\"", "order(\""] {
                names.extend(
                    text.split(call)
                        .skip(1)
                        .filter_map(|t| t.split('"').next())
                        .map(str::to_string),
                )
            }
        })
    }
    names.sort();
    names.dedup();
    let found = planted::MUTANTS.iter().chain(whole::MUTANTS).map(|m| m.0);
    let reviewed = planted::REVIEWED.iter().map(|r| r.0);
    let mut listed: Vec<String> = found.chain(reviewed).map(str::to_string).collect();
    listed.sort();
    listed.dedup();
    assert_eq!(
        names, listed,
        "left: named in the sources; right: in the tables here"
    );
}

fn sources(dir: &Path, f: &mut dyn FnMut(&str)) {
    for entry in std::fs::read_dir(dir).unwrap_or_else(|e| panic!("{}: {e}", dir.display())) {
        let path = entry.expect("a directory entry").path();
        if path.is_dir() {
            sources(&path, f)
        } else if path.extension().is_some_and(|e| e == "rs") {
            f(
                &std::fs::read_to_string(&path)
                    .unwrap_or_else(|e| panic!("{}: {e}", path.display())),
            )
        }
    }
}
