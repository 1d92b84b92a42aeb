//! Boots of two sides in turn, so that whatever the host does meets both. Those that other work disturbed are repeated.

use super::Boot;
use crate::Result;

/// Cores that other work may have taken in a boot that counts.
const CLEAN: f64 = 0.1;
/// What a system that does not say how busy it is is taken for.
const UNKNOWN: f64 = 0.0;
/// Boots in all, as many times those that are wanted.
const PATIENCE: usize = 3;

/// Boots a side.
pub type Side<'a> = &'a mut dyn FnMut() -> Result<Boot>;

/// One of the two.
struct Boots<'a> {
    name: &'static str,
    boot: Side<'a>,
    clean: Vec<Boot>,
    disturbed: Vec<Boot>,
    left: usize,
}

/// `wanted` boots of either side that nothing disturbed, in turn. Where so many cannot be had, the least disturbed ones take their place.
/// `tell` is told what is worth a line.
///
/// # Errors
///
/// A boot of either failed.
pub fn in_turn(
    wanted: usize,
    go: Side,
    ours: Side,
    tell: &mut dyn FnMut(&str),
) -> Result<(Vec<Boot>, Vec<Boot>)> {
    let side = |name, boot| Boots {
        name,
        boot,
        clean: Vec::new(),
        disturbed: Vec::new(),
        left: PATIENCE * wanted,
    };
    let mut sides = [side("Go", go), side("ringo", ours)];
    for turn in 1..=wanted {
        for side in &mut sides {
            side.turn(turn, wanted, tell)?;
        }
    }
    let [go, ours] = sides.map(|side| side.finish(wanted, tell));
    Ok((go, ours))
}

impl Boots<'_> {
    /// Boots until one is clean, or until too many were not.
    fn turn(&mut self, turn: usize, wanted: usize, tell: &mut dyn FnMut(&str)) -> Result<()> {
        // Each turn that is still to come has one boot at least.
        let mut left = self.left - (wanted - turn);
        loop {
            let boot = (self.boot)()?;
            self.left -= 1;
            left -= 1;
            let busy = boot.others_cores.unwrap_or(UNKNOWN);
            if busy <= CLEAN {
                self.clean.push(boot);
                return Ok(());
            }
            let again = if left > 0 {
                "it is repeated"
            } else {
                "that was the last try"
            };
            tell(&format!(
                "{}, boot {turn} of {wanted}: other work kept {busy:.2} cores busy; {again}",
                self.name
            ));
            self.disturbed.push(boot);
            if left == 0 {
                return Ok(());
            }
        }
    }

    /// As many as are wanted.
    fn finish(mut self, wanted: usize, tell: &mut dyn FnMut(&str)) -> Vec<Boot> {
        let missing = wanted - self.clean.len();
        if missing > 0 {
            tell(&format!(
                "{}: {missing} of {wanted} boots are not clean, the least disturbed ones count: do not quote these figures",
                self.name
            ));
        }
        let busy = |boot: &Boot| boot.others_cores.unwrap_or(UNKNOWN);
        self.disturbed.sort_by(|a, b| busy(a).total_cmp(&busy(b)));
        self.clean.extend(self.disturbed.into_iter().take(missing));
        self.clean
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::RefCell;

    fn boot(others_cores: f64) -> Boot {
        Boot {
            first_goroutine: None,
            rows: Vec::new(),
            others_cores: Some(others_cores),
        }
    }

    /// Boots that other work disturbs so much; which were made, the result's cores, and what was said.
    fn run(wanted: usize, go: &[f64], ours: &[f64]) -> (String, [Vec<f64>; 2], Vec<String>) {
        let made = RefCell::new(String::new());
        let mut said = Vec::new();
        let (mut go, mut ours) = (go.iter(), ours.iter());
        let mut next_go = || {
            made.borrow_mut().push('g');
            Ok(boot(*go.next().unwrap()))
        };
        let mut next_ours = || {
            made.borrow_mut().push('o');
            Ok(boot(*ours.next().unwrap()))
        };
        let mut tell = |line: &str| said.push(line.to_string());
        let (go, ours) = in_turn(wanted, &mut next_go, &mut next_ours, &mut tell).unwrap();
        let cores =
            [go, ours].map(|boots| boots.iter().filter_map(|boot| boot.others_cores).collect());
        (made.into_inner(), cores, said)
    }

    #[test]
    fn sides_take_turns() {
        let (made, cores, said) = run(3, &[0.0; 3], &[0.1; 3]);
        assert_eq!(made, "gogogo");
        assert_eq!(cores, [vec![0.0; 3], vec![0.1; 3]]);
        assert_eq!(said, [""; 0]);
    }

    #[test]
    fn a_disturbed_boot_is_repeated_at_once() {
        let (made, cores, said) = run(2, &[0.0, 0.3, 0.2, 0.05], &[0.0, 0.0]);
        assert_eq!(made, "gogggo");
        assert_eq!(cores[0], [0.0, 0.05]);
        assert_eq!(
            said[0],
            "Go, boot 2 of 2: other work kept 0.30 cores busy; it is repeated"
        );
        assert_eq!(said.len(), 2);
    }

    #[test]
    fn repeating_has_an_end_and_it_is_said() {
        let (made, cores, said) = run(2, &[0.0, 0.0], &[0.5, 0.4, 0.3, 0.9, 0.8, 0.7]);
        assert_eq!(made, "gooooogo");
        assert_eq!(cores[1], [0.3, 0.4]);
        let last = "ringo: 2 of 2 boots are not clean, the least disturbed ones count: do not quote these figures";
        assert_eq!(said.last().unwrap(), last);
        assert!(said[4].ends_with("that was the last try"));
    }

    #[test]
    fn a_boot_that_fails_ends_it() {
        let mut fails = || Err(crate::Failure::new("no"));
        let mut works = || Ok(boot(0.0));
        let ended = in_turn(1, &mut works, &mut fails, &mut |_| ());
        assert_eq!(ended.unwrap_err().line, "no");
    }
}
