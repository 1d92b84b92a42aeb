//! What a switch costs by what it saves: the machine's part of `cargo run -- switchcost`.

use alloc::vec::Vec;

/// A kind of switch, and what it costs.
///
/// ```
/// # sched::testing::run(2, 2, || {
/// for cost in ringo::switch_cost::measure(5) {
///     assert!(cost.ps[0] <= cost.ps[1], "{}", cost.saves);
/// }
/// # });
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SwitchCost {
    /// What it saves and loads.
    pub saves: &'static str,
    /// Of several measurements, picoseconds a switch: the least, the middle one, the most.
    pub ps: [u64; 3],
}

/// Measures two loops that do nothing but switch to each other, for each kind of switch, `times` times in turn. Empty on the host
/// machine, which has no CPU of its own.
///
/// ```
/// # sched::testing::run(2, 2, || {
/// assert!(ringo::switch_cost::measure(3).is_empty()); // on the host machine
/// # });
/// ```
///
/// # Panics
/// If `times` is 0.
pub fn measure(times: usize) -> Vec<SwitchCost> {
    assert!(times > 0, "measured no times");
    #[cfg(ringo_kernel)]
    return bare::measure(times);
    #[cfg(not(ringo_kernel))]
    Vec::new()
}

#[cfg(ringo_kernel)]
mod bare {
    use super::SwitchCost;
    use alloc::vec::Vec;
    use arch::bare::{Saves, switch_back_and_forth};

    /// So many round trips at a time: 10 ms of the dearest kind under TCG.
    const ROUNDS: u32 = 2000;

    fn name(saves: Saves) -> &'static str {
        match saves {
            Saves::PcSp => "PC, SP",
            Saves::CalleeSaved => "callee-saved",
            Saves::All => "all, FXSAVE",
            Saves::AllAndCr3 => "all, FXSAVE, CR3",
        }
    }

    fn ps(saves: Saves) -> u64 {
        let begin_ns = arch::now_ns();
        switch_back_and_forth(saves, ROUNDS);
        (arch::now_ns() - begin_ns) * 1000 / (2 * u64::from(ROUNDS))
    }

    pub(super) fn measure(times: usize) -> Vec<SwitchCost> {
        let mut all: Vec<Vec<u64>> = Saves::ALL.iter().map(|_| Vec::new()).collect();
        for _ in 0..times {
            for (of_it, &saves) in all.iter_mut().zip(Saves::ALL) {
                of_it.push(ps(saves))
            }
        }
        let rows = Saves::ALL.iter().zip(all);
        rows.map(|(&saves, mut ps)| {
            ps.sort_unstable();
            SwitchCost {
                saves: name(saves),
                ps: [ps[0], ps[times / 2], ps[times - 1]],
            }
        })
        .collect()
    }
}
