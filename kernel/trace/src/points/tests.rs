use super::*;
use std::sync::Mutex;
use std::time::Instant;

/// The points are the process's: one test at a time.
static ONE: Mutex<()> = Mutex::new(());

fn place() {
    crate::point!("park.commit");
}

#[test]
fn unknown_names_and_actions_say_what_would_be_right() {
    let text = arm("park.comit", Action::Yield).unwrap_err().to_string();
    assert!(
        text.starts_with("there is no fault point park.comit; there are park.commit "),
        "{text}"
    );
    assert!(text.ends_with(NAMES[NAMES.len() - 1]), "{text}");
    let wrong = |text| arm_text(text).unwrap_err().to_string();
    assert_eq!(
        wrong("park.commit"),
        "point park.commit has no action; it is written NAME:ACTION, with action off, yield, preempt, lose or delay_ns=N"
    );
    assert_eq!(
        wrong("park.commit:sleep"),
        "a fault point cannot do sleep; it is written NAME:ACTION, with action off, yield, preempt, lose or delay_ns=N \
         (N at most 100000000000)"
    );
    for text in [
        "park.commit:delay_ns=",
        "park.commit:delay_ns=-1",
        "park.commit:delay_ns=100000000001",
    ] {
        assert!(wrong(text).contains("delay_ns=N"), "{text}");
    }
    assert!(wrong("x:off").starts_with("there is no fault point x;"));
    assert!(wrong("").starts_with("point  has no action"));
}

#[test]
fn names_are_unique_and_indices_are_right() {
    for (i, name) in NAMES.iter().enumerate() {
        assert_eq!(index(name), i, "{name}");
    }
}

#[test]
fn an_armed_point_acts_until_it_is_off() {
    let _one = ONE.lock();
    place();
    assert!(!any_armed());
    let before = hits("park.commit");

    arm("park.commit", Action::DelayNs(3_000_000)).unwrap();
    let begin = Instant::now();
    place();
    assert!(begin.elapsed().as_micros() >= 3_000);
    assert_eq!(hits("park.commit"), before + 1);

    // A plain thread has no G: the bit stays set.
    arm_text("park.commit:off,park.unlock:yield,park.commit:preempt").unwrap();
    arch::take_pending();
    place();
    assert_eq!(arch::take_pending(), PENDING_PREEMPT);
    crate::point!("park.unlock");
    assert_eq!(arch::take_pending(), PENDING_PREEMPT);

    arm_text("park.commit:off,park.unlock:off").unwrap();
    assert!(!any_armed());
    place();
    assert_eq!(hits("park.commit"), before + 2);
    assert_eq!(arch::take_pending(), 0);
}

#[test]
fn what_is_lost_is_not_done() {
    let _one = ONE.lock();
    let told = || !crate::lost!("wake.ipi");
    assert!(told());
    arm_text("wake.ipi:lose").unwrap();
    let before = hits("wake.ipi");
    assert!(!told());
    assert_eq!(hits("wake.ipi"), before + 1);
    arm("wake.ipi", Action::DelayNs(1)).unwrap();
    assert!(told());
    arm("wake.ipi", Action::Off).unwrap();
    assert!(told());
}

#[test]
fn an_unarmed_point_costs_a_load() {
    let _one = ONE.lock();
    const ROUNDS: u32 = 100_000;
    // The fastest of many, since other tests run beside this one.
    let per_round = |f: fn()| {
        let run = |_| {
            let begin = Instant::now();
            for _ in 0..ROUNDS {
                core::hint::black_box(f)();
            }
            begin.elapsed().as_nanos() as f64 / f64::from(ROUNDS)
        };
        (0..50).map(run).fold(f64::MAX, f64::min)
    };
    let (empty, point) = (per_round(|| {}), per_round(place));
    println!("empty call {empty:.2} ns, call of a point {point:.2} ns");
    assert!(point - empty < 50.0);
}

#[test]
fn every_name_stands_somewhere_in_the_kernel() {
    fn read(dir: &std::path::Path, all: &mut String) {
        for entry in std::fs::read_dir(dir).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                read(&path, all);
            } else if path.extension().is_some_and(|e| e == "rs") {
                all.push_str(&std::fs::read_to_string(path).unwrap());
            }
        }
    }
    let kernel = std::path::Path::new(env!("CARGO_MANIFEST_DIR"))
        .parent()
        .unwrap();
    let mut all = String::new();
    for part in std::fs::read_dir(kernel).unwrap() {
        let src = part.unwrap().path().join("src");
        if src.is_dir() && !src.starts_with(kernel.join("trace")) {
            read(&src, &mut all);
        }
    }
    for name in NAMES {
        assert!(
            all.contains(&format!("point!(\"{name}\")"))
                || all.contains(&format!("lost!(\"{name}\")")),
            "no point!(\"{name}\") in the kernel"
        );
    }
}
