//! The state of a G (I-STATE), and why one waits.

/// State of a G. Values are Go's (runtime2.go); the gaps are states that this kernel has no use for yet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum GStatus {
    /// Just allocated, not yet usable.
    Idle = 0,
    /// On a run queue.
    Runnable = 1,
    /// Owns a stack, an M and a P.
    Running = 2,
    /// In a blocking call: owns its stack and M; its P may be taken.
    Syscall = 3,
    /// Waits for somebody to call `goready`.
    Waiting = 4,
    /// Finished; on a free list.
    Dead = 6,
}

impl GStatus {
    pub(super) fn from_u32(n: u32) -> Self {
        match n {
            0 => Self::Idle,
            1 => Self::Runnable,
            2 => Self::Running,
            3 => Self::Syscall,
            4 => Self::Waiting,
            6 => Self::Dead,
            _ => unreachable!("no such G status: {n}"),
        }
    }

    /// The table of legal moves (Go: `casgstatus` callers in proc.go).
    pub const fn may_become(self, to: GStatus) -> bool {
        use GStatus::*;
        matches!(
            (self, to),
            (Idle, Dead)
                | (Dead, Runnable)
                | (Runnable, Running)
                | (Running, Runnable)
                | (Running, Waiting)
                | (Running, Dead)
                | (Running, Syscall)
                | (Syscall, Running)
                | (Syscall, Runnable)
                | (Waiting, Runnable)
        )
    }
}

/// Why a G waits. The words are Go's (runtime2.go, `waitReasonStrings`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
#[allow(missing_docs)] // the words below say it
pub enum WaitReason {
    None = 0,
    ChanReceiveNil,
    ChanSendNil,
    ChanReceive,
    ChanSend,
    Select,
    SelectNoCases,
    Sleep,
    SemAcquire,
    SyncCondWait,
    SyncMutexLock,
    SyncRwMutexRLock,
    SyncRwMutexLock,
    SyncWaitGroupWait,
    Join,
    StoppingTheWorld,
    ProgramExit,
    SynctestRun,
    SynctestWait,
    IoWait,
}

impl WaitReason {
    pub(super) const ALL: [WaitReason; 20] = [
        Self::None,
        Self::ChanReceiveNil,
        Self::ChanSendNil,
        Self::ChanReceive,
        Self::ChanSend,
        Self::Select,
        Self::SelectNoCases,
        Self::Sleep,
        Self::SemAcquire,
        Self::SyncCondWait,
        Self::SyncMutexLock,
        Self::SyncRwMutexRLock,
        Self::SyncRwMutexLock,
        Self::SyncWaitGroupWait,
        Self::Join,
        Self::StoppingTheWorld,
        Self::ProgramExit,
        Self::SynctestRun,
        Self::SynctestWait,
        Self::IoWait,
    ];
}

impl core::fmt::Display for WaitReason {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.write_str(match self {
            Self::None => "",
            Self::ChanReceiveNil => "chan receive (nil chan)",
            Self::ChanSendNil => "chan send (nil chan)",
            Self::ChanReceive => "chan receive",
            Self::ChanSend => "chan send",
            Self::Select => "select",
            Self::SelectNoCases => "select (no cases)",
            Self::Sleep => "sleep",
            Self::SemAcquire => "semacquire",
            Self::SyncCondWait => "sync.Cond.Wait",
            Self::SyncMutexLock => "sync.Mutex.Lock",
            Self::SyncRwMutexRLock => "sync.RWMutex.RLock",
            Self::SyncRwMutexLock => "sync.RWMutex.Lock",
            Self::SyncWaitGroupWait => "sync.WaitGroup.Wait",
            Self::Join => "join",
            Self::StoppingTheWorld => "stopping the world",
            Self::ProgramExit => "program exit",
            Self::SynctestRun => "synctest.Run",
            Self::SynctestWait => "synctest.Wait",
            Self::IoWait => "IO wait",
        })
    }
}

#[cfg(all(test, not(any(ringo_loom, ringo_shuttle))))]
mod tests {
    use super::*;

    #[test]
    fn table_of_states() {
        use GStatus::*;
        let all = [Idle, Runnable, Running, Syscall, Waiting, Dead];
        let legal: Vec<_> = all
            .iter()
            .flat_map(|a| all.iter().map(move |b| (*a, *b)))
            .filter(|(a, b)| a.may_become(*b))
            .collect();
        assert_eq!(legal.len(), 10);
        assert!(
            !Waiting.may_become(Running)
                && !Dead.may_become(Running)
                && !Runnable.may_become(Waiting)
        );
    }
}
