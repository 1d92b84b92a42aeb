//! For each of the closing rules, a machine's end that breaks it.

use super::*;
use crate::check::tests::List;
use crate::check::{Rules, Violation};
use crate::merge::Merged;
use trace::Kind;

const MS: u64 = 1_000_000;

/// Events, each the next one of its G.
fn checker(events: &[(u64, u8, Kind, u32, u32)]) -> Checker {
    let mut checker = Checker::new(
        2,
        Rules {
            virtual_time: true,
            ticks: true,
            idle_limit_ns: None,
        },
    );
    let list = events.iter().fold(List::default(), |list, event| {
        let &(ms, cpu, kind, goid, arg) = event;
        list.at(ms * MS, cpu, kind, goid, arg)
    });
    for event in list.events {
        checker.take(Merged::Event(event))
    }
    assert_eq!(checker.violations().0, []);
    checker
}

/// G 1 runs on CPU 0, which gives a sign of life at the end; G 2 waits, and is readied if it is `ready`. CPU 1 is halted.
fn life(ready: bool) -> Checker {
    let mut events = vec![
        (1, 0, Kind::GoCreate, 1, 0),
        (2, 0, Kind::GoStart, 1, 0),
        (3, 0, Kind::GoCreate, 2, 1),
        (4, 1, Kind::GoStart, 2, 1),
        (5, 1, Kind::GoPark, 2, 3),
        (6, 1, Kind::Idle, 0, 0),
    ];
    if ready {
        events.push((7, 0, Kind::GoReady, 2, 1))
    }
    events.push((200, 0, Kind::Tick, 0, 0));
    checker(&events)
}

/// What [`life`] leaves behind.
fn end(ready: bool) -> End {
    let cpu = |created, g: Option<u64>| CpuView {
        p: g.map(|_| 0),
        g,
        created,
        parked: g.is_none(),
        ..CpuView::default()
    };
    let g = |id, state, seq| GView {
        at: id * 0x1000,
        id,
        state,
        seq,
    };
    let (state, seq) = if ready {
        (GState::Runnable, 4)
    } else {
        (GState::Waiting, 3)
    };
    End {
        cpus: vec![cpu(2, Some(1)), cpu(0, None)],
        gs: vec![g(1, GState::Running, 2), g(2, state, seq)],
        queued: ready.then_some(0x2000).into_iter().collect(),
    }
}

fn found(mut checker: Checker, end: &End) -> Vec<Violation> {
    compare(&mut checker, end);
    checker.violations().0.to_vec()
}

/// `change` makes the end one that breaks `rule`.
fn breaks(ready: bool, change: impl Fn(&mut End), rule: Rule, text: &str) {
    assert_eq!(found(life(ready), &end(ready)), []);
    let mut end = end(ready);
    change(&mut end);
    let found = found(life(ready), &end);
    let wanted = |v: &Violation| v.rule == rule && v.text.contains(text);
    assert!(found.iter().any(wanted), "{rule:?} {text}: {found:?}");
    assert_eq!(found.len(), 1, "{found:?}");
}

#[test]
fn counts_that_do_not_add_up() {
    let text = "the machine counts 5 goroutines created, its events 2";
    breaks(false, |e| e.cpus[1].created = 3, Rule::Count, text);
    let text = "the machine counts 3 goroutines ended, its events 0";
    breaks(false, |e| e.cpus[0].ended = 3, Rule::Count, text);
}

#[test]
fn goroutines_that_are_gone_or_too_many() {
    let many = |e: &mut End| {
        let more = (7..10).map(|id| GView { id, ..e.gs[1] });
        e.gs.extend(more.collect::<Vec<_>>())
    };
    breaks(
        false,
        many,
        Rule::Count,
        "2 created, 0 ended, but 5 are there",
    );
}

#[test]
fn a_goroutine_whose_state_is_another() {
    let text = "G 2 is waiting by its events and runnable in memory";
    breaks(
        false,
        |e| e.gs[1].state = GState::Runnable,
        Rule::Lost,
        text,
    );
}

#[test]
fn a_runnable_goroutine_that_no_queue_has() {
    let text = "G 2 is runnable for 193000 µs and on no queue";
    breaks(true, |e| e.queued.clear(), Rule::Lost, text);
}

#[test]
fn excuses_at_the_end() {
    // CPU 1 is about to run it.
    let mut in_hand = end(true);
    in_hand.queued.clear();
    in_hand.cpus[1].p = Some(1);
    assert_eq!(found(life(true), &in_hand), []);
    // An event more has been recorded than was read.
    let mut newer = end(false);
    newer.gs[1] = GView {
        state: GState::Runnable,
        seq: 4,
        ..newer.gs[1]
    };
    assert_eq!(found(life(false), &newer), []);
    // One CPU counts a G that it is just making.
    let mut making = end(false);
    making.cpus[0].created = 3;
    assert_eq!(found(life(false), &making), []);
}
