//! Which of the machines that run a command is to take.

use crate::runtime::Known;
use crate::{Failure, Result};

/// Said where there is nothing to choose from.
pub const NONE_RUNS: &str = "no machine runs";

/// The machine that is meant, by its number or its program's name; of several the one that was started last, which is
/// the first of `all`.
pub fn choose<'a>(all: &'a [Known], wanted: Option<&str>) -> Result<&'a Known> {
    let Some(wanted) = wanted else {
        return all.first().ok_or_else(|| {
            Failure::new(format!(
                "{NONE_RUNS}; start one in another terminal, such as `cargo run -- tour`"
            ))
        });
    };
    let found = all.iter().find(|known| is_meant(known, wanted));
    found.ok_or_else(|| {
        let there = match list(all.iter()).as_str() {
            "" => NONE_RUNS.to_string(),
            some => format!("those that run: {some}"),
        };
        Failure::new(format!("there is no machine {wanted}; {there}"))
    })
}

fn is_meant(known: &Known, wanted: &str) -> bool {
    known.program == wanted || Ok(known.number) == wanted.parse()
}

fn list<'a>(all: impl Iterator<Item = &'a Known>) -> String {
    let all = all.map(|known| format!("{} ({})", known.number, known.program));
    all.collect::<Vec<_>>().join(", ")
}

/// That others could have been meant as well, and how to choose.
pub fn others(all: &[Known], chosen: &Known, wanted: Option<&str>) -> Option<String> {
    let others = all.iter().filter(|known| {
        known.number != chosen.number && wanted.is_none_or(|wanted| is_meant(known, wanted))
    });
    let others = list(others);
    let (number, program) = (chosen.number, &chosen.program);
    (!others.is_empty()).then(|| {
        format!(
            "this is machine {number} ({program}), started last; there are {others}: `cargo run -- top NUMBER` takes another"
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_newest_and_the_others() {
        let choice = |all: &[Known], wanted| {
            let chosen = choose(all, wanted).map_err(|failure| failure.line)?;
            Ok::<_, String>((chosen.number, others(all, chosen, wanted)))
        };
        let none = choice(&[], None).unwrap_err();
        assert!(none.starts_with("no machine runs; start one"), "{none}");
        let none = choice(&[], Some("7")).unwrap_err();
        assert_eq!(none, "there is no machine 7; no machine runs");

        let all = [(30, "http"), (20, "sieve"), (10, "http")];
        let all = all.map(|(number, program)| Known::of(number, program));
        assert_eq!(choice(&all[..1], None), Ok((30, None)));
        let says = |others: &str| {
            Some(format!(
                "this is machine 30 (http), started last; there are {others}: `cargo run -- top NUMBER` takes another"
            ))
        };
        let both = says("20 (sieve), 10 (http)");
        assert_eq!(choice(&all, None), Ok((30, both)));
        assert_eq!(choice(&all, Some("http")), Ok((30, says("10 (http)"))));
        assert_eq!(choice(&all, Some("sieve")), Ok((20, None)));
        assert_eq!(choice(&all, Some("10")), Ok((10, None)));
        let wanted = "there is no machine tour; those that run: 30 (http), 20 (sieve), 10 (http)";
        assert_eq!(choice(&all, Some("tour")).unwrap_err(), wanted);
    }
}
