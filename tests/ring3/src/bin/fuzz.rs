//! `fuzz CALLS SEED`: system calls with random numbers and arguments, by threads of three processes at a time. One that ends is followed
//! by the next; one whose threads all sleep for good is ended. Exit code 0: so many calls were made.
#![no_std]
#![no_main]
use core::sync::atomic::{AtomicBool, AtomicU32, Ordering::Relaxed};
use rt::prelude::*;
use rt::process::{Command, Process};
use rt::shm::Shm;
use rt::syscall;
rt::main!(main);

/// Processes at a time, and threads of each that make calls.
const WORKERS: usize = 3;
const THREADS: u64 = 6;
/// Between two looks at a worker; for so many of them it may do nothing, and before its first call, since it has to begin.
const LOOK: Duration = Duration::from_millis(2);
const QUIET_LOOKS: u32 = 25;
const LOOKS_TO_BEGIN: u32 = 1000;

/// xorshift64* (Vigna).
struct Rng(u64);

impl Rng {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d)
    }

    /// Below `n`.
    fn below(&mut self, n: u64) -> u64 {
        (self.next() >> 33) % n
    }

    fn one_of(&mut self, of: &[u64]) -> u64 {
        of[self.below(of.len() as u64) as usize]
    }
}

/// Bytes that calls may write to, and the addresses that arguments are made of.
const SCRATCH_BYTES: u64 = 16 * 4096;

struct Places {
    scratch: u64,
    addresses: Vec<u64>,
}

/// Where address space begins and ends: ring 3's, its half, the kernel's, the direct map, the image.
const EDGES: [u64; 12] = [
    0,
    8,
    4095,
    0x1_0000,
    0x40_0000,
    0x7fff_fffe_fff8,
    0x7fff_ffff_0000,
    0x7fff_ffff_fffc,
    0x8000_0000_0000,
    0xffff_8000_0000_0000,
    0xffff_ffff_8010_0000,
    u64::MAX - 3,
];

impl Places {
    fn new() -> rt::Result<Places> {
        // SAFETY: fresh memory, which only calls touch.
        let scratch = unsafe { syscall::call(abi::Call::Map, [SCRATCH_BYTES, 0]) }?;
        // SAFETY: as before.
        let read_only = unsafe { syscall::call(abi::Call::Map, [4096, abi::MAP_READ_ONLY]) }?;
        let mut addresses = EDGES.to_vec();
        addresses.extend([
            scratch,
            scratch + SCRATCH_BYTES - 8,
            scratch + SCRATCH_BYTES - 1,
        ]);
        addresses.extend([scratch + SCRATCH_BYTES, read_only, read_only + 4000]);
        addresses.push(thread as *const () as u64);
        Ok(Places { scratch, addresses })
    }

    /// A record that starts a process, in the memory that all calls write to.
    fn lay_spawn(&self, rng: &mut Rng) -> u64 {
        static NAMES: [&str; 4] = ["null", "bin/null", "no such program", "\u{fffd}"];
        let name = NAMES[rng.below(4) as usize];
        let of = [0, 0, 0, 1, 3, 40, 256, 257, u64::MAX];
        let record = abi::Spawn {
            name: [name.as_ptr() as u64, name.len() as u64],
            args: [self.address(rng), rng.one_of(&of)],
            handles: [self.address(rng), rng.one_of(&of)],
        };
        let at = self.scratch + 64 * rng.below(8);
        // SAFETY: within the scratch memory, whose content is nobody's.
        unsafe { (at as *mut abi::Spawn).write_volatile(record) };
        at
    }

    fn address(&self, rng: &mut Rng) -> u64 {
        match rng.below(8) {
            0 => rng.one_of(&self.addresses),
            1 => rng.one_of(&self.addresses).wrapping_sub(rng.below(16)),
            2 => rng.next(),
            3 => (self.scratch + 4096 * rng.below(16)).wrapping_sub(8 * rng.below(2)),
            _ => self.scratch + 4 * rng.below(SCRATCH_BYTES / 4),
        }
    }

    fn arg(&self, rng: &mut Rng) -> u64 {
        match rng.below(16) {
            0..=5 => rng.below(32),
            6..=9 => self.address(rng),
            10..=11 => 4096 * rng.below(20),
            12 => (1 << rng.below(64)) - rng.below(2),
            13 => rng.next() >> rng.below(64),
            14 => u64::MAX - rng.below(4096),
            _ => rng.below(70_000),
        }
    }
}

/// A number, known or not.
fn number(rng: &mut Rng) -> u64 {
    match rng.below(32) {
        0 => rng.next(),
        1 => rng.below(100),
        _ => abi::Call::ALL[rng.below(abi::Call::ALL.len() as u64) as usize] as u64,
    }
}

/// Calls that end a thread, let it sleep for good, or are dear: one in so many of them is made.
fn is_left_out(number: u64, args: &[u64; 6], rng: &mut Rng) -> bool {
    use abi::Call;
    let one_in = match Call::from_number(number) {
        Some(Call::Exit | Call::ThreadExit) => 200,
        Some(Call::Gomaxprocs | Call::SpawnProcess) => 30,
        Some(Call::SpawnThread) => 10,
        Some(Call::Sleep) if args[0] > 100_000 => 50,
        Some(Call::FutexWait) if args[2] > 100_000 => 10,
        Some(Call::Wait | Call::Accept | Call::Recv | Call::Read | Call::Connect) => 3,
        _ => 1,
    };
    rng.below(one_in) != 0
}

/// Makes calls for ever.
fn thread(seed: u64, places: &Places, count: &AtomicU32) -> ! {
    let mut rng = Rng(seed | 1);
    loop {
        let number = number(&mut rng);
        let mut args = [(); 6].map(|()| places.arg(&mut rng));
        if is_left_out(number, &args, &mut rng) {
            continue;
        }
        if number == abi::Call::SpawnProcess as u64 && rng.below(4) != 0 {
            args[0] = places.lay_spawn(&mut rng);
        }
        count.fetch_add(1, Relaxed);
        // SAFETY: whatever it does to this process is the purpose.
        unsafe { syscall::raw(number, args) };
    }
}

fn work(index: usize, seed: u64) -> rt::Result<()> {
    let shm: &'static _ = Box::leak(Box::new(Shm::given(3).map()?));
    let places: &'static Places = Box::leak(Box::new(Places::new()?));
    let count = &shm.words()[index];
    for n in 1..THREADS {
        go(move || thread(seed * 31 + n, places, count));
    }
    thread(seed * 31, places, count)
}

/// What the parent knows of one worker after the other.
struct Worker {
    current: Mutex<Option<Arc<Process>>>,
    lives: AtomicU32,
}

/// What the parent has seen of the one that lives.
#[derive(Clone, Copy, Default)]
struct Seen {
    life: u32,
    calls: u32,
    quiet: u32,
    has_begun: bool,
}

impl Seen {
    /// Calls since the last look.
    fn look(&mut self, life: u32, calls: u32) -> u64 {
        // A worker has the counter mapped, and may lead a call there.
        let made = calls.wrapping_sub(self.calls).min(50_000);
        let has_begun = made != 0 || self.has_begun && life == self.life;
        let quiet = match made == 0 && life == self.life {
            true => self.quiet + 1,
            false => 0,
        };
        *self = Seen {
            life,
            calls,
            quiet,
            has_begun,
        };
        made.into()
    }

    fn is_stuck(&self) -> bool {
        let looks = match self.has_begun {
            true => QUIET_LOOKS,
            false => LOOKS_TO_BEGIN,
        };
        self.quiet >= looks
    }
}

/// Lets one worker follow the other.
fn keep(worker: &Worker, index: usize, seed: u64, shm: &Shm, over: &AtomicBool) -> rt::Result<()> {
    while !over.load(Relaxed) {
        let life = worker.lives.fetch_add(1, Relaxed);
        let seed = seed << 24 | u64::from(life) << 4 | index as u64;
        // No console for it: the standard handles are of something else.
        let mut command = Command::new("fuzz").stdin(shm).stdout(shm).stderr(shm);
        command = command.give(shm).arg("worker");
        let command = command.arg(&index.to_string()).arg(&seed.to_string());
        match command.spawn() {
            Ok(process) => {
                let process = Arc::new(process);
                *worker.current.lock() = Some(process.clone());
                process.wait()?;
            }
            // Its predecessors' children hold the places.
            Err(rt::Error::Limit | rt::Error::OutOfMemory) => sleep(LOOK),
            Err(why) => return Err(why),
        }
    }
    Ok(())
}

/// Until all threads together have made so many calls; how many that were, and how many processes had to be ended.
fn watch(calls: u64, workers: &[Worker], counts: &[AtomicU32]) -> rt::Result<(u64, u32)> {
    let mut seen = [Seen::default(); WORKERS];
    let (mut all, mut killed) = (0, 0);
    while all < calls {
        sleep(LOOK);
        gomaxprocs(num_cpu());
        for ((worker, seen), count) in workers.iter().zip(&mut seen).zip(counts) {
            all += seen.look(worker.lives.load(Relaxed), count.load(Relaxed));
            if seen.is_stuck()
                && let Some(process) = worker.current.lock().take()
            {
                process.kill()?;
                killed += 1;
            }
        }
    }
    Ok((all, killed))
}

fn main() -> rt::Result<()> {
    if args().next().as_deref() == Some("worker") {
        let number = |i| rt::args::number(i, "number", 0, 0..=u64::MAX);
        return work(number(1) as usize, number(2));
    }
    let calls = rt::args::number(0, "calls", 10_000, 1..=u64::MAX);
    let seed = rt::args::number(1, "seed", 1, 1..=1 << 32);
    let shm: &'static Shm = Box::leak(Box::new(Shm::new(4096)?));
    let mapped = shm.map()?;
    let worker = |_| Worker {
        current: Mutex::new(None),
        lives: AtomicU32::new(0),
    };
    let workers: &'static [Worker] = (0..WORKERS).map(worker).collect::<Vec<_>>().leak();
    static OVER: AtomicBool = AtomicBool::new(false);
    let keepers: Vec<_> = workers
        .iter()
        .enumerate()
        .map(|(i, worker)| spawn(move || keep(worker, i, seed, shm, &OVER)))
        .collect();
    let (made, killed) = watch(calls, workers, mapped.words())?;
    OVER.store(true, Relaxed);
    // One that began a moment before is ended as well.
    let mut ended = 0;
    for (worker, keeper) in workers.iter().zip(keepers) {
        while !keeper.is_finished() {
            if let Some(process) = worker.current.lock().take() {
                process.kill()?
            }
            sleep(LOOK)
        }
        keeper.join()?;
        ended += worker.lives.load(Relaxed);
    }
    println!("= calls {made}\n= processes {ended}\n= ended_by_the_parent {killed}");
    Ok(())
}
