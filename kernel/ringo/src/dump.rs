//! A full dump on demand: every goroutine with its frames, every P and M (Go: `runtime.Stack(buf, true)`, `SIGQUIT`).

use crate::fatal::backtrace::{FRAMES, frame_pointer, shown, stopped_frames, walk};
use crate::fatal::oldest::Oldest;
use alloc::string::String;
use alloc::vec::Vec;
use base::PreemptGuard;
use core::fmt::Write;
use csp::sync::Mutex;
use sched::{CreatedBy, GInfo, GRef, GStatus, Sched};

/// Goroutines that are shown at most, oldest first; the rest is counted.
const SHOWN: usize = 250;

/// A goroutine and its frames at one instant.
struct Shot {
    g: GInfo,
    frames: [usize; FRAMES],
    n: usize,
}

impl Shot {
    fn new(g: GInfo) -> Self {
        Self {
            g,
            frames: [0; FRAMES],
            n: 0,
        }
    }

    fn add(&mut self, rip: usize) -> bool {
        self.frames[self.n] = rip;
        self.n += 1;
        self.n < FRAMES
    }

    fn print(&self) {
        let mut text = String::new();
        let _ = writeln!(text, "\n{}", self.g);
        for (i, rip) in self.frames[..self.n].iter().enumerate() {
            let _ = writeln!(text, "#{i} {:#018x}", shown(i, *rip));
        }
        let _ = write!(text, "{}", CreatedBy(&self.g));
        crate::eprint!("{text}")
    }
}

/// Prints on stderr what every goroutine does, the caller first and then the oldest ones, and every P and M. The world
/// stands still while the picture is taken, and goes on while it is printed. The number of goroutines is that of the
/// headers `goroutine N [reason]:`, unless there are more than 250; those left out are counted.
///
/// On the host machine there are no frames.
///
/// With `preempt=off`, and on the host machine, a goroutine that never gives way keeps the world from standing still: after a
/// second the picture is taken while others run, without their frames, and says so.
///
/// ```
/// # sched::testing::run(2, 2, || {
/// let (_tx, rx) = csp::chan::<u32>(0);
/// csp::go(move || drop(rx.recv()));
/// sched::yield_now();
/// ringo::dump(); // both goroutines, on stderr
/// # });
/// ```
#[inline(never)]
pub fn dump() {
    static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());
    let rbp = frame_pointer();
    let _one = ONE_AT_A_TIME.lock();
    let me = sched::current();
    let mut own = Shot::new(GInfo::of(me));
    walk(rbp, |rip| own.add(rip));
    let mut others = Vec::with_capacity(SHOWN);
    let s = sched::this();
    let stood = s.look_with_world_stopped(|_| take(s, me, &mut others, true));
    let left_out = stood.unwrap_or_else(|| {
        crate::eprintln!(
            "the world does not stand still, a goroutine that runs cannot be interrupted: no frames but the caller's"
        );
        take(s, me, &mut others, false)
    });
    own.print();
    others.iter().for_each(Shot::print);
    if left_out > 0 {
        crate::eprintln!("\n… and {left_out} more goroutines")
    }
    let mut machines = String::from("\n");
    let _ = s.write_ps_and_ms(&mut machines, sched::machine_now_ns());
    crate::eprint!("{machines}");
}

/// There is room in `shots`; how many did not fit. Frames only if the world stands still.
fn take(s: &'static Sched, me: GRef, shots: &mut Vec<Shot>, stands: bool) -> usize {
    // Those that end while others run stay where they are until this CPU flushes its memory, which it does not with
    // preemption off.
    let _off = PreemptGuard::new();
    let mut oldest = Oldest::<SHOWN>::new();
    s.for_each_g(|g| {
        if g.status() != GStatus::Dead && g != me {
            oldest.add(g)
        }
    });
    for (id, g) in oldest.iter() {
        let info = if stands {
            Some(GInfo::of(g))
        } else {
            GInfo::while_others_run(g)
        };
        let Some(info) = info.filter(|info| info.id == id) else {
            continue; // it has ended since
        };
        let mut shot = Shot::new(info);
        if stands && matches!(g.status(), GStatus::Waiting | GStatus::Runnable) {
            // SAFETY: it has a saved context, and nobody runs it: the world stands still.
            unsafe { stopped_frames(g, |rip| shot.add(rip)) }
        }
        shots.push(shot)
    }
    oldest.left_out()
}
