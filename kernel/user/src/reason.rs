//! Why a process ends, in a line for people.

use crate::space::{Denied, Touch};
use abi::{Ended, Ending};
use core::fmt;

/// What a thread has done.
#[derive(Clone, Copy, Debug)]
pub enum Cause {
    /// It touched memory that it may not touch so.
    PageFault {
        /// The address.
        address: u64,
        /// How.
        touch: Touch,
        /// Why it may not.
        why: Denied,
    },
    /// Any other exception.
    Exception {
        /// Its vector.
        vector: u8,
        /// Its error code.
        error_code: u64,
    },
}

/// Who has done it, and where.
#[derive(Clone, Copy, Debug)]
pub struct Reason<'a> {
    /// Number of the process.
    pub process: u64,
    /// Its program.
    pub name: &'a str,
    /// Number of the thread.
    pub thread: u64,
    /// The instruction.
    pub rip: u64,
    /// What it was.
    pub cause: Cause,
}

impl fmt::Display for Reason<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Reason {
            process,
            name,
            thread,
            rip,
            cause,
        } = self;
        write!(
            f,
            "process {process} ({name}), thread {thread}: {cause}, at {rip:#x}"
        )
    }
}

impl fmt::Display for Cause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Cause::PageFault {
                address,
                touch,
                why,
            } => {
                let touch = match touch {
                    Touch::Read => "read of",
                    Touch::Write => "write to",
                    Touch::Execute => "jump to",
                };
                let why = match why {
                    Denied::Nothing => "where nothing is mapped",
                    Denied::Guard => {
                        "where nothing is mapped, right beside memory that is: a stack that has run over its end, or an index too large"
                    }
                    Denied::Outside => "which is the kernel's",
                    Denied::ReadOnly => "which can only be read",
                    Denied::NotExecutable => "which is data, not code",
                    Denied::AsKernel => {
                        "by an instruction that works with the kernel's rights here"
                    }
                    Denied::OutOfMemory => "for which no memory is left",
                };
                write!(f, "page fault: {touch} {address:#x}, {why}")
            }
            Cause::Exception { vector, error_code } => f.write_str(exception(vector, error_code)),
        }
    }
}

/// SDM vol. 3, 6.15.
fn exception(vector: u8, error_code: u64) -> &'static str {
    match vector {
        0 => "divide error (#DE): an integer division by zero, or a quotient that does not fit",
        1 => "debug exception (#DB): a single step or a breakpoint of the debug registers",
        3 => "breakpoint (#BP): an int3 instruction",
        4 => "overflow (#OF): an into instruction found the overflow flag set",
        5 => "bound range exceeded (#BR)",
        6 => "invalid opcode (#UD): these bytes are no instruction, or one that is not enabled",
        7 => "device not available (#NM): a floating-point instruction while the unit is off",
        11 => "segment not present (#NP)",
        12 => "stack fault (#SS): a stack address that is not canonical",
        13 if error_code == 0 => {
            "general protection (#GP): a privileged instruction, or an address that is not canonical"
        }
        13 => "general protection (#GP): a segment or a gate that ring 3 may not use",
        16 => "x87 floating-point error (#MF)",
        17 => "alignment check (#AC): an unaligned access with alignment checking switched on",
        19 => "SIMD floating-point exception (#XM)",
        _ => "an exception that ring 3 cannot handle",
    }
}

/// How a process has ended, for people: `exit code 3`, `killed`, …
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HowEnded(pub Ended);

impl fmt::Display for HowEnded {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Ended { how, code, .. } = self.0;
        if how == Ending::Exit as u32 {
            write!(f, "exit code {code}")
        } else if how == Ending::Killed as u32 {
            f.write_str("killed")
        } else if how == Ending::OutOfMemory as u32 {
            f.write_str("out of memory")
        } else if how == Ending::Deadlock as u32 {
            f.write_str("deadlock")
        } else {
            match code {
                14 => f.write_str("page fault"),
                code => f.write_str(exception(u8::try_from(code).unwrap_or(u8::MAX), 0)),
            }
        }
    }
}

impl HowEnded {
    /// What a shell would call it: the code of `Exit`, else 128 and the exception's vector, 200 if killed, 201 if out of memory, 202 if in a
    /// deadlock.
    pub fn code(&self) -> i32 {
        match self.0 {
            e if e.how == Ending::Exit as u32 => e.code,
            e if e.how == Ending::Killed as u32 => 200,
            e if e.how == Ending::OutOfMemory as u32 => 201,
            e if e.how == Ending::Deadlock as u32 => 202,
            e => 128 + e.code,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fault(address: u64, touch: Touch, why: Denied) -> String {
        let cause = Cause::PageFault {
            address,
            touch,
            why,
        };
        let reason = Reason {
            process: 3,
            name: "crash",
            thread: 17,
            rip: 0x401234,
            cause,
        };
        reason.to_string()
    }

    #[test]
    fn page_faults() {
        assert_eq!(
            fault(0, Touch::Write, Denied::Nothing),
            "process 3 (crash), thread 17: page fault: write to 0x0, where nothing is mapped, at 0x401234"
        );
        for (why, word) in [
            (Denied::Guard, "run over"),
            (Denied::Outside, "kernel"),
            (Denied::ReadOnly, "only be read"),
            (Denied::NotExecutable, "data"),
            (Denied::AsKernel, "kernel's rights"),
            (Denied::OutOfMemory, "no memory"),
        ] {
            assert!(fault(1 << 63, Touch::Read, why).contains(word));
        }
        assert!(fault(5, Touch::Execute, Denied::NotExecutable).contains("jump to 0x5"));
    }

    #[test]
    fn each_exception_of_ring_3_has_words_of_its_own() {
        let vectors = [0, 1, 3, 4, 5, 6, 7, 11, 12, 13, 16, 17, 19, 99];
        let words: std::collections::BTreeSet<_> =
            vectors.iter().map(|&v| exception(v, 0)).collect();
        assert_eq!(words.len(), vectors.len());
        assert_ne!(exception(13, 0), exception(13, 8));
    }

    #[test]
    fn ends_and_their_codes() {
        let end = |how: Ending, code| {
            HowEnded(Ended {
                how: how as u32,
                code,
                ..Ended::default()
            })
        };
        let said = |e: HowEnded| (e.to_string(), e.code());
        assert_eq!(said(end(Ending::Exit, 3)), ("exit code 3".into(), 3));
        assert_eq!(said(end(Ending::Killed, 0)), ("killed".into(), 200));
        assert_eq!(
            said(end(Ending::OutOfMemory, 14)),
            ("out of memory".into(), 201)
        );
        assert_eq!(said(end(Ending::Deadlock, 0)), ("deadlock".into(), 202));
        assert_eq!(said(end(Ending::Exception, 14)), ("page fault".into(), 142));
        assert_eq!(end(Ending::Exception, 0).code(), 128);
        assert!(end(Ending::Exception, 0).to_string().contains("#DE"));
    }
}
