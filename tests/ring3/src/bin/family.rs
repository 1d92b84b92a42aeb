//! Parents and children: codes, arguments, waiting, orphans, handles that are handed over. Exit code 0: all as it should be.
#![no_std]
#![no_main]
use rt::fs::File;
use rt::io::{self, PipeReader, pipe};
use rt::prelude::*;
use rt::process::Command;
use rt::{Error, Handle, message, syscall};
rt::main!(main);

/// Name, what it does.
type Part = (&'static str, fn() -> rt::Result<()>);

const PARTS: &[Part] = &[
    ("codes", codes),
    ("arguments", arguments),
    ("waiters", waiters),
    ("orphans", orphans),
    ("handles", handles),
    ("bad starts", bad_starts),
    ("last thread", last_thread),
];

fn copy<'a>(role: &str) -> Command<'a> {
    Command::new("family").arg(role)
}

fn codes() -> rt::Result<()> {
    for code in [0, 1, 2, 101, 255, 256, -1, i32::MAX, i32::MIN] {
        let ended = copy("exit").arg(&code.to_string()).spawn()?.wait()?;
        assert_eq!(ended.code(), Some(code));
    }
    Ok(())
}

fn all_of(from: &PipeReader) -> rt::Result<String> {
    let mut text = Vec::new();
    from.read_to_end(&mut text)?;
    Ok(String::from_utf8_lossy(&text).into_owned())
}

fn arguments() -> rt::Result<()> {
    let long = "long ".repeat(5000);
    let lists: [&[&str]; 5] = [
        &[],
        &[""],
        &["a", "", "b c", "\u{f6}\u{4e16}\n"],
        &["--", "-x", "&"],
        &[&long, &long],
    ];
    for list in lists {
        let (from, to) = pipe()?;
        let command = list.iter().fold(copy("repeat"), |c, arg| c.arg(arg));
        let child = command.stdout(&to).spawn()?;
        drop(to);
        let want: String = list.iter().map(|arg| format!("[{arg}]")).collect();
        assert_eq!(all_of(&from)?, want);
        assert!(child.wait()?.success());
    }
    Ok(())
}

/// Threads, and a process that was handed the child, wait for the same end; who comes late gets it as well.
fn waiters() -> rt::Result<()> {
    let (from, to) = pipe()?;
    let child = Arc::new(copy("exit when told").arg("23").stdin(&from).spawn()?);
    drop(from);
    let threads: Vec<_> = (0..8)
        .map(|_| {
            let child = child.clone();
            spawn(move || child.wait())
        })
        .collect();
    let other = copy("wait for it").give(&*child).spawn()?;
    sleep(Duration::from_millis(2));
    drop(to);
    for thread in threads {
        assert_eq!(thread.join()?.code(), Some(23));
    }
    assert_eq!(other.wait()?.code(), Some(23));
    let late = copy("wait for it").give(&*child).spawn()?;
    assert_eq!(late.wait()?.code(), Some(23));
    Ok(())
}

/// A child of a child goes on when that has ended, and what it was given with it.
fn orphans() -> rt::Result<()> {
    let (hold, told) = pipe()?;
    let (from, to) = pipe()?;
    let parent = copy("leave a child").stdin(&hold).stdout(&to).spawn()?;
    drop((hold, to));
    assert!(parent.wait()?.success());
    drop(told);
    assert_eq!(all_of(&from)?, "the orphan");
    Ok(())
}

/// Handles of a child are its own: the same objects, under its own numbers.
fn handles() -> rt::Result<()> {
    let (tx, rx) = message::channel(0)?;
    let file = File::open("bin/null")?;
    let child = copy("handles").give(&rx).give(&file).spawn()?;
    drop((rx, file));
    tx.send(b"to the child")?;
    assert!(child.wait()?.success());
    // It had the only end to receive.
    assert_eq!(tx.send(b"nobody"), Err(Error::Closed));
    Ok(())
}

fn bad_starts() -> rt::Result<()> {
    let refused = |name: &str| Command::new(name).spawn().err();
    assert_eq!(refused("no such program"), Some(Error::NotFound));
    assert_eq!(refused(""), Some(Error::NotFound));
    let none = Handle::given(200);
    assert_eq!(
        copy("exit").give(&none).spawn().err(),
        Some(Error::BadHandle)
    );
    core::mem::forget(none);
    let out = io::stdout();
    // SAFETY: touches no memory of ours.
    let of_no_process = unsafe { syscall::call(abi::Call::Kill, [out.as_ref().number().into()]) };
    assert_eq!(of_no_process, Err(Error::BadHandle));
    Ok(())
}

/// The first thread may leave before the others; the last one ends the process, with code 0.
fn last_thread() -> rt::Result<()> {
    let (from, to) = pipe()?;
    let child = copy("first thread leaves").stdout(&to).spawn()?;
    drop(to);
    assert_eq!(all_of(&from)?, "the last");
    assert_eq!(child.wait()?.code(), Some(0));
    Ok(())
}

/// Until nobody holds the other end of the standard input.
fn wait_until_told() -> rt::Result<()> {
    while io::stdin().read(&mut [0; 8])? != 0 {}
    Ok(())
}

/// What a copy of this program does.
fn play(role: &str, more: &[String]) -> rt::Result<()> {
    let code = || more.first().and_then(|n| n.parse().ok()).unwrap_or(-77);
    match role {
        "exit" => exit(code()),
        "repeat" => more.iter().for_each(|arg| print!("[{arg}]")),
        "exit when told" => {
            wait_until_told()?;
            exit(code())
        }
        "wait for it" => {
            let mut ended = abi::Ended::default();
            let to = &raw mut ended as u64;
            // SAFETY: the kernel fills in the record.
            unsafe { syscall::call(abi::Call::Wait, [3, to]) }?;
            exit(ended.code)
        }
        "leave a child" => drop(copy("orphan").spawn()?),
        "orphan" => {
            wait_until_told()?;
            print!("the orphan")
        }
        "handles" => {
            let mut text = [0; 20];
            let n = message::MessageReceiver::given(3).recv(&mut text)?;
            assert_eq!(n, Some(12));
            let mut magic = [0; 4];
            // SAFETY: the kernel writes to a buffer of ours.
            unsafe { syscall::call(abi::Call::Read, [4, magic.as_mut_ptr() as u64, 4]) }?;
            assert_eq!(&magic, b"\x7fELF");
        }
        "first thread leaves" => {
            go(|| {
                sleep(Duration::from_millis(3));
                print!("the last")
            });
            // SAFETY: nothing of this thread's stack is anybody else's.
            unsafe { syscall::call(abi::Call::ThreadExit, []) }?;
        }
        _ => exit(-78),
    }
    Ok(())
}

fn main() -> Result<(), String> {
    let all: Vec<String> = args().collect();
    if let Some((role, more)) = all.split_first() {
        return play(role, more).map_err(|e| format!("{role}: {e}"));
    }
    for (name, part) in PARTS {
        part().map_err(|e| format!("{name}: {e}"))?
    }
    Ok(())
}
