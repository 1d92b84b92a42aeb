//! Programs of ring 3: processes with address spaces of their own, whose threads are goroutines.
//!
//! The runner builds the programs of `userspace/` and packs them for every kernel that has this module in it; with `--disk FILE.tar` there
//! are those of the archive as well. The host machine has no ring 3.
//!
//! ```no_run
//! use ringo::user::{Stdio, spawn};
//! # fn main() -> Result<(), ringo::user::Error> {
//! let process = spawn("hello", &["a", "b"], Stdio::without_input())?;
//! let ended = process.wait();
//! ringo::println!("{ended}"); // exit code 0
//! # Ok(())
//! # }
//! ```

mod foreground;
mod output;
mod services;

pub(crate) use foreground::typed_byte;

use alloc::string::String;
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::fmt;
use user::limits::Job;
use user::object::console::Input;
use user::object::{Child, Object};
use user::reason::HowEnded;
use user::system::{Spawn, SpawnError};

pub use output::Output;
pub use user::process::{Info, ThreadInfo};

/// Why no process was started, or not all that it has printed was read. Its text is one line for people.
///
/// ```
/// let why = ringo::user::Error::Nul;
/// assert_eq!(why.to_string(), "an argument of a program has a NUL byte in it");
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Error {
    /// This is the host machine.
    HostMachine,
    /// An argument has a NUL in it.
    Nul,
    /// It has printed more than so many bytes ([`Output::read_to_end`]).
    TooMuch(usize),
    /// The program, or the machine, does not allow it.
    Refused(SpawnError),
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::HostMachine => {
                f.write_str("programs of ring 3 need the bare machine: leave --machine host out")
            }
            Self::Nul => f.write_str("an argument of a program has a NUL byte in it"),
            Self::TooMuch(most) => {
                write!(f, "a program has printed more than {most} bytes")
            }
            Self::Refused(why) => why.fmt(f),
        }
    }
}

impl core::error::Error for Error {}

/// What a process has as standard input and output; errors go to the console, and so does its output if nothing else is said.
///
/// ```no_run
/// # fn main() -> Result<(), ringo::user::Error> {
/// use ringo::user::{Stdio, spawn};
/// spawn("cat", &["-"], Stdio::console())?.wait();
/// # Ok(())
/// # }
/// ```
pub struct Stdio {
    input: Object,
    output: Object,
}

impl Stdio {
    /// What is typed. Of several processes with it each gets some of the bytes.
    ///
    /// ```
    /// let stdio = ringo::user::Stdio::console();
    /// # drop(stdio);
    /// ```
    pub fn console() -> Stdio {
        let input = Input::new(typed_byte);
        Stdio {
            input: Object::Input(Arc::new(input)),
            output: Object::Output { errors: false },
        }
    }

    /// Nothing: the input is at its end.
    ///
    /// ```
    /// let stdio = ringo::user::Stdio::without_input();
    /// # drop(stdio);
    /// ```
    pub fn without_input() -> Stdio {
        Stdio {
            input: Object::Null,
            output: Object::Output { errors: false },
        }
    }
}

/// A process that was started here. Dropped: it goes on.
///
/// It and all that it starts are a *job*: 64 processes at most, and half of the machine's memory.
///
/// ```no_run
/// # fn main() -> Result<(), ringo::user::Error> {
/// use ringo::user::{Stdio, spawn};
/// let process = spawn("burn", &["1"], Stdio::without_input())?;
/// ringo::println!("process {} {}", process.id(), process.wait());
/// # Ok(())
/// # }
/// ```
pub struct Process {
    process: Arc<user::process::Process>,
}

/// How a process has ended. Its text is for people: `exit code 3`, `killed`, `page fault`.
///
/// ```no_run
/// # fn main() -> Result<(), ringo::user::Error> {
/// use ringo::user::{Stdio, spawn};
/// let ended = spawn("crash", &["null"], Stdio::without_input())?.wait();
/// assert_eq!((ended.to_string().as_str(), ended.code()), ("page fault", 128 + 14));
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ended(HowEnded);

impl Ended {
    /// The code of its exit; if it was ended: 128 and the vector of its exception, 200 if it was killed, 201 if it ran out of memory, 202 if it
    /// was in a deadlock.
    ///
    /// ```no_run
    /// # let process = ringo::user::spawn("hello", &[""; 0], ringo::user::Stdio::without_input()).unwrap();
    /// assert_eq!(process.wait().code(), 0);
    /// ```
    pub fn code(&self) -> i32 {
        self.0.code()
    }
}

impl fmt::Display for Ended {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// Starts the program `name` as a job of its own.
///
/// ```
/// # sched::testing::run(2, 2, || {
/// use ringo::user::{Error, Stdio, spawn};
/// let no_process = spawn("hello", &["a", "b"], Stdio::without_input());
/// assert_eq!(no_process.err(), Some(Error::HostMachine)); // where this example runs
/// # });
/// ```
///
/// # Errors
/// There is no such program, it cannot be run, or there is too little memory. On the host machine: always.
pub fn spawn<A: AsRef<str>>(name: &str, args: &[A], stdio: Stdio) -> Result<Process, Error> {
    if crate::machine::IS_HOST {
        return Err(Error::HostMachine);
    }
    let mut text = Vec::new();
    for arg in args {
        let arg = arg.as_ref().as_bytes();
        if arg.contains(&0) {
            return Err(Error::Nul);
        }
        text.extend_from_slice(arg);
        text.push(0)
    }
    let errors = Object::Output { errors: true };
    let spawn = Spawn {
        name,
        args: &text,
        handles: alloc::vec![Some(stdio.input), Some(stdio.output), Some(errors)],
    };
    let prepared = services::system()
        .prepare(&Job::new(), spawn)
        .map_err(Error::Refused)?;
    let process = prepared.start().map_err(|why| Error::Refused(why.into()))?;
    Ok(Process { process })
}

impl Process {
    /// Its number. No two have the same.
    ///
    /// ```no_run
    /// # let process = ringo::user::spawn("hello", &[""; 0], ringo::user::Stdio::without_input()).unwrap();
    /// ringo::println!("process {}", process.id());
    /// ```
    pub fn id(&self) -> u64 {
        self.process.id()
    }

    /// Waits until it has ended, and all that it had is given back.
    ///
    /// ```no_run
    /// # let process = ringo::user::spawn("hello", &[""; 0], ringo::user::Stdio::without_input()).unwrap();
    /// ringo::println!("{}", process.wait());
    /// ```
    pub fn wait(&self) -> Ended {
        Ended(HowEnded(self.process.wait()))
    }

    /// The same, with the console's input as its own meanwhile: Ctrl-C ends its job. For a process with [`Stdio::console`].
    ///
    /// ```no_run
    /// # use ringo::user::{Stdio, spawn};
    /// # let process = spawn("cat", &[""; 0], Stdio::console()).unwrap();
    /// let ended = process.wait_in_foreground();
    /// # drop(ended);
    /// ```
    pub fn wait_in_foreground(&self) -> Ended {
        foreground::wait(self)
    }

    /// Ends it, wherever its threads are. Nothing happens if it has ended.
    ///
    /// ```no_run
    /// # let process = ringo::user::spawn("burn", &[""; 0], ringo::user::Stdio::without_input()).unwrap();
    /// process.kill();
    /// assert_eq!(process.wait().to_string(), "killed");
    /// ```
    pub fn kill(&self) {
        self.process.kill()
    }

    /// Ends it and all that it has started, and what these have.
    ///
    /// ```no_run
    /// # let process = ringo::user::spawn("forkbomb", &[""; 0], ringo::user::Stdio::without_input()).unwrap();
    /// process.kill_job();
    /// ```
    pub fn kill_job(&self) {
        self.process.system().kill_job(self.process.job())
    }
}

/// Ends process number `id`; false: there is none.
///
/// ```
/// # sched::testing::run(2, 2, || {
/// assert!(!ringo::user::kill(1)); // there is none
/// # });
/// ```
pub fn kill(id: u64) -> bool {
    let process = services::system().process(id);
    process.inspect(|process| process.kill()).is_some()
}

/// All processes that live, by number, with their threads.
///
/// ```
/// # sched::testing::run(2, 2, || {
/// for process in ringo::user::processes() {
///     println!("{}: {}, {} threads", process.id, process.name, process.threads.len());
/// }
/// # });
/// ```
pub fn processes() -> Vec<Info> {
    services::system().list()
}

/// Names of the programs that there are.
///
/// ```
/// # sched::testing::run(2, 2, || {
/// assert!(ringo::user::programs().is_empty()); // on the host machine
/// # });
/// ```
pub fn programs() -> Vec<String> {
    services::system().programs()
}
