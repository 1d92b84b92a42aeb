//! Who has the console's input.
//!
//! While a process is in the foreground a goroutine looks at all that is typed: Ctrl-C ends the process, whether it reads or not,
//! and the rest waits in a queue for whoever reads next, the process, or the shell after it.

use super::{Ended, Process};
use alloc::collections::VecDeque;
use alloc::sync::Arc;
use base::{Rank, SpinLock};
use core::sync::atomic::{AtomicU32, Ordering::*};
use csp::time::Duration;
use csp::{chan, select};
use user::reason::HowEnded;

/// What keyboards send for Ctrl-C.
const INTERRUPT: u8 = 3;
/// Bytes that wait at most; what is typed beyond is lost.
const TYPED_AHEAD: usize = 64 << 10;
/// How long nobody looks while nobody types, and while something came a moment ago.
const IDLE: Duration = Duration::from_millis(10);
const BUSY: Duration = Duration::from_millis(1);
/// For so many looks.
const BUSY_LOOKS: u32 = 20;

static TYPED: SpinLock<VecDeque<u8>> = SpinLock::new(Rank::Channel, VecDeque::new());
/// Goroutines that look.
static LOOKING: AtomicU32 = AtomicU32::new(0);

/// The next byte that was typed, if there is one.
pub(crate) fn typed_byte() -> Option<u8> {
    let waiting = TYPED.lock().pop_front();
    if waiting.is_some() || LOOKING.load(Acquire) != 0 {
        return waiting; // order is kept: only who looks takes from the console
    }
    arch::console_read()
}

/// Waits for a process with the console as its own.
pub(super) fn wait(process: &Process) -> Ended {
    if crate::start::config().icount {
        return process.wait(); // no input comes
    }
    let (over, ended) = chan::<()>(0);
    let theirs = process.process.clone();
    LOOKING.fetch_add(1, AcqRel);
    let looks = csp::spawn(move || {
        look(&theirs, &ended);
        LOOKING.fetch_sub(1, AcqRel);
    });
    let how = process.process.wait();
    drop(over);
    looks.join();
    Ended(HowEnded(how))
}

fn look(process: &Arc<user::process::Process>, ended: &csp::Receiver<()>) {
    let mut quiet = 0;
    loop {
        while let Some(byte) = arch::console_read() {
            quiet = 0;
            if byte == INTERRUPT {
                process.system().kill_job(process.job());
                continue;
            }
            let mut typed = TYPED.lock();
            if typed.len() < TYPED_AHEAD {
                typed.push_back(byte)
            }
        }
        quiet = BUSY_LOOKS.min(quiet + 1);
        let pause = if quiet < BUSY_LOOKS { BUSY } else { IDLE };
        select! {
            recv(ended) -> _over => return,
            default(pause) => {}
        }
    }
}
