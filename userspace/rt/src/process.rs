//! Other processes: starting, waiting, ending (`std::process`).

use crate::{Error, Handle, Result, syscall};
use abi::{Call, Ending, Spawn};
use alloc::string::String;
use alloc::vec::Vec;
use core::fmt;

/// What to start, and with what.
///
/// The handles are lent until [`spawn`](Command::spawn); the new process has its own to the same objects.
#[derive(Clone, Debug)]
pub struct Command<'a> {
    name: String,
    args: Vec<u8>,
    wrong: bool,
    handles: [Option<&'a Handle>; 3],
    more: Vec<&'a Handle>,
}

impl<'a> Command<'a> {
    /// The program of that name, without arguments, with this process's standard input, output and errors.
    pub fn new(name: &str) -> Command<'a> {
        Command {
            name: name.into(),
            args: Vec::new(),
            wrong: false,
            handles: [None; 3],
            more: Vec::new(),
        }
    }

    /// One more argument. A NUL in it makes [`spawn`](Command::spawn) fail.
    pub fn arg(mut self, arg: &str) -> Self {
        self.wrong |= arg.contains('\0');
        self.args.extend_from_slice(arg.as_bytes());
        self.args.push(0);
        self
    }

    /// Its standard input.
    pub fn stdin(mut self, handle: &'a impl AsRef<Handle>) -> Self {
        self.handles[0] = Some(handle.as_ref());
        self
    }

    /// Its standard output.
    pub fn stdout(mut self, handle: &'a impl AsRef<Handle>) -> Self {
        self.handles[1] = Some(handle.as_ref());
        self
    }

    /// Its standard error.
    pub fn stderr(mut self, handle: &'a impl AsRef<Handle>) -> Self {
        self.handles[2] = Some(handle.as_ref());
        self
    }

    /// One more handle: the first is its handle 3, the next 4 and so on.
    pub fn give(mut self, handle: &'a impl AsRef<Handle>) -> Self {
        self.more.push(handle.as_ref());
        self
    }

    /// Starts it.
    ///
    /// # Errors
    ///
    /// [`Error::NotFound`]; [`Error::NotExecutable`]; [`Error::Limit`]: as many processes as there may be; [`Error::OutOfMemory`];
    /// [`Error::BadArgument`]: an argument with a NUL.
    pub fn spawn(&self) -> Result<Process> {
        if self.wrong {
            return Err(Error::BadArgument);
        }
        let handles = self.handle_numbers();
        let spawn = Spawn {
            name: [self.name.as_ptr() as u64, self.name.len() as u64],
            args: [self.args.as_ptr() as u64, self.args.len() as u64],
            handles: [handles.as_ptr() as u64, handles.len() as u64],
        };
        // SAFETY: the kernel reads the record and what it points at, all of which lives as long as the call.
        let handle =
            unsafe { syscall::call(Call::SpawnProcess, [core::ptr::from_ref(&spawn) as u64]) }?;
        Ok(Process(Handle::new(handle)))
    }

    /// What the new process gets as its handles 0, 1, 2, …
    fn handle_numbers(&self) -> Vec<u32> {
        let standard = [abi::STDIN, abi::STDOUT, abi::STDERR];
        let given = self.handles.iter().zip(standard);
        let mut numbers: Vec<u32> = given
            .map(|(handle, ours)| handle.map_or(ours, Handle::number))
            .collect();
        numbers.extend(self.more.iter().map(|handle| handle.number()));
        numbers
    }
}

/// A handle to a process. Dropped, the process goes on.
#[derive(Debug)]
pub struct Process(Handle);

impl Process {
    /// The process to which this one was given that handle.
    pub fn given(number: u32) -> Process {
        Process(Handle::given(number))
    }

    /// Waits until it has ended. Whoever asks later gets the same answer.
    ///
    /// # Errors
    ///
    /// What the kernel says of the handle.
    pub fn wait(&self) -> Result<Ended> {
        let mut ended = abi::Ended::default();
        let to = core::ptr::from_mut(&mut ended) as u64;
        // SAFETY: the kernel fills in the record.
        unsafe { syscall::call(Call::Wait, [self.0.number().into(), to]) }?;
        Ok(Ended(ended))
    }

    /// Ends it.
    ///
    /// # Errors
    ///
    /// What the kernel says of the handle.
    pub fn kill(&self) -> Result<()> {
        // SAFETY: touches no memory of ours.
        unsafe { syscall::call(Call::Kill, [self.0.number().into()]) }.map(|_| ())
    }
}

impl AsRef<Handle> for Process {
    fn as_ref(&self) -> &Handle {
        &self.0
    }
}

/// How a process has ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ended(pub abi::Ended);

impl Ended {
    /// Whether it was `exit(0)`.
    pub fn success(&self) -> bool {
        self.code() == Some(0)
    }

    /// The code of `exit`, if that was its end.
    pub fn code(&self) -> Option<i32> {
        (self.0.how == Ending::Exit as u32).then_some(self.0.code)
    }
}

impl fmt::Display for Ended {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let abi::Ended {
            how,
            code,
            address,
            rip,
        } = self.0;
        /// Vector of a page fault.
        const PAGE_FAULT: i32 = 14;
        match how {
            how if how == Ending::Exit as u32 => write!(f, "exit code {code}"),
            how if how == Ending::Killed as u32 => f.write_str("killed"),
            how if how == Ending::OutOfMemory as u32 => {
                write!(f, "out of memory at {address:#x}, instruction at {rip:#x}")
            }
            how if how == Ending::Deadlock as u32 => f.write_str("deadlock"),
            _ if code == PAGE_FAULT => {
                write!(f, "page fault at {address:#x}, instruction at {rip:#x}")
            }
            _ => write!(f, "exception {code}, instruction at {rip:#x}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_lists_its_handles_in_order() {
        let (input, extra) = (Handle::given(7), Handle::given(9));
        let command = Command::new("x").stdin(&input).give(&extra);
        assert_eq!(command.handle_numbers(), [7, 1, 2, 9]);
        assert_eq!(Command::new("x").handle_numbers(), [0, 1, 2]);
    }

    #[test]
    fn arguments_end_with_a_nul_and_have_none() {
        let command = Command::new("x").arg("a").arg("").arg("b c");
        assert_eq!(command.args, b"a\0\0b c\0");
        let wrong = Command::new("x").arg("a\0b").spawn();
        assert_eq!(wrong.unwrap_err(), Error::BadArgument);
    }

    #[test]
    fn endings_say_what_it_was() {
        let ended = |how: Ending, code| {
            Ended(abi::Ended {
                how: how as u32,
                code,
                address: 0x10,
                rip: 0x40_0000,
            })
        };
        assert!(ended(Ending::Exit, 0).success());
        assert_eq!(ended(Ending::Exit, 3).code(), Some(3));
        assert_eq!(ended(Ending::Killed, 0).code(), None);
        assert_eq!(ended(Ending::Exit, 3).to_string(), "exit code 3");
        assert_eq!(
            ended(Ending::Exception, 14).to_string(),
            "page fault at 0x10, instruction at 0x400000"
        );
        assert_eq!(
            ended(Ending::Exception, 6).to_string(),
            "exception 6, instruction at 0x400000"
        );
    }
}
