//! Uses all of the library that ring-3 programs are written with, in threads and between processes. Exit code 0: all as it should be.
#![no_std]
#![no_main]
use core::sync::atomic::{AtomicU32, Ordering};
use rt::prelude::*;
use rt::process::Command;
use rt::shm::Shm;
use rt::thread::Builder;
use rt::{Error, futex, io, message};
rt::main!(main);

/// Name, what it does.
type Part = (&'static str, fn() -> rt::Result<()>);

const PARTS: &[Part] = &[
    ("threads", threads),
    ("stacks", stacks),
    ("heap", heap),
    ("locks", locks),
    ("channels", channels),
    ("pipes", pipes),
    ("messages", messages),
    ("shared memory", shared_memory),
    ("endings", endings),
    ("handles", handles),
    ("time", time),
];

/// More threads one after the other than a process may have at a time, and many at a time.
fn threads() -> rt::Result<()> {
    for n in 0..2000_u64 {
        assert_eq!(spawn(move || n * 2).join(), n * 2);
    }
    let many: Vec<_> = (0..200_u64).map(|n| spawn(move || n)).collect();
    let sum: u64 = many.into_iter().map(JoinHandle::join).sum();
    assert_eq!(sum, (0..200).sum());
    Ok(())
}

/// A stack is as large as it should be, whoever had it before.
fn stacks() -> rt::Result<()> {
    for kib in [16, 64, 1024] {
        let builder = Builder::new().stack_bytes(kib << 10);
        let threads: rt::Result<Vec<_>> = (0..40)
            .map(|_| builder.spawn(move || fill(kib / 4)))
            .collect();
        for thread in threads? {
            assert_eq!(thread.join(), kib / 4);
        }
    }
    Ok(())
}

/// Uses `kib` KiB of the stack, and a little more.
fn fill(kib: usize) -> usize {
    let block = core::hint::black_box([kib as u8; 1024]);
    match kib {
        0 | 1 => kib,
        _ => fill(kib - 1) + usize::from(block[7] == kib as u8),
    }
}

/// Small and large blocks from four threads: each stays what it is.
fn heap() -> rt::Result<()> {
    let threads: Vec<_> = (1..=4_usize)
        .map(|seed| {
            spawn(move || {
                let mut kept: Vec<Vec<u8>> = Vec::new();
                for n in 1..600_usize {
                    let bytes =
                        n * seed * 7919 % 9000 + if n.is_multiple_of(50) { 300 << 10 } else { 1 };
                    kept.push(vec![n as u8; bytes]);
                    if kept.len() > 40 {
                        let old = kept.swap_remove(n % 40);
                        assert!(old.iter().all(|&byte| byte == old[0]));
                    }
                }
            })
        })
        .collect();
    threads.into_iter().for_each(JoinHandle::join);
    Ok(())
}

fn locks() -> rt::Result<()> {
    let shared = Arc::new((Mutex::new(0), Cond::new()));
    let group = WaitGroup::new();
    for _ in 0..8 {
        let shared = shared.clone();
        group.go(move || {
            for _ in 0..500 {
                *shared.0.lock() += 1;
            }
            shared.1.notify_one();
        });
    }
    let mut sum = shared.0.lock();
    while *sum < 4000 {
        sum = shared.1.wait(sum);
    }
    drop(sum);
    group.wait();
    let waited = shared
        .1
        .wait_timeout(shared.0.lock(), Duration::from_millis(2));
    assert!(!waited.1 && shared.0.try_lock().is_none());
    Ok(())
}

fn channels() -> rt::Result<()> {
    for cap in [0, 1, 10] {
        let (tx, rx) = chan::<u64>(cap);
        for _ in 0..4 {
            let tx = tx.clone();
            go(move || (1..=250).for_each(|n| _ = tx.send(n)));
        }
        drop(tx);
        assert_eq!(rx.iter().sum::<u64>(), 4 * (250 * 251 / 2));
    }
    Ok(())
}

/// A copy of this program, in the role that it is told.
fn copy<'a>(role: &str) -> Command<'a> {
    Command::new("library").arg(role)
}

/// More than a pipe has room for, to a process and back.
fn pipes() -> rt::Result<()> {
    let (their_in, our_out) = io::pipe()?;
    let (our_in, their_out) = io::pipe()?;
    let cat = copy("cat").stdin(&their_in).stdout(&their_out).spawn()?;
    drop((their_in, their_out));
    let sent: Vec<u8> = (0..300_000_u32).map(|n| ((n * 31) >> 3) as u8).collect();
    let theirs = sent.clone();
    let writer = spawn(move || our_out.write_all(&theirs));
    let mut back = Vec::new();
    our_in.read_to_end(&mut back)?;
    writer.join()?;
    assert!(back == sent);
    assert!(cat.wait()?.success());

    let (reader, writer) = io::pipe()?;
    drop(reader);
    assert_eq!(writer.write_all(b"x"), Err(Error::Closed));
    Ok(())
}

fn messages() -> rt::Result<()> {
    for cap in [0, 4] {
        let (tx, their_rx) = message::channel(cap)?;
        let (their_tx, rx) = message::channel(cap)?;
        let mirror = copy("mirror").give(&their_rx).give(&their_tx).spawn()?;
        drop((their_rx, their_tx));
        let mut buffer = vec![0; message::MAX_BYTES];
        for bytes in [1, 100, message::MAX_BYTES] {
            tx.send(&vec![bytes as u8; bytes])?;
            assert_eq!(rx.recv(&mut buffer)?, Some(bytes));
            assert!(buffer[..bytes].iter().all(|&byte| byte == bytes as u8));
        }
        assert_eq!(
            tx.send(&vec![0; message::MAX_BYTES + 1]),
            Err(Error::BadArgument)
        );
        tx.send(b"more than a byte")?;
        assert_eq!(rx.recv(&mut buffer[..1]), Err(Error::TooSmall));
        drop(tx);
        assert_eq!(rx.recv(&mut buffer)?, None);
        assert!(mirror.wait()?.success());
    }
    Ok(())
}

/// Words that two processes count up in turn, each asleep until it is its turn.
fn shared_memory() -> rt::Result<()> {
    let shm = Shm::new(8192)?;
    let words = shm.map()?;
    assert_eq!((words.size(), words.words().len()), (8192, 2048));
    let counter = copy("counter").give(&shm).spawn()?;
    take_turns(&words.words()[2047], 0);
    assert!(counter.wait()?.success());
    assert_eq!(words.words()[2047].load(Ordering::Acquire), ROUNDS);
    Ok(())
}

const ROUNDS: u32 = 1000;

/// Adds 1 wherever the word has this parity.
fn take_turns(word: &AtomicU32, parity: u32) {
    loop {
        let n = word.load(Ordering::Acquire);
        if n >= ROUNDS {
            return;
        }
        if n % 2 == parity {
            word.store(n + 1, Ordering::Release);
            futex::wake(word, 1);
        } else {
            let _ = futex::wait(word, n);
        }
    }
}

fn endings() -> rt::Result<()> {
    assert_eq!(copy("seven").spawn()?.wait()?.code(), Some(7));
    // Its threads end with it, and what it says of its end is no news to us.
    let (_quiet, errors) = io::pipe()?;
    assert_eq!(
        copy("panic").stderr(&errors).spawn()?.wait()?.code(),
        Some(101)
    );
    let sleeper = copy("sleep").spawn()?;
    sleeper.kill()?;
    for _ in 0..2 {
        let ended = sleeper.wait()?;
        assert_eq!(
            (ended.code(), ended.to_string()),
            (None, "killed".to_string())
        );
    }
    assert_eq!(
        Command::new("no-such-program").spawn().err(),
        Some(Error::NotFound)
    );
    Ok(())
}

fn handles() -> rt::Result<()> {
    let (reader, writer) = io::pipe()?;
    let second = writer.as_ref().duplicate()?;
    assert_ne!(second.number(), writer.as_ref().number());
    drop(writer);
    let first = copy("say").stdout(&second).spawn()?;
    drop(second);
    let mut said = Vec::new();
    reader.read_to_end(&mut said)?;
    assert_eq!(said, b"said\n");
    assert!(first.wait()?.success());
    assert_eq!(
        rt::fs::read_file("no/such/file").err(),
        Some(Error::NotFound)
    );
    Ok(())
}

fn time() -> rt::Result<()> {
    let start = now();
    sleep(Duration::from_millis(3));
    assert!(now() - start >= Duration::from_millis(3));
    let never = AtomicU32::new(1);
    assert_eq!(futex::wait(&never, 0), Err(Error::Again));
    let waited = futex::wait_timeout(&never, 1, Duration::from_millis(2));
    assert_eq!(waited, Err(Error::TimedOut));
    Ok(())
}

/// What a copy of this program does.
fn play(role: &str) -> rt::Result<()> {
    let mut buffer = vec![0; message::MAX_BYTES];
    match role {
        "cat" => loop {
            match io::stdin().read(&mut buffer)? {
                0 => return Ok(()),
                n => io::stdout().write_all(&buffer[..n])?,
            }
        },
        "mirror" => {
            let (from, to) = (
                message::MessageReceiver::given(3),
                message::MessageSender::given(4),
            );
            while let Some(n) = from.recv(&mut buffer)? {
                to.send(&buffer[..n])?;
            }
            Ok(())
        }
        "counter" => {
            take_turns(&Shm::given(3).map()?.words()[2047], 1);
            Ok(())
        }
        "seven" => exit(7),
        "panic" => {
            go(|| panic!("as it should"));
            sleep(Duration::from_secs(3600));
            Ok(())
        }
        "sleep" => {
            sleep(Duration::from_secs(3600));
            Ok(())
        }
        "say" => {
            println!("said");
            Ok(())
        }
        _ => Err(Error::BadArgument),
    }
}

fn main() -> Result<(), String> {
    if let Some(role) = args().next() {
        return play(&role).map_err(|e| format!("{role}: {e}"));
    }
    for (name, part) in PARTS {
        let start = now();
        part().map_err(|e| format!("{name}: {e}"))?;
        println!("{name}: {:.1?}", now() - start);
    }
    Ok(())
}
