//! A process: a space, handles, and threads that end together.
//!
//! ```text
//!   Exit, Kill, an exception ──► `end`: how it ends is settled (the first one counts) ── stop words, waits, CPUs ──► threads leave
//!                                                                                                     │
//!   ThreadExit of the last ───────────────────────────────────────────────────────────────────────────┤
//!                                                                                                     ▼
//!              who waits is told ◄── handles and the place in the job are given back ◄── the last one gives the space back
//! ```
//!
//! **I-LAST** Each thread holds the space, and nobody else once the first has begun; who is left with it when all others have let go is
//! the last thread. So a thread that is started is given one's own hold, or a new one of a thread that lives.

use crate::account::Account;
use crate::handles::Handles;
use crate::limits::{self, Job, PageAccount};
use crate::machine;
use crate::object::Child;
use crate::stop::Stop;
use crate::system::System;
use crate::wait::{Wait, Waits};
use abi::{Ended, Ending, Error};
use alloc::collections::BTreeMap;
use alloc::string::String;
use alloc::sync::Arc;
use alloc::vec::Vec;
use base::lock::{Rank, SpinLock};
use core::ptr::NonNull;
use core::sync::atomic::{AtomicU32, Ordering::SeqCst};
use csp::waitq::WaitQueue;
use sched::{GInfo, WaitReason};

/// A process.
pub struct Process {
    id: u64,
    name: String,
    system: &'static System,
    job: Arc<Job>,
    pages: Arc<PageAccount>,
    /// What it keeps in the kernel.
    pub account: Arc<Account>,
    /// Its handles.
    pub handles: Handles,
    /// What its threads' waits end by.
    pub stop: Arc<Stop>,
    threads: SpinLock<Threads>,
    end: SpinLock<End>,
}

struct Threads {
    /// Those that have begun, by number.
    running: BTreeMap<u64, StopWord>,
    /// They, and those that are about to begin.
    count: u32,
    /// How the process ends, once that is settled: no thread begins any more.
    ending: Option<Ended>,
    /// Its place among its job's processes.
    place: Option<Place>,
}

/// Where a thread has its stop word. It stays while the thread is in the list.
struct StopWord(NonNull<AtomicU32>);
// SAFETY: an atomic; it is there while the thread is in the list, and used under the list's lock.
unsafe impl Send for StopWord {}

struct End {
    how: Option<Ended>,
    waiters: WaitQueue,
}

/// A process counts in its job.
struct Place(Arc<Job>);

impl Drop for Place {
    fn drop(&mut self) {
        self.0.processes.give(1)
    }
}

/// What there is to say of a process that lives.
#[derive(Clone, Debug)]
pub struct Info {
    /// Its number.
    pub id: u64,
    /// Its program.
    pub name: String,
    /// Its threads, by number.
    pub threads: Vec<ThreadInfo>,
    /// Memory of its own that is backed, in bytes.
    pub memory_bytes: u64,
    /// Open handles.
    pub handles: usize,
}

/// What there is to say of a thread.
#[derive(Clone, Copy, Debug)]
pub struct ThreadInfo {
    /// The thread as a goroutine: number, state, why it waits.
    pub g: GInfo,
    /// CPU that runs it.
    pub cpu: Option<usize>,
}

impl Process {
    pub(crate) fn new(
        system: &'static System,
        id: u64,
        name: &str,
        job: &Arc<Job>,
        pages: Arc<PageAccount>,
        account: Arc<Account>,
    ) -> Result<Process, Error> {
        if !job.processes.take(1) {
            return Err(Error::Limit);
        }
        let threads = Threads {
            running: BTreeMap::new(),
            count: 0,
            ending: None,
            place: Some(Place(job.clone())),
        };
        let end = End {
            how: None,
            waiters: WaitQueue::new(),
        };
        Ok(Process {
            id,
            name: name.into(),
            system,
            job: job.clone(),
            pages,
            handles: Handles::new(limits::HANDLES as usize, account.clone()),
            account,
            stop: Arc::new(Stop::new()),
            threads: SpinLock::new(Rank::Join, threads),
            end: SpinLock::new(Rank::Channel, end),
        })
    }

    /// Its number. No two have the same.
    pub fn id(&self) -> u64 {
        self.id
    }

    /// Its program.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// All processes of its machine.
    pub fn system(&self) -> &'static System {
        self.system
    }

    /// The job that it belongs to.
    pub fn job(&self) -> &Arc<Job> {
        &self.job
    }

    /// Ends it so, if it does not end otherwise already: true if this is what counts. Its threads leave, wherever they are, soon. By a
    /// goroutine, which may be one of them.
    pub fn end(&self, how: Ended) -> bool {
        let me = sched::current().id();
        let others = {
            let mut threads = self.threads.lock();
            if threads.ending.is_some() {
                return false;
            }
            threads.ending = Some(how);
            for StopWord(word) in threads.running.values() {
                // SAFETY: in the list, which is locked.
                unsafe { word.as_ref() }.store(1, SeqCst)
            }
            threads.running.keys().any(|&thread| thread != me)
        };
        self.stop.stop();
        if others {
            machine::interrupt_busy() // one that is alone is here, not in ring 3
        }
        true
    }

    /// How it has ended; waits for that, on a goroutine of the kernel.
    pub fn wait(&self) -> Ended {
        // Nobody stops this one.
        let waits = Waits::new(&Arc::new(Stop::new()));
        loop {
            if let Ok(how) = Child::wait(self, waits.wait(WaitReason::Join)) {
                return how;
            }
        }
    }

    /// How it has ended, if it has.
    pub fn ended(&self) -> Option<Ended> {
        self.end.lock().how
    }

    /// Room for one more thread.
    pub(crate) fn take_thread(&self) -> Result<(), Error> {
        let mut threads = self.threads.lock();
        if threads.ending.is_some() {
            return Err(Error::Killed);
        }
        if threads.count >= limits::THREADS || !self.job.take_thread() {
            return Err(Error::Limit);
        }
        threads.count += 1;
        Ok(())
    }

    /// The room that a thread had.
    pub(crate) fn give_thread(&self) {
        self.threads.lock().count -= 1;
        self.job.give_thread()
    }

    /// A thread begins; false: it is to leave at once.
    ///
    /// # Safety
    /// The word stays until [`Self::leave`].
    pub(crate) unsafe fn enter(&self, thread: u64, stop: &AtomicU32) -> bool {
        let mut threads = self.threads.lock();
        if threads.ending.is_none() {
            threads
                .running
                .insert(thread, StopWord(NonNull::from(stop)));
        }
        threads.ending.is_none()
    }

    /// A thread leaves.
    pub(crate) fn leave(&self, thread: u64) {
        self.threads.lock().running.remove(&thread);
    }

    /// The last thread has left, and given the space back.
    pub(crate) fn finish(&self) {
        let (how, place) = {
            let mut threads = self.threads.lock();
            let by_its_threads = Ended {
                how: Ending::Exit as u32,
                ..Ended::default()
            };
            let how = *threads.ending.get_or_insert(by_its_threads);
            (how, threads.place.take())
        };
        drop(self.handles.take_all());
        drop(place);
        self.system.remove(self.id);
        let woken = {
            let mut end = self.end.lock();
            end.how = Some(how);
            end.waiters.pop_all()
        };
        woken.ready(true)
    }

    /// What there is to say of it now.
    pub fn info(&self) -> Info {
        let ids: Vec<u64> = {
            let n = self.threads.lock().running.len();
            let mut ids = Vec::with_capacity(n + 8);
            ids.extend(self.threads.lock().running.keys());
            ids
        };
        let mut threads = Vec::with_capacity(ids.len());
        sched::this().for_each_g(|g| {
            if ids.binary_search(&g.id()).is_ok()
                && let Some(info) = GInfo::while_others_run(g)
                && threads.len() < threads.capacity()
            {
                threads.push(ThreadInfo {
                    g: info,
                    cpu: g.cpu(),
                })
            }
        });
        threads.sort_unstable_by_key(|t| t.g.id);
        Info {
            id: self.id,
            name: self.name.clone(),
            threads,
            memory_bytes: self.pages.used() * machine::PAGE,
            handles: self.handles.count(),
        }
    }
}

impl Child for Process {
    fn wait(&self, mut wait: Wait<'_>) -> Result<Ended, Error> {
        wait.until(
            &self.end,
            |end| &mut end.waiters,
            |end| end.how.map(|how| (how, None)),
        )
    }

    fn kill(&self) {
        self.end(Ended {
            how: Ending::Killed as u32,
            ..Ended::default()
        });
    }
}
