//! A G as reports show it (Go: traceback.go, `goroutineheader`, `printcreatedby`).

use crate::g::{GRef, GStatus, WaitReason};
use base::place::from_root;
use base::shim::{Ordering::Acquire, fence};
use core::fmt;
use core::panic::Location;

/// What a report says of a G, copied at one instant.
#[derive(Clone, Copy, Debug)]
pub struct GInfo {
    /// Its number.
    pub id: u64,
    /// What it does.
    pub status: GStatus,
    /// Why it waits, if it does.
    pub wait: WaitReason,
    /// For how long it has waited, in ns; a slice less at most.
    pub waited_ns: u64,
    /// Number of the goroutine that has the mutex for which it waits; 0: not known.
    pub lock_owner: u64,
    /// Runs on one CPU only.
    pub locked: bool,
    /// Where it was started; nobody has started the main goroutine.
    pub created_at: Option<&'static Location<'static>>,
    /// By which one; 0: none.
    pub parent: u64,
}

impl GInfo {
    /// As it stands, while nobody runs it: the world stands still, or it is the caller.
    pub fn of(g: GRef) -> Self {
        let lock_owner = if g.status() == GStatus::Waiting {
            g.lock_owner()
        } else {
            0
        };
        Self {
            lock_owner,
            ..Self::read(g)
        }
    }

    /// The same of one that may go on at any moment: whose lock it waits for stays unknown, since that is written in the
    /// mutex, which may be gone. None: it has ended, or is another one by now.
    pub fn while_others_run(g: GRef) -> Option<Self> {
        let info = Self::read(g);
        fence(Acquire); // what was read belongs to the G whose number is still there afterwards
        (info.status != GStatus::Dead && g.id() == info.id).then_some(info)
    }

    fn read(g: GRef) -> Self {
        let (created_at, parent) = g.creator();
        Self {
            id: g.id(),
            status: g.status(),
            wait: g.wait(),
            waited_ns: g.waited_ns(),
            lock_owner: 0,
            locked: g.locked_to().is_some(),
            created_at,
            parent,
        }
    }
}

/// Go's header line.
impl fmt::Display for GInfo {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "goroutine {} [", self.id)?;
        match self.status {
            GStatus::Idle => f.write_str("idle")?,
            GStatus::Runnable => f.write_str("runnable")?,
            GStatus::Running => f.write_str("running")?,
            GStatus::Syscall => f.write_str("syscall")?,
            GStatus::Dead => f.write_str("dead")?,
            GStatus::Waiting => self.wait.fmt(f)?,
        }
        let minutes = self.waited_ns / 60_000_000_000;
        if self.status == GStatus::Waiting && minutes >= 1 {
            write!(f, ", {minutes} minutes")?
        }
        if self.locked {
            f.write_str(", locked to thread")?
        }
        f.write_str("]:")
    }
}

/// The last lines of a G's report, each with a line end: whom it waits for, where that is known, and where it comes from; the
/// main goroutine comes from nowhere.
pub struct CreatedBy<'a>(pub &'a GInfo);

impl fmt::Display for CreatedBy<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0.lock_owner != 0 {
            writeln!(
                f,
                "waits for goroutine {}, which has the lock",
                self.0.lock_owner
            )?
        }
        match (self.0.created_at, self.0.parent) {
            (Some(at), parent) if parent != 0 => writeln!(
                f,
                "created by {}:{} in goroutine {parent}",
                from_root(at.file()),
                at.line()
            ),
            _ => Ok(()),
        }
    }
}

#[cfg(all(test, not(any(ringo_loom, ringo_shuttle))))]
mod tests {
    use super::*;

    #[test]
    fn headers() {
        let mut g = GInfo {
            id: 7,
            status: GStatus::Waiting,
            wait: WaitReason::ChanReceiveNil,
            waited_ns: 59_999_999_999,
            lock_owner: 0,
            locked: false,
            created_at: None,
            parent: 3,
        };
        assert_eq!(g.to_string(), "goroutine 7 [chan receive (nil chan)]:");
        g.waited_ns = 200_000_000_000;
        g.locked = true;
        assert_eq!(
            g.to_string(),
            "goroutine 7 [chan receive (nil chan), 3 minutes, locked to thread]:"
        );
        g.status = GStatus::Running;
        assert_eq!(g.to_string(), "goroutine 7 [running, locked to thread]:");
        assert_eq!(CreatedBy(&g).to_string(), "");
        g.created_at = Some(Location::caller());
        let by = CreatedBy(&g).to_string();
        assert!(
            by.starts_with("created by ")
                && by.ends_with(" in goroutine 3\n")
                && by.contains("dump.rs:"),
            "{by}"
        );
        g.parent = 0;
        assert_eq!(CreatedBy(&g).to_string(), "", "main");
    }
}
