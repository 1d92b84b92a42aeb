//! The few calls to the host system that `std` has no words for. All unsafe code of the runner is here.

use std::fs::File;
use std::io::{self, Write};
use std::os::fd::{FromRawFd, RawFd};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{Child, Command, ExitStatus};
use std::time::{Duration, Instant};

/// A file that only lives in memory and goes with its last descriptor; another process reads it as
/// `/proc/self/fd/N`.
pub fn memory_file(bytes: &[u8]) -> io::Result<File> {
    // SAFETY: the name is a NUL-terminated literal, and the descriptor that comes back belongs to nobody else.
    let mut file = unsafe {
        let fd = libc::memfd_create(c"ringo".as_ptr(), libc::MFD_CLOEXEC);
        if fd < 0 {
            return Err(io::Error::last_os_error());
        }
        File::from_raw_fd(fd)
    };
    file.write_all(bytes)?;
    Ok(file)
}

/// Makes the child of `command` die when the thread that spawned it ends, and hands it the descriptors in `keep`
/// under their own numbers. They stay closed for children that other threads spawn meanwhile.
pub fn tie(command: &mut Command, keep: &[RawFd]) {
    let keep = keep.to_vec();
    let parent = std::process::id();
    let before_exec = move || {
        // SAFETY: these calls are safe between fork and exec; the descriptors are open, since their owners outlive
        // the spawn.
        unsafe {
            if libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL) != 0 {
                return Err(io::Error::last_os_error());
            }
            // The parent may have died before the line above.
            if u32::try_from(libc::getppid()) != Ok(parent) {
                libc::_exit(1);
            }
            for fd in &keep {
                if libc::fcntl(*fd, libc::F_SETFD, 0) != 0 {
                    return Err(io::Error::last_os_error());
                }
            }
        }
        Ok(())
    };
    // SAFETY: the closure only makes calls that are allowed between fork and exec, and allocates nothing.
    unsafe { command.pre_exec(before_exec) };
}

/// Waits for `child`, if there is a deadline until that, and kills it then. Its status and the processor time that it used.
pub fn wait(mut child: Child, deadline: Option<Instant>) -> io::Result<(ExitStatus, Duration)> {
    let pid = child.id().cast_signed();
    let mut blocking = deadline.is_none();
    let mut pause = Duration::from_millis(1);
    loop {
        let mut status = 0;
        // SAFETY: `rusage` is plain numbers, for which zero is a value; both places are valid for the call to write
        // to. `child` has not been waited for, so the number is still its.
        let (got, usage) = unsafe {
            let mut usage: libc::rusage = std::mem::zeroed();
            let got = libc::wait4(
                pid,
                &raw mut status,
                if blocking { 0 } else { libc::WNOHANG },
                &raw mut usage,
            );
            (got, usage)
        };
        if got == pid {
            let time = |t: libc::timeval| {
                Duration::from_secs(t.tv_sec.unsigned_abs())
                    + Duration::from_micros(t.tv_usec.unsigned_abs())
            };
            return Ok((
                ExitStatus::from_raw(status),
                time(usage.ru_utime) + time(usage.ru_stime),
            ));
        }
        if got < 0 {
            let error = io::Error::last_os_error();
            if error.kind() != io::ErrorKind::Interrupted {
                return Err(error);
            }
        } else if deadline.is_some_and(|deadline| Instant::now() >= deadline) {
            child.kill()?;
            blocking = true;
        } else {
            std::thread::sleep(pause);
            pause = (pause * 2).min(Duration::from_millis(16));
        }
    }
}

/// Whether this process may install packages.
pub fn is_root() -> bool {
    // SAFETY: it takes nothing and cannot fail.
    unsafe { libc::geteuid() == 0 }
}

/// The user's number.
pub fn user() -> u32 {
    // SAFETY: it takes nothing and cannot fail.
    unsafe { libc::geteuid() }
}

/// Reading the terminal from the background then fails instead of stopping this process.
pub fn do_not_stop_in_background() {
    // SAFETY: ignoring a signal installs no handler.
    unsafe { libc::signal(libc::SIGTTIN, libc::SIG_IGN) };
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::fd::AsRawFd;
    use std::process::Stdio;

    #[test]
    fn a_child_reads_the_memory_file() {
        let file = memory_file(b"in memory").unwrap();
        let mut command = Command::new("cat");
        command
            .arg(format!("/proc/self/fd/{}", file.as_raw_fd()))
            .stdout(Stdio::piped());
        tie(&mut command, &[file.as_raw_fd()]);
        assert_eq!(command.output().unwrap().stdout, b"in memory");
    }

    #[test]
    fn waiting_ends_at_the_deadline() {
        let child = Command::new("sleep").arg("60").spawn().unwrap();
        let (status, _) = wait(child, Some(Instant::now() + Duration::from_millis(20))).unwrap();
        assert_eq!(status.signal(), Some(libc::SIGKILL));
        let child = Command::new("sh").args(["-c", "exit 35"]).spawn().unwrap();
        let (status, _) = wait(child, Some(Instant::now() + Duration::from_secs(30))).unwrap();
        assert_eq!(status.code(), Some(35));
    }
}
