//! Looks at machines that were never there.

use super::*;

const SECOND: Duration = Duration::from_secs(1);

fn terms() -> Terms {
    Terms {
        limit: 10 * SECOND,
        named_after: Duration::from_millis(100),
        preempts: true,
        slice: Duration::from_millis(10),
        steals: true,
        handoff: true,
        virtual_time: false,
        virtual_clock: false,
    }
}

/// CPU 0 runs G 1 on P 0, ticking; CPU 1 and P 1 are idle.
fn machine(at_s: u64) -> Snapshot {
    let tick_ns = at_s * 1_000_000_000;
    let busy = CpuView {
        p: Some(0),
        g: Some(1),
        armed_ns: Some(tick_ns + 10_000_000),
        served_ns: tick_ns,
        ..CpuView::default()
    };
    let idle = CpuView {
        parked: true,
        ..CpuView::default()
    };
    Snapshot {
        cpus: vec![busy, idle],
        ps: vec![
            PView {
                cpu: Some(0),
                schedtick: at_s as u32,
                ..PView::default()
            },
            PView {
                idle: true,
                ..PView::default()
            },
        ],
        idle_cpus: 2,
        ..Snapshot::default()
    }
}

/// The verdict after so many looks, a second of each CPU's time apart; the first that is not fine.
fn after(terms: Terms, looks: u64, mut at: impl FnMut(u64) -> Snapshot) -> Verdict {
    let mut dog = Watchdog::new(terms);
    for n in 0..looks {
        match dog.look(&at(n), &[SECOND, SECOND]) {
            Verdict::Fine | Verdict::Slow { .. } => {}
            hung => return hung,
        }
    }
    Verdict::Fine
}

fn hung(verdict: Verdict, text: &str) {
    match verdict {
        Verdict::Hung(line) if line.contains(text) => {}
        other => panic!("{other:?} instead of {text}"),
    }
}

#[test]
fn what_does_not_hang() {
    // A long computation.
    assert_eq!(after(terms(), 100, machine), Verdict::Fine);
    // Everybody idle, a sleeper due in an hour.
    let asleep = |_| {
        let mut m = machine(1);
        m.cpus[0] = CpuView {
            armed_ns: Some(3_600_000_000_000),
            parked: true,
            ..CpuView::default()
        };
        m.ps[0] = PView {
            idle: true,
            timer_ns: Some(3_600_000_000_000),
            ..PView::default()
        };
        m.idle_cpus = 3;
        m
    };
    assert_eq!(after(terms(), 100, asleep), Verdict::Fine);
    // A long call, whose P was taken; what is queued can run nowhere.
    let call = |_| {
        let mut m = asleep(0);
        m.cpus[0] = CpuView {
            g: Some(1),
            in_call: true,
            ..CpuView::default()
        };
        m.cpus.truncate(1);
        m.ps.truncate(1);
        (m.ps[0].idle, m.ps[0].stranded, m.idle_cpus) = (false, true, 0);
        (m.global, m.global_first) = (1, 0xf000);
        m
    };
    assert_eq!(after(terms(), 100, call), Verdict::Fine);
    // Gs come and go on all queues.
    let busy = |n| {
        let mut m = machine(n);
        m.global_first = 0x1000 + n;
        (m.ps[0].queue.first, m.ps[0].queue.head) = (0x2000, n as u32);
        m.ps[0].queue.runnext = 0x3000;
        m
    };
    assert_eq!(after(terms(), 100, busy), Verdict::Fine);
}

#[test]
fn a_loop_that_nothing_may_interrupt_hangs_nobody() {
    let stuck = |_| {
        let mut m = machine(1);
        m.cpus[0].timer_pending = true;
        m.ps[0].queue.first = 0x2000;
        m
    };
    let coop = |steals| Terms {
        preempts: false,
        steals,
        ..terms()
    };
    // Idle Ps do not take; or there is none.
    assert_eq!(after(coop(false), 100, stuck), Verdict::Fine);
    let busy = |_| {
        let mut m = stuck(0);
        m.ps[1].idle = false;
        m
    };
    assert_eq!(after(coop(true), 100, busy), Verdict::Fine);
    hung(
        after(coop(true), 100, stuck),
        "in the queue of P 0 was runnable for 10.0 s and did not run, beside an idle P",
    );
}

#[test]
fn cpus_that_serve_no_timer() {
    let at = |change: fn(&mut CpuView)| {
        move |_| {
            let mut m = machine(1);
            change(&mut m.cpus[0]);
            m
        }
    };
    hung(
        after(terms(), 20, at(|_| ())),
        "CPU 0 has served no timer for 11.0 s: its interrupts are off, in goroutine 1",
    );
    hung(
        after(
            terms(),
            20,
            at(|cpu| (cpu.timer_pending, cpu.count) = (true, 1)),
        ),
        "preemption is off there",
    );
    let mut dog = Watchdog::new(terms());
    let mut looks = (0..5).map(|_| {
        let credit = Duration::from_millis(60);
        dog.look(&machine(1), &[credit, credit])
    });
    assert_eq!(looks.next(), Some(Verdict::Fine));
    assert_eq!(looks.next(), Some(Verdict::Fine));
    // 120 ms less a slice; once.
    let time = Duration::from_millis(110);
    assert_eq!(looks.next(), Some(Verdict::Slow { cpu: 0, time }));
    assert_eq!(looks.next(), Some(Verdict::Fine));
}

#[test]
fn runnable_goroutines_that_nobody_runs() {
    let global = |n| {
        let mut m = machine(n);
        m.global_first = 0x1000;
        m
    };
    hung(
        after(terms(), 20, global),
        "of the global queue was runnable for 10.0 s",
    );
    let tray = |n| {
        let mut m = machine(n);
        m.cpus[1].tray_head = 0x1000;
        m
    };
    hung(after(terms(), 20, tray), "that is locked to CPU 1");
    let next = |n| {
        let mut m = machine(n);
        (m.ps[0].queue.runnext, m.ps[0].schedtick) = (0x1000, 5);
        m
    };
    hung(after(terms(), 20, next), "in runnext of P 0");
}

#[test]
fn timers_that_nobody_fires() {
    let forgotten = |_| {
        let mut m = machine(1);
        m.cpus[0] = CpuView {
            served_ns: 1_000_000_000,
            ..CpuView::default()
        };
        m.ps[0].cpu = None;
        (m.ps[0].idle, m.ps[0].timer_ns, m.idle_cpus) = (true, Some(3_000_000_000), 3);
        m
    };
    hung(
        after(terms(), 20, forgotten),
        "a timer of P 0 is overdue by 10.0 s",
    );
    // Nor does a CPU whose G is in a call, though the P still has its name.
    let in_call = |_| {
        let mut m = forgotten(0);
        (m.ps[0].idle, m.ps[0].cpu, m.ps[0].in_call) = (false, Some(0), true);
        m.cpus[0].in_call = true;
        m
    };
    hung(
        after(terms(), 20, in_call),
        "a timer of P 0 is overdue by 10.0 s",
    );
    let virtual_clock = Terms {
        virtual_clock: true,
        ..terms()
    };
    assert_eq!(after(virtual_clock, 100, forgotten), Verdict::Fine);
    // Of a P whose CPU serves no timer: that is what hangs, and what is named, even if its slice makes it known later.
    let unserved = |_| {
        let mut m = forgotten(0);
        m.cpus[1] = machine(1).cpus[0].clone();
        (m.cpus[1].p, m.cpus[1].served_ns) = (Some(0), 2_999_000_000);
        (m.ps[0].idle, m.ps[0].cpu) = (false, Some(1));
        m
    };
    hung(
        after(terms(), 20, unserved),
        "CPU 1 has served no timer for",
    );
    // The host let the machine run for 2 s only: it is not due.
    let mut dog = Watchdog::new(terms());
    for n in 0..100 {
        let credit = if n < 2 { SECOND } else { Duration::ZERO };
        assert_eq!(dog.look(&forgotten(0), &[credit, SECOND]), Verdict::Fine);
    }
}

#[test]
fn a_machine_that_does_not_run_does_not_hang() {
    let mut dog = Watchdog::new(terms());
    let mut stuck = machine(1);
    stuck.global_first = 0x1000;
    for _ in 0..100 {
        assert_eq!(dog.look(&stuck, &[Duration::ZERO, SECOND]), Verdict::Fine);
    }
}
