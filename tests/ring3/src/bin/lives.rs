//! Short lives, one for each word: what a process can leave behind, for the kernel to take back.
#![no_std]
#![no_main]
use rt::io::{PipeReader, pipe};
use rt::prelude::*;
use rt::process::Command;
use rt::{message, shm::Shm};
rt::main!(main);

/// Threads that wait and one that computes, memory, pipes, channels, shared memory, a child: nothing of it is given back.
fn leave_behind() -> rt::Result<()> {
    let (reader, writer) = pipe()?;
    writer.write_all(&[1; 3000])?;
    let (never, nobody) = pipe()?;
    go(move || read_on(&never));
    let (tx, rx) = message::channel(4)?;
    tx.send(&[2; 4096])?;
    go(|| sleep(Duration::from_secs(3600)));
    go(|| {
        loop {
            core::hint::spin_loop()
        }
    });
    let shm = Shm::new(5 * 4096)?;
    shm.map()?.words()[0].store(1, core::sync::atomic::Ordering::Relaxed);
    let child = Command::new("null").spawn()?;
    core::mem::forget((reader, writer, nobody, tx, rx, shm, child));
    core::mem::forget(vec![1_u8; 300 << 10]);
    Ok(())
}

fn read_on(from: &PipeReader) {
    let _ = from.read(&mut [0; 10]);
}

fn main() -> rt::Result<()> {
    match args().next().unwrap_or_default().as_str() {
        "exit" => exit(7),
        // SAFETY: what happens is the purpose.
        "fault" => unsafe { core::ptr::without_provenance_mut::<u8>(8).write_volatile(1) },
        "leave" => {
            leave_behind()?;
            exit(9)
        }
        "leave-and-stay" => {
            leave_behind()?;
            sleep(Duration::from_secs(3600))
        }
        "sleep" => sleep(Duration::from_secs(3600)),
        other => panic!("there is no life {other}"),
    }
    Ok(())
}
