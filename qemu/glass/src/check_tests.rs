//! For each rule, a list of events that breaks it.

use super::*;

const RULES: Rules = Rules {
    virtual_time: true,
    ticks: true,
    idle_limit_ns: Some(1_000_000),
};

/// A list of events under construction: numbers of a G's events count themselves.
#[derive(Default)]
pub(crate) struct List {
    seqs: HashMap<u32, u16>,
    pub(crate) events: Vec<Event>,
}

impl List {
    pub(crate) fn at(mut self, ns: u64, cpu: u8, kind: Kind, goid: u32, arg: u32) -> List {
        let seq = self.seqs.entry(goid).or_default();
        *seq = if goid == 0 { 0 } else { next_seq(*seq) };
        self.events.push(Event {
            ns,
            kind,
            cpu,
            goid,
            arg,
            seq: *seq,
        });
        self
    }

    fn check(&self) -> Vec<Violation> {
        let mut checker = Checker::new(2, RULES);
        for event in &self.events {
            checker.take(Merged::Event(*event));
        }
        checker.finish();
        checker.violations().0.to_vec()
    }

    fn breaks(&self, rule: Rule, text: &str) {
        let found = self.check();
        let wanted = |v: &Violation| v.rule == rule && v.text.contains(text);
        assert!(found.iter().any(wanted), "{rule:?} {text}: {found:?}");
    }

    fn is_right(&self) {
        assert_eq!(self.check(), []);
    }
}

/// G 1 and G 2 were made on CPU 0, G 1 runs there on P 0.
fn two() -> List {
    List::default()
        .at(10, 0, Kind::GoCreate, 1, 0)
        .at(20, 0, Kind::GoStart, 1, 0)
        .at(30, 0, Kind::GoCreate, 2, 1)
}

#[test]
fn a_life_of_all_kinds_is_right() {
    let life = two()
        .at(40, 1, Kind::GoStart, 2, 1)
        .at(50, 1, Kind::GoLock, 2, 0)
        .at(60, 0, Kind::GoPark, 1, 3)
        .at(70, 1, Kind::GoReady, 1, 2)
        .at(80, 0, Kind::GoStart, 1, 0)
        .at(90, 0, Kind::GoSyscall, 1, 0)
        .at(95, 1, Kind::GoUnlock, 2, 0)
        .at(100, 1, Kind::GoYield, 2, 0)
        .at(110, 1, Kind::GoStart, 2, 0)
        .at(120, 0, Kind::GoSyscallExit, 1, 3)
        .at(130, 0, Kind::GoSyscall, 1, 0)
        .at(140, 0, Kind::GoSyscallExit, 1, 0)
        .at(150, 1, Kind::GoPreempt, 2, 0)
        .at(160, 1, Kind::GoStart, 1, 0)
        .at(170, 1, Kind::GoMove, 1, 1)
        .at(180, 1, Kind::GoEnd, 1, 0)
        .at(190, 0, Kind::GoStart, 2, 0);
    life.is_right();
}

#[test]
fn transitions_that_there_are_not() {
    let waits = |n| two().at(n, 0, Kind::GoPark, 1, 0);
    let cases = [
        (two().at(40, 1, Kind::GoStart, 1, 1), "G 1 does GoStart"),
        (waits(40).at(50, 1, Kind::GoStart, 1, 1), "but is waiting"),
        (two().at(40, 1, Kind::GoReady, 1, 0), "G 1 does GoReady"),
        (two().at(40, 1, Kind::GoPark, 2, 0), "but is runnable"),
        (
            two().at(40, 1, Kind::GoYield, 1, 0),
            "on CPU 1, but is running",
        ),
        (two().at(40, 0, Kind::GoSyscallExit, 1, 1), "GoSyscallExit"),
        (waits(40).at(50, 0, Kind::GoPark, 1, 0), "GoPark"),
        (waits(40).at(50, 0, Kind::GoEnd, 1, 0), "GoEnd"),
        (two().at(40, 0, Kind::GoStart, 3, 0), "before it exists"),
    ];
    for (list, text) in cases {
        list.breaks(Rule::Transition, text);
    }
}

#[test]
fn one_g_on_one_p_at_a_time() {
    two()
        .at(40, 0, Kind::GoStart, 2, 0)
        .breaks(Rule::OneOnOne, "CPU 0 begins to run G 2 while it runs G 1");
    two()
        .at(40, 1, Kind::GoStart, 2, 0)
        .breaks(Rule::OneOnOne, "P 0 is under G 2 on CPU 1");
    // The P of a G in a call may be elsewhere, but not when the G is back.
    let call = two()
        .at(40, 0, Kind::GoSyscall, 1, 0)
        .at(50, 1, Kind::GoStart, 2, 0);
    call.is_right();
    call.at(60, 0, Kind::GoSyscallExit, 1, 1)
        .breaks(Rule::OneOnOne, "P 0");
}

#[test]
fn missing_events_are_found() {
    let mut list = two()
        .at(40, 0, Kind::GoPark, 1, 0)
        .at(50, 0, Kind::GoReady, 1, 0)
        .at(60, 0, Kind::GoStart, 1, 0);
    list.events.remove(3);
    list.breaks(Rule::Lost, "G 1: its event 3 is missing, 4 is there");
    let mut many = two();
    for i in 0..10 {
        many =
            many.at(100 + i * 10, 0, Kind::GoYield, 1, 0)
                .at(105 + i * 10, 0, Kind::GoStart, 1, 0);
    }
    many.events.remove(3);
    many.breaks(Rule::Lost, "G 1: its event 3 is missing");
}

#[test]
fn equal_and_skewed_stamps_do_not_matter() {
    let list = two()
        .at(40, 0, Kind::GoPark, 1, 0)
        .at(40, 1, Kind::GoReady, 1, 0)
        .at(41, 1, Kind::GoStart, 1, 1)
        .at(50, 1, Kind::GoPark, 1, 0);
    list.is_right();
    for swap in [(3, 4), (4, 5), (3, 5)] {
        let mut skewed = List {
            seqs: HashMap::new(),
            events: list.events.clone(),
        };
        skewed.events.swap(swap.0, swap.1);
        skewed.is_right();
    }
}

#[test]
fn numbers_begin_again() {
    let mut list = two().at(40, 0, Kind::GoPark, 1, 0);
    for i in 0..3 * u64::from(SEQS) {
        list = list
            .at(100 + i * 10, 1, Kind::GoReady, 1, 0)
            .at(104 + i * 10, 1, Kind::GoStart, 1, 1)
            .at(108 + i * 10, 1, Kind::GoPark, 1, 0);
    }
    list.is_right();
}

#[test]
fn after_a_loss_nothing_is_guessed() {
    let mut checker = Checker::new(2, RULES);
    let list = two().at(40, 0, Kind::GoPark, 1, 0);
    let later = [
        (Kind::GoStart, 1, 17, 200),
        (Kind::GoPark, 1, 18, 210),
        (Kind::GoReady, 2, 9, 220),
    ];
    list.events
        .iter()
        .for_each(|e| checker.take(Merged::Event(*e)));
    let until_ns = 150;
    checker.take(Merged::Lost {
        cpu: 1,
        count: 30,
        until_ns,
    });
    let event = |kind, goid, seq, ns| Event {
        ns,
        kind,
        cpu: 1,
        goid,
        arg: 0,
        seq,
    };
    // In the gap: something is missing before it.
    checker.take(Merged::Event(event(Kind::GoYield, 1, 9, 100)));
    later
        .iter()
        .for_each(|&(kind, goid, seq, ns)| checker.take(Merged::Event(event(kind, goid, seq, ns))));
    assert_eq!(checker.violations().0, []);
    // What is known again is checked again.
    checker.take(Merged::Event(event(Kind::GoStart, 1, 19, 230)));
    assert_eq!(checker.violations().0[0].rule, Rule::Transition);
    assert_eq!(checker.lost, 30);
}

/// G 1 runs on CPU 0; P 1 and CPU 1 are idle.
fn idle_p() -> List {
    List::default()
        .at(1, 0, Kind::ProcIdle, 0, 1)
        .at(10, 0, Kind::GoCreate, 1, 0)
        .at(20, 0, Kind::GoStart, 1, 0)
        .at(30, 1, Kind::Idle, 0, 0)
}

#[test]
fn a_g_beside_an_idle_p() {
    let forgotten = idle_p()
        .at(40, 0, Kind::GoCreate, 2, 1)
        .at(50, 0, Kind::Tick, 0, 0);
    forgotten.is_right();
    let late = forgotten.at(2_000_000, 0, Kind::Tick, 0, 0);
    late.breaks(Rule::IdleP, "G 2 was runnable for 1999 µs");
    // That CPU 0 looks into its own queue now and then changes nothing.
    let mut list = idle_p()
        .at(40, 0, Kind::GoCreate, 2, 1)
        .at(50, 0, Kind::Tick, 0, 0);
    for i in 1..5 {
        list = list.at(i * 300_000, 0, Kind::GoPreempt, 1, 0).at(
            i * 300_000 + 1000,
            0,
            Kind::GoStart,
            1,
            0,
        );
    }
    list.breaks(Rule::IdleP, "G 2 was runnable");
}

#[test]
fn a_host_that_stops_the_machine_is_no_excuse_for_ever() {
    let rules = Rules {
        virtual_time: false,
        ticks: true,
        idle_limit_ns: Some(50_000_000),
    };
    let check = |list: &List, ticks| {
        let mut checker = Checker::new(2, Rules { ticks, ..rules });
        let events = list.events.iter();
        events.for_each(|e| checker.take(Merged::Event(*e)));
        checker.finish();
        checker.violations().0.len()
    };
    let ms = 1_000_000;
    let mut list = idle_p().at(40, 0, Kind::GoCreate, 2, 1);
    list = list.at(50, 0, Kind::Tick, 0, 0);
    list = list.at(900 * ms, 0, Kind::Tick, 0, 0);
    assert_eq!(check(&list, true), 0);
    for i in 1..8 {
        list = list.at((900 + i * 10) * ms, 0, Kind::Tick, 0, 0);
    }
    assert_eq!(check(&list, true), 1);
    // That the idle CPU looks at the clock each 10 ms does not show that the busy one has the host's time.
    let mut list = idle_p().at(40, 0, Kind::GoCreate, 2, 1);
    list = list.at(50, 0, Kind::Tick, 0, 0);
    for i in 1..20 {
        list = list.at(i * 10 * ms, 1, Kind::Unidle, 0, 0);
        list = list.at(i * 10 * ms + 100, 1, Kind::Idle, 0, 0);
    }
    list = list.at(200 * ms, 0, Kind::Tick, 0, 0);
    assert_eq!(check(&list, true), 0);
    // Where no tick is due it may run for as long as it likes.
    assert_eq!(check(&list, false), 1);
}

#[test]
fn excuses_of_an_idle_p() {
    let late = 5_000_000;
    let made = || idle_p().at(40, 0, Kind::GoCreate, 2, 1);
    let end = |list: List| list.at(late, 0, Kind::Tick, 0, 0).is_right();
    // Its waker was stopped before it could wake anybody.
    end(made());
    // CPU 1 was woken, and the host did not let it run.
    end(made()
        .at(50, 0, Kind::ProcTake, 0, 1)
        .at(51, 0, Kind::Wake, 0, 1));
    let woken = made().at(50, 0, Kind::Wake, 0, 1);
    end(woken.at(60, 0, Kind::Tick, 0, 0));
    // The same, but it had not recorded yet that it halts.
    end(List::default()
        .at(1, 0, Kind::ProcIdle, 0, 1)
        .at(10, 0, Kind::GoCreate, 1, 0)
        .at(20, 0, Kind::GoStart, 1, 0)
        .at(40, 0, Kind::GoCreate, 2, 1)
        .at(50, 0, Kind::Wake, 0, 1)
        .at(55, 1, Kind::Idle, 0, 0)
        .at(60, 0, Kind::Tick, 0, 0));
    // CPU 1 was looking.
    end(made()
        .at(50, 1, Kind::Unidle, 0, 0)
        .at(60, 0, Kind::Tick, 0, 0));
    // It is locked to CPU 0.
    end(made()
        .at(50, 0, Kind::GoPark, 1, 0)
        .at(60, 0, Kind::GoStart, 2, 0)
        .at(70, 0, Kind::GoLock, 2, 0)
        .at(80, 0, Kind::GoYield, 2, 0)
        .at(90, 0, Kind::GoReady, 1, 0)
        .at(95, 0, Kind::GoStart, 1, 0));
    // CPU 1 took it.
    end(made()
        .at(50, 1, Kind::Unidle, 0, 0)
        .at(51, 1, Kind::ProcTake, 0, 1)
        .at(60, 1, Kind::GoStart, 2, 1));
}
