//! All processes of a machine, and how one begins.

use crate::account::Account;
use crate::call::Services;
use crate::elf::{self, NotAProgram};
use crate::files::Bytes;
use crate::limits::{self, Job, PageAccount};
use crate::machine::{self, PAGE};
use crate::object::{Child, Object};
use crate::process::{Info, Process};
use crate::space::{STACK_BYTES, STACK_TOP, Space};
use crate::thread::{self, Start};
use abi::Error;
use alloc::collections::BTreeMap;
use alloc::string::{String, ToString};
use alloc::sync::Arc;
use alloc::vec::Vec;
use base::lock::{Rank, SpinLock};
use core::fmt;
use core::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// Where programs lie among the files.
const PROGRAMS: &str = "bin/";

/// The processes of a machine. There is one; tests on the host make more.
pub struct System {
    /// What the kernel does for the calls.
    pub services: Services,
    processes: SpinLock<BTreeMap<u64, Arc<Process>>>,
    last_id: AtomicU64,
}

/// Why a process has not begun.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SpawnError {
    /// There is no program of that name.
    NotFound(String),
    /// The file of that name is none that can be run.
    NotAProgram(String, NotAProgram),
    /// The file of that name cannot be read as a whole.
    Unreadable(String, Error),
    /// No memory, or a limit.
    Refused(Error),
}

impl fmt::Display for SpawnError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotFound(name) => write!(f, "there is no program {name}"),
            Self::NotAProgram(name, why) => write!(f, "{name} cannot be run: {why}"),
            Self::Unreadable(name, why) => write!(f, "program {name} cannot be read: {why}"),
            Self::Refused(why) => write!(f, "no process can be started: {why}"),
        }
    }
}

impl core::error::Error for SpawnError {}

impl From<Error> for SpawnError {
    fn from(why: Error) -> Self {
        Self::Refused(why)
    }
}

impl From<SpawnError> for Error {
    fn from(why: SpawnError) -> Error {
        match why {
            SpawnError::NotFound(_) => Error::NotFound,
            SpawnError::NotAProgram(..) => Error::NotExecutable,
            SpawnError::Unreadable(_, why) | SpawnError::Refused(why) => why,
        }
    }
}

/// What a process begins with.
pub struct Spawn<'a> {
    /// Name of its program.
    pub name: &'a str,
    /// Its arguments, each ended by a NUL.
    pub args: &'a [u8],
    /// Its handles 0, 1, 2, …; None leaves one out.
    pub handles: Vec<Option<Object>>,
}

/// A process that has all it needs, and no thread yet. Dropped: it never was.
pub struct Prepared {
    /// The process.
    pub process: Arc<Process>,
    space: Arc<Space>,
    start: Start,
}

impl System {
    /// A machine without processes.
    pub fn new(services: Services) -> System {
        System {
            services,
            processes: SpinLock::new(Rank::Join, BTreeMap::new()),
            last_id: AtomicU64::new(0),
        }
    }

    /// Names of the programs.
    pub fn programs(&self) -> Vec<String> {
        let names = self.services.files.names().into_iter();
        let mut programs: Vec<_> = names
            .filter_map(|name| Some(name.strip_prefix(PROGRAMS)?.to_string()))
            .collect();
        programs.sort_unstable();
        programs
    }

    fn file(&self, name: &str, account: &Arc<Account>) -> Result<Bytes, SpawnError> {
        let files = &self.services.files;
        let in_programs = files.open(&alloc::format!("{PROGRAMS}{name}"), account);
        let found = match in_programs {
            Err(Error::NotFound) => files.open(name, account),
            found => found,
        };
        found.map_err(|why| match why {
            Error::NotFound => SpawnError::NotFound(name.into()),
            why => SpawnError::Unreadable(name.into(), why),
        })
    }

    /// A process in `job`, up to its first thread.
    ///
    /// # Errors
    /// No such program, no memory, a limit of the job.
    pub fn prepare(
        &'static self,
        job: &Arc<Job>,
        spawn: Spawn<'_>,
    ) -> Result<Prepared, SpawnError> {
        if spawn.args.len() as u64 > limits::ARGS_BYTES {
            return Err(Error::Limit.into());
        }
        let pages = Arc::new(PageAccount::new(job.clone()));
        let account = Account::new(pages.limit() * PAGE, job.clone(), spare);
        let file = self.file(spawn.name, &account)?;
        let program = elf::parse((*file).as_ref())
            .map_err(|why| SpawnError::NotAProgram(spawn.name.into(), why))?;
        let id = self.last_id.fetch_add(1, Relaxed) + 1;
        let process = Process::new(self, id, spawn.name, job, pages.clone(), account)?;
        for (i, object) in spawn.handles.into_iter().enumerate() {
            if let Some(object) = object {
                let number = u32::try_from(i).map_err(|_| Error::Limit)?;
                process.handles.insert_as(number, object)?;
            }
        }
        let space = Space::new(pages)?;
        program.map(&space, &file)?;
        space.map_fixed(STACK_TOP - STACK_BYTES, STACK_BYTES)?;
        let n = spawn.args.len() as u64;
        let args = space.map(n.max(1).next_multiple_of(PAGE), true)?;
        space.copy_out(args, spawn.args)?;
        Ok(Prepared {
            process: Arc::new(process),
            space: Arc::new(space),
            start: Start {
                entry: program.entry,
                stack_top: STACK_TOP,
                args: [args, n],
            },
        })
    }

    /// The process of that number, if it lives.
    pub fn process(&self, id: u64) -> Option<Arc<Process>> {
        self.processes.lock().get(&id).cloned()
    }

    /// All that live, by number.
    fn all(&self) -> Vec<Arc<Process>> {
        // Room first: nothing is allocated for long under the lock.
        let n = self.processes.lock().len();
        let mut all = Vec::with_capacity(n + 8);
        all.extend(self.processes.lock().values().cloned());
        all
    }

    /// What there is to say of each.
    pub fn list(&self) -> Vec<Info> {
        self.all().iter().map(|process| process.info()).collect()
    }

    /// Ends all processes of a job; it will have no new ones.
    pub fn kill_job(&self, job: &Arc<Job>) {
        {
            // A process enters the table and looks at this under the same lock: it is listed, or it does not begin.
            let _table = self.processes.lock();
            job.close()
        }
        for process in self.all() {
            if Arc::ptr_eq(process.job(), job) {
                process.kill()
            }
        }
    }

    fn enter(&self, process: &Arc<Process>) -> Result<(), Error> {
        let mut table = self.processes.lock();
        if process.job().is_closed() {
            return Err(Error::Killed);
        }
        table.insert(process.id(), process.clone());
        Ok(())
    }

    /// It has ended.
    pub(crate) fn remove(&self, id: u64) {
        let gone = self.processes.lock().remove(&id);
        drop(gone) // not under the lock
    }
}

impl Prepared {
    /// It begins. One that cannot has ended, killed: others may have a handle to it, and wait.
    ///
    /// # Errors
    /// No memory for a thread; its job is over, or has too many threads.
    pub fn start(self) -> Result<Arc<Process>, Error> {
        let process = self.process;
        let entered = process.system().enter(&process);
        let begun = entered.and_then(|()| thread::spawn(&process, self.space, self.start));
        if let Err(why) = begun {
            process.kill();
            process.finish();
            return Err(why);
        }
        Ok(process)
    }
}

/// Has the machine so many bytes left for what a process keeps in the kernel?
fn spare(bytes: u64) -> bool {
    machine::has_frames(bytes.div_ceil(PAGE))
}
