//! What the machine itself costs, without a scheduler: what bounds the other figures, measured in the same run.

use crate::{Params, Sample, calib};
use core::hint::black_box;
use core::sync::atomic::{AtomicU32, Ordering::*};
use ringo::prelude::*;

/// 10,000,000 rounds of a loop around nothing.
pub fn empty_loop(p: &Params) -> Sample {
    let n = p.scaled(10_000_000);
    let begin = Instant::now();
    for _ in 0..n {
        // Nothing, but the compiler does not know.
        black_box(())
    }
    Sample::timed(begin.elapsed(), n).param("rounds", n)
}

/// 2,000,000 loads that depend on each other.
pub fn load(p: &Params) -> Sample {
    let n = p.scaled(2_000_000);
    calib::loads(n).param("loads", n)
}

/// 1,000,000 times a lock is taken by one atomic operation and left by another.
pub fn lock(p: &Params) -> Sample {
    let (n, word) = (p.scaled(1_000_000), AtomicU32::new(0));
    let begin = Instant::now();
    for _ in 0..n {
        let is_taken = word.compare_exchange(0, 1, Acquire, Relaxed).is_ok();
        let was = word.swap(0, Release);
        assert!(is_taken & (was == 1), "somebody else has it")
    }
    Sample::timed(begin.elapsed(), n).param("locks", n)
}

#[cfg(ringo_kernel)]
pub use on_the_machine::{switch, timer};

#[cfg(ringo_kernel)]
mod on_the_machine {
    use crate::{Params, Sample};
    use alloc::vec::Vec;
    use arch::PENDING_TIMER;
    use arch::bare::{Saves, switch_back_and_forth};
    use base::PreemptGuard;
    use ringo::prelude::Instant;

    /// Round trips with preemption off: a tenth of a millisecond.
    const ROUNDS: u32 = 1000;

    /// 400,000 switches between two stacks that save the registers which a call keeps.
    pub fn switch(p: &Params) -> Sample {
        let times = p.scaled(200);
        let begin = Instant::now();
        for _ in 0..times {
            switch_back_and_forth(Saves::CalleeSaved, ROUNDS)
        }
        let switches = 2 * u64::from(ROUNDS) * times;
        Sample::timed(begin.elapsed(), switches).param("switches", switches)
    }

    /// The CPU's timer, armed for 1 ms, 200 times. The CPU spins meanwhile, as one does that has work.
    pub fn timer(p: &Params) -> Sample {
        let times = p.scaled(200);
        let late_ns: Vec<u64> = (0..times).map(|_| late_ns(1_000_000)).collect();
        Sample::late(late_ns)
            .param("sleep_us", 1000)
            .param("iters", times)
    }

    /// How late the timer interrupts that was armed for `wait_ns` from now. The scheduler loses what it had armed, and arms it
    /// again when the guard goes and the interrupt is looked at.
    fn late_ns(wait_ns: u64) -> u64 {
        loop {
            let _guard = PreemptGuard::new();
            let due_ns = arch::now_ns() + wait_ns;
            arch::arm_timer(due_ns);
            while arch::pending() & PENDING_TIMER == 0 {
                core::hint::spin_loop()
            }
            let now_ns = arch::now_ns();
            // Else the scheduler's own was on its way already.
            if now_ns >= due_ns {
                return now_ns - due_ns;
            }
        }
    }
}

#[cfg(not(ringo_kernel))]
pub use on_the_host::{switch, timer};

/// They need a CPU of their own; nobody runs them here (`Needs::Bare`).
#[cfg(not(ringo_kernel))]
mod on_the_host {
    use crate::{Params, Sample};

    pub fn switch(_: &Params) -> Sample {
        panic!("bare_switch needs the bare machine")
    }

    pub fn timer(_: &Params) -> Sample {
        panic!("bare_timer needs the bare machine")
    }
}
