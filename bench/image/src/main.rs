//! The benchmarks as a program. It takes words `key=value`: `names=` (names and groups, separated by commas), `reps=`, `scale=`,
//! `env=`; it prints a JSON line for each figure.
#![no_std]
#![no_main]
use bench::{BENCHES, Bench, Plan, chosen, measure};
use ringo::prelude::*;
ringo::main!(main);

/// What is to be measured, and how.
fn asked() -> Result<(Vec<&'static Bench>, Plan), String> {
    let mut names = "all".to_string();
    let mut plan = Plan {
        reps: 3,
        scale: 1.0,
        env: "ringo".to_string(),
    };
    for word in args() {
        let wrong = || format!("{word:?} is not names=, reps=, scale= or env= with a value");
        let (key, value) = word.split_once('=').ok_or_else(wrong)?;
        match key {
            "names" => names = value.to_string(),
            "reps" => plan.reps = value.parse().ok().filter(|n| *n > 0).ok_or_else(wrong)?,
            "scale" => plan.scale = value.parse().ok().filter(|x| *x > 0.0).ok_or_else(wrong)?,
            "env" => plan.env = value.to_string(),
            _ => return Err(wrong()),
        }
    }
    if let Some(none) = names.split(',').find(|word| chosen(word).count() == 0) {
        return Err(format!("there is no benchmark {none:?}"));
    }
    let is_meant = |bench: &&Bench| {
        names
            .split(',')
            .any(|word| chosen(word).any(|name| *name == bench.about))
    };
    Ok((
        BENCHES
            .iter()
            .filter(is_meant)
            .filter(|bench| bench.runs_here())
            .collect(),
        plan,
    ))
}

fn main() -> Result<(), String> {
    let (benches, plan) = asked()?;
    for bench in benches {
        measure(bench, &plan, &mut |line| println!("{line}"))
    }
    Ok(())
}
