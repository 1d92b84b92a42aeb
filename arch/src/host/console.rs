//! Console, control channel and the end: stdout, stderr, and the process's exit status.

use super::cpu::this_if_any;
use crate::ExitCode;
use std::sync::Mutex;

static STDOUT: Mutex<()> = Mutex::new(());
static STDERR: Mutex<()> = Mutex::new(());

/// Writes all of `bytes`, as one `write` where the other end takes it.
fn write_all(fd: i32, mut bytes: &[u8]) -> std::io::Result<()> {
    while !bytes.is_empty() {
        // SAFETY: the pointer and length are those of a live slice.
        let n = unsafe { libc::write(fd, bytes.as_ptr().cast(), bytes.len()) };
        if n > 0 {
            bytes = &bytes[n as usize..];
            continue;
        }
        let error = std::io::Error::last_os_error();
        match error.raw_os_error() {
            Some(libc::EINTR) => {}
            Some(libc::EAGAIN) => std::thread::yield_now(),
            _ => return Err(error),
        }
    }
    Ok(())
}

/// Writes to the console, stdout. The whole slice stays together among the threads of the process. Where it cannot be
/// written the program is over, as the runner ends the bare machine then; a pipe that nobody reads ends it by a signal.
pub fn console_write(bytes: &[u8]) {
    // Kept to the end, so that no other thread says the same.
    let _unit = STDOUT.lock();
    if let Err(error) = write_all(libc::STDOUT_FILENO, bytes) {
        if error.raw_os_error() != Some(libc::EPIPE) {
            control_write(format!("ringo: cannot write the output: {error}\n").as_bytes());
        }
        exit(ExitCode::ProgramFailed)
    }
}

/// [`console_write`] for one who may have interrupted the holder of the console: tries for the lock a while, then writes without.
pub fn panic_console_write(bytes: &[u8]) {
    let mut unit = STDOUT.try_lock().ok();
    for _ in 0..1000 {
        if unit.is_some() {
            break;
        }
        std::thread::yield_now();
        unit = STDOUT.try_lock().ok();
    }
    // It is to be told what went wrong first of all, so the end goes on without.
    drop(write_all(libc::STDOUT_FILENO, bytes));
    drop(unit);
}

/// The next byte of stdin, if there is one; at its end Ctrl-D, as from a terminal.
pub fn console_read() -> Option<u8> {
    const END_OF_INPUT: u8 = 4;
    let mut ready = libc::pollfd {
        fd: libc::STDIN_FILENO,
        events: libc::POLLIN,
        revents: 0,
    };
    let mut byte = 0u8;
    // SAFETY: one descriptor, one byte, both live.
    unsafe {
        if libc::poll(&raw mut ready, 1, 0) < 1 {
            return None;
        }
        match libc::read(libc::STDIN_FILENO, (&raw mut byte).cast(), 1) {
            1 => Some(byte),
            0 => Some(END_OF_INPUT),
            _ => None,
        }
    }
}

/// Writes to the control channel, stderr. Lines that start with byte 1 are for the runner of the bare machine and are
/// dropped. The whole slice stays together.
pub fn control_write(bytes: &[u8]) {
    let mut for_people = Vec::with_capacity(bytes.len());
    for line in bytes.split_inclusive(|&b| b == b'\n') {
        if line[0] != 1 {
            for_people.extend_from_slice(line);
        }
    }
    let _unit = STDERR.lock();
    drop(write_all(libc::STDERR_FILENO, &for_people)); // nobody is left to be told
}

/// Ends the process: status 0 for success, 1 for a failed program or a refused configuration, 2 for a fatal end, 3 for
/// the watchdog.
pub fn exit(code: ExitCode) -> ! {
    let status = match code {
        ExitCode::Success => 0,
        ExitCode::ProgramFailed | ExitCode::BadConfig => 1,
        ExitCode::Fatal | ExitCode::FatalTwice => 2,
        ExitCode::Watchdog => 3,
    };
    if this_if_any().is_some_and(|cpu| cpu.in_fault.get()) {
        // In a signal handler, perhaps of code that holds the C library's locks.
        // SAFETY: ends the process without running any of its code.
        unsafe { libc::_exit(status) }
    }
    std::process::exit(status)
}
