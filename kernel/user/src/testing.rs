//! For tests: processes without ring 3. Their memory is an array, their threads are goroutines that make calls.

use crate::account::Account;
use crate::call::{Ctx, Services};
use crate::files::Module;
use crate::futex::Futexes;
use crate::handles::Handles;
use crate::limits::Job;
use crate::memory::{Owner, UserMemory, WordKey};
use crate::object::shm::Frames;
use crate::stop::Stop;
use crate::wait::Waits;
use abi::Error;
use csp::JoinHandle;
use csp::time::{Duration, sleep};
use std::string::String;
use std::sync::atomic::{AtomicU8, AtomicU64, Ordering::*};
use std::sync::{Arc, Mutex};
use std::vec::Vec;

/// Runs a test on a scheduler of its own, one test at a time: they have one network and one console.
pub fn run<T: Send + 'static>(f: impl FnOnce() -> T + Send + 'static) -> T {
    static TURN: Mutex<()> = Mutex::new(());
    let _turn = TURN.lock().unwrap_or_else(|e| e.into_inner());
    sched::testing::run(2, 2, f)
}

/// Where a process's memory begins, and how long it is.
pub const BASE: u64 = 0x1_0000;
/// See [`BASE`].
pub const BYTES: u64 = 3 * 4096;
/// Handles of a process.
pub const HANDLES: usize = 16;
/// Bytes that a process may be charged for.
pub const LIMIT: u64 = 16 << 20;

static FUTEXES: Futexes = Futexes::new();
/// What was written to the console.
pub static CONSOLE: Mutex<Vec<u8>> = Mutex::new(Vec::new());
/// What will be typed.
pub static TYPED: Mutex<Vec<u8>> = Mutex::new(Vec::new());
/// Frames of shared memory in use.
pub static FRAMES: AtomicU64 = AtomicU64::new(0);

/// A process.
pub struct Process {
    pub memory: Memory,
    pub handles: Handles,
    pub account: Arc<Account>,
    pub stop: Arc<Stop>,
    services: Services,
}

/// Its memory; a clone is the same memory in another process.
#[derive(Clone)]
pub struct Memory(Arc<[AtomicU8]>, Owner);

impl Memory {
    fn at(&self, address: u64, bytes: u64) -> Result<&[AtomicU8], Error> {
        let begin = address.checked_sub(BASE).ok_or(Error::BadAddress)?;
        let end = begin.checked_add(bytes).ok_or(Error::BadAddress)?;
        let end = usize::try_from(end).map_err(|_| Error::BadAddress)?;
        self.0.get(begin as usize..end).ok_or(Error::BadAddress)
    }

    /// One byte, as the program sees it.
    pub fn byte(&self, address: u64) -> &AtomicU8 {
        &self.at(address, 1).unwrap()[0]
    }

    pub fn put(&self, address: u64, bytes: &[u8]) {
        self.copy_out(address, bytes).unwrap()
    }

    pub fn get(&self, address: u64, bytes: usize) -> Vec<u8> {
        let mut to = std::vec![0; bytes];
        self.copy_in(address, &mut to).unwrap();
        to
    }

    /// Two handles that a call has left there.
    pub fn handles(&self, address: u64) -> [u64; 2] {
        let bytes = self.get(address, 8);
        let handle = |b: &[u8]| u64::from(u32::from_le_bytes(b.try_into().unwrap()));
        [handle(&bytes[..4]), handle(&bytes[4..])]
    }
}

impl UserMemory for Memory {
    fn copy_in(&self, from: u64, to: &mut [u8]) -> Result<(), Error> {
        let from = self.at(from, to.len() as u64)?;
        to.iter_mut()
            .zip(from)
            .for_each(|(to, from)| *to = from.load(Relaxed));
        Ok(())
    }
    fn copy_out(&self, to: u64, from: &[u8]) -> Result<(), Error> {
        let to = self.at(to, from.len() as u64)?;
        to.iter()
            .zip(from)
            .for_each(|(to, &b)| to.store(b, Relaxed));
        Ok(())
    }
    fn check_out(&self, to: u64, bytes: u64) -> Result<(), Error> {
        self.at(to, bytes).map(|_| ())
    }
    fn word_key(&self, address: u64) -> Result<WordKey, Error> {
        if !address.is_multiple_of(4) {
            return Err(Error::BadAddress);
        }
        let word = self.at(address, 4)?;
        Ok(WordKey::of(self.1, word.as_ptr() as u64))
    }
    fn load_u32(&self, address: u64) -> Result<u32, Error> {
        let word = self.at(address, 4)?;
        let bytes = [0, 1, 2, 3].map(|i| word[i].load(Acquire));
        Ok(u32::from_le_bytes(bytes))
    }
}

/// `DiskRead` of these tests: each sector is full of its number; there are 100.
fn disk_read(sector: u64, to: &mut [u8]) -> Result<(), Error> {
    for (i, to) in to.chunks_mut(512).enumerate() {
        let sector = sector.checked_add(i as u64).filter(|&s| s < 100);
        to.fill(sector.ok_or(Error::Disk)? as u8)
    }
    Ok(())
}

impl Process {
    /// A process without handles.
    pub fn new() -> Arc<Process> {
        let bytes = (0..BYTES).map(|_| AtomicU8::new(0)).collect();
        Self::with(Memory(bytes, Owner::new()))
    }

    /// One with the memory of another one.
    pub fn with(memory: Memory) -> Arc<Process> {
        let files: [(String, &'static [u8]); 2] =
            [("empty".into(), b""), ("text".into(), b"0123456789")];
        let services = Services {
            console_write: |bytes, _| CONSOLE.lock().unwrap().extend(bytes),
            disk_read,
            frames: Frames {
                alloc_zeroed: || Some(FRAMES.fetch_add(1, Relaxed) << 12),
                free: |_| {
                    FRAMES.fetch_sub(1, Relaxed);
                },
            },
            files: Arc::new(Module::new(files)),
            futexes: &FUTEXES,
        };
        let account = Account::new(LIMIT, Job::new(), |_| true);
        Arc::new(Process {
            memory,
            handles: Handles::new(HANDLES, account.clone()),
            account,
            stop: Arc::new(Stop::new()),
            services,
        })
    }

    /// Makes calls as a thread of its own, on the calling goroutine.
    pub fn call<T>(&self, f: impl FnOnce(&Ctx<'_>) -> T) -> T {
        let waits = Waits::new(&self.stop);
        f(&Ctx {
            memory: &self.memory,
            handles: &self.handles,
            account: &self.account,
            waits: &waits,
            services: &self.services,
        })
    }

    /// The same on a new goroutine.
    pub fn thread<T: Send + 'static>(
        self: &Arc<Self>,
        f: impl FnOnce(&Ctx<'_>) -> T + Send + 'static,
    ) -> JoinHandle<T> {
        let process = self.clone();
        csp::spawn(move || process.call(f))
    }

    /// A handle of this process's, handed to another one.
    pub fn hand(&self, handle: u64, to: &Process) -> u64 {
        let object = self.handles.get(handle).unwrap().object.clone();
        u64::from(to.handles.insert(object).unwrap())
    }

    /// Waits until it keeps nothing in the kernel any more; the network may take a moment to say its last word.
    pub fn nothing_left(&self) {
        for _ in 0..5000 {
            if self.account.used_bytes() == 0 {
                return;
            }
            a_while()
        }
        panic!("{} bytes are left", self.account.used_bytes())
    }

    /// It ends: its threads go on, its handles are gone.
    pub fn end(&self) {
        self.stop.stop();
        drop(self.handles.take_all())
    }
}

/// Long enough for others to park.
pub fn a_while() {
    sleep(Duration::from_millis(2))
}
