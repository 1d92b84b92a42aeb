//! Every key, every kind of bad word.

extern crate std;

use super::*;
use std::string::ToString;

fn line(words: &str) -> std::string::String {
    Config::parse(words).unwrap_err().to_string()
}

#[test]
fn empty_means_the_defaults() {
    assert_eq!(Config::parse(""), Ok(Config::DEFAULT));
    assert_eq!(Config::parse(" \n\t"), Ok(Config::DEFAULT));
}

#[test]
fn every_key_is_stored() {
    let all = "procs=3 preempt=coop slice_us=500 wakeup=off min_run_us=50 steal=one queue=global runnext=off \
               sysmon=off handoff=off spin=off mcache=off netpoll=block connections=77 policy=fifo stack_kib=64 clock=real \
               seed=18446744073709551615 schedtrace=250 scheddetail=1 point=none log=debug json=1 tty=1 \
               events=512 icount=1 smp=4 \
               program=hello";
    let config = Config::parse(all).unwrap();
    let wanted = Config {
        procs: Some(3),
        preempt: Preempt::Coop,
        slice_us: 500,
        wakeup: false,
        min_run_us: 50,
        steal: Steal::One,
        queue: Queue::Global,
        runnext: false,
        sysmon: false,
        handoff: false,
        spin: false,
        mcache: false,
        netpoll: Netpoll::Block,
        connections: Some(77),
        policy: Policy::Fifo,
        stack_kib: 64,
        clock: Clock::Real,
        schedtrace: 250,
        scheddetail: true,
        seed: Some(u64::MAX),
        log: LogLevel::Debug,
        json: true,
        tty: true,
        events: 512,
        icount: true,
        smp: Some(4),
        program: Word::new("hello"),
        ..Config::DEFAULT
    };
    assert_eq!(config, wanted);
    for key in KEYS {
        assert!(
            all.contains(&std::format!("{}=", key.name)),
            "{} is not tried",
            key.name
        );
    }
}

#[test]
fn the_last_one_holds() {
    assert_eq!(
        Config::parse("preempt=off preempt=coop").unwrap().preempt,
        Preempt::Coop
    );
}

#[test]
fn unknown_keys_list_the_right_ones() {
    let line = line("sliec_us=5");
    assert!(
        line.starts_with("there is no key \"sliec_us\"; the keys are procs preempt slice_us "),
        "{line}"
    );
    assert!(line.ends_with("scheddetail point"), "{line}");
    assert!(!line.contains('\n'));
}

#[test]
fn wrong_values_list_the_right_ones() {
    assert_eq!(
        line("preempt=maybe"),
        "preempt=maybe is not possible; preempt takes async, coop or off"
    );
    assert_eq!(
        line("queue="),
        "queue= is not possible; queue takes local or global"
    );
    assert_eq!(
        line("policy=sjf"),
        "policy=sjf is not possible; policy takes go, fifo or lifo"
    );
    let range = "slice_us takes a whole number from 20 to 1000000";
    for bad in [
        "19",
        "1000001",
        "-5",
        "+500",
        "1e3",
        "99999999999999999999999",
        "",
    ] {
        assert_eq!(
            line(&std::format!("slice_us={bad}")),
            std::format!("slice_us={bad} is not possible; {range}")
        );
    }
    assert_eq!(
        line("stack_kib=100"),
        "stack_kib=100 is not possible; stack_kib takes a power of two from 16 to 1024"
    );
    assert_eq!(
        line("seed=x"),
        "seed=x is not possible; seed takes a whole number below 2^64"
    );
    assert_eq!(
        line("procs=65"),
        "procs=65 is not possible; procs takes a whole number from 1 to 64"
    );
}

#[test]
fn choices_are_listed() {
    assert_eq!(
        line("netpoll=epoll"),
        "netpoll=epoll is not possible; netpoll takes park, block or poll"
    );
    assert_eq!(
        line("handoff=yes"),
        "handoff=yes is not possible; handoff takes on or off"
    );
    assert_eq!(
        line("point=park.commit"),
        "point=park.commit is not possible; point takes none or NAME:ACTION, several with commas, 104 bytes at most"
    );
}

#[test]
fn words_without_a_value() {
    assert!(
        line("preempt")
            .starts_with("\"preempt\" is not of the form key=value; the keys are procs ")
    );
}

#[test]
fn more_ps_than_cpus() {
    assert_eq!(
        line("smp=2 procs=3"),
        "procs=3 is more than the 2 CPUs; it can be 1 to 2"
    );
    assert!(Config::parse("procs=2 smp=2").is_ok());
}

#[test]
fn a_failed_set_changes_nothing() {
    let mut config = Config::DEFAULT;
    assert!(config.set("preempt=maybe").is_err());
    assert_eq!(config, Config::DEFAULT);
}

#[test]
fn long_text_is_cut_at_a_character() {
    let long = format!("x{}", "é".repeat(Word::CAPACITY));
    let word = Word::new(&long);
    assert_eq!(
        word.as_str(),
        format!("x{}", "é".repeat((Word::CAPACITY - 1) / 2))
    );
    assert_eq!(Word::new("").as_str(), "");
}

#[test]
fn a_virtual_clock_needs_waits_that_park() {
    for word in ["netpoll=block", "netpoll=poll"] {
        let line = std::format!("{word} clock=virtual");
        let error = Config::parse(&line).unwrap_err();
        assert_eq!(error, ConfigError::VirtualClockWithoutPark);
        assert!(error.to_string().contains("use netpoll=park"));
    }
    assert!(Config::parse("netpoll=park clock=virtual").is_ok());
}
