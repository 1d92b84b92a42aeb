//! Messages beside loops that never call anything.

use super::{ECHO, Load};
use std::time::Instant;
use tests::note;
use tests::peer::Wire;

const MESSAGES: usize = 100;
/// Of them those for which a loop must have given way.
const LEAST: u64 = 75;
/// While the host has taken the CPU away a slice passes as well, and what ends it then is no wake-up.
const TRIES: usize = 20;

/// Each message finds a loop on the only P, which is to give way to whoever is woken, and not to use up its slice.
pub fn hogs(wire: Wire) -> Result<(), String> {
    Load::run(wire, 8, |load| {
        let at = load.peer.connect(ECHO)?;
        let mut most = 0;
        for _ in 0..TRIES {
            let before = load.tell(b'h')?.gave_way;
            let mut times = Vec::with_capacity(MESSAGES);
            for n in 0..MESSAGES {
                let sent = Instant::now();
                load.echo_on(at, n as u64)?;
                times.push(sent.elapsed())
            }
            most = (load.tell(b'h')?.gave_way - before).max(most);
            if most >= LEAST {
                times.sort();
                note(format!(
                    "beside two hogs on one CPU a message takes {:.0?}, the slowest but one of {MESSAGES} {:.0?}",
                    times[MESSAGES / 2],
                    times[MESSAGES - 2]
                ));
                break;
            }
        }
        load.tell(b'?')?;
        load.peer.finish(at)?;
        (most >= LEAST)
            .then_some(())
            .ok_or_else(|| format!("in {MESSAGES} messages one gave way {most} times at most"))
    })
}
