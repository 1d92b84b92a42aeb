//! Frames over a Unix socket, each behind its length in 4 bytes, the highest first: QEMU's `-netdev stream`.

use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::time::{clock_getcpuclockid, clock_gettime};
use nix::unistd::Pid;
use std::io::{ErrorKind, Read, Write};
use std::os::fd::AsFd;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};
use std::time::{Duration, Instant};

/// Bytes of a length.
const HEAD: usize = 4;
/// Longer is no frame but a stream that went wrong (QEMU: `NET_BUFSIZE`).
const FRAME_MOST: usize = 4096 + 65536;
/// Read at once.
const CHUNK: usize = 64 << 10;

/// One end. Nothing here blocks but [`Wire::pump`], for as long as it is told.
pub struct Wire {
    stream: UnixStream,
    /// What has come, from `taken` on not yet given out.
    input: Vec<u8>,
    taken: usize,
    /// What has to go, from `gone` on.
    output: Vec<u8>,
    gone: usize,
    closed: bool,
    /// Number of the process at the other end; 0: not known (yet).
    process: Arc<AtomicU32>,
}

impl Wire {
    /// Whose process is at the other end. (Whoever has connected the socket may have done so for another.)
    pub fn leads_to(&mut self, process: Arc<AtomicU32>) {
        self.process = process
    }

    /// One end of a connected socket.
    ///
    /// # Errors
    /// As the system calls.
    pub fn new(stream: UnixStream) -> std::io::Result<Wire> {
        stream.set_nonblocking(true)?;
        Ok(Wire {
            stream,
            input: Vec::new(),
            taken: 0,
            output: Vec::new(),
            gone: 0,
            closed: false,
            process: Arc::default(),
        })
    }

    /// Both ends of one.
    ///
    /// # Errors
    /// As the system calls.
    pub fn pair() -> std::io::Result<(Wire, Wire)> {
        let (a, b) = UnixStream::pair()?;
        Ok((Wire::new(a)?, Wire::new(b)?))
    }

    /// Sends a frame, at once or from a buffer as soon as the other end takes it.
    pub fn send(&mut self, frame: &[u8]) {
        self.output
            .extend_from_slice(&(frame.len() as u32).to_be_bytes());
        self.output.extend_from_slice(frame);
        if self.output.len() - self.gone >= CHUNK {
            self.write()
        }
    }

    /// Sends a frame, unless the other end has not taken all that was sent before: what a flood wants to know.
    pub fn try_send(&mut self, frame: &[u8]) -> bool {
        self.write();
        if self.unsent() != 0 {
            return false;
        }
        self.send(frame);
        self.write();
        true
    }

    /// Processor time of the process at the other end: of all its threads, those that have ended too.
    ///
    /// # Errors
    /// The system does not say.
    pub fn other_cpu_time(&self) -> Result<Duration, String> {
        let process = self.process.load(Relaxed);
        if process == 0 {
            return Err("the machine's process is not known".into());
        }
        let clock = clock_getcpuclockid(Pid::from_raw(process as i32));
        let time = clock.and_then(clock_gettime).map_err(|e| e.to_string())?;
        Ok(time.into())
    }

    /// Bytes that the other end has not taken.
    pub fn unsent(&self) -> usize {
        self.output.len() - self.gone
    }

    /// Moves bytes both ways, waits for some at most so long. False: the other end is closed and all of it was read.
    pub fn pump(&mut self, wait: Duration) -> bool {
        self.write();
        if !self.closed && !self.has_frame() && !wait.is_zero() {
            let mut flags = PollFlags::POLLIN;
            flags.set(PollFlags::POLLOUT, self.unsent() != 0);
            let mut fds = [PollFd::new(self.stream.as_fd(), flags)];
            // Rounded up: a wait of no milliseconds is none.
            let ms = wait.as_micros().div_ceil(1000).min(60_000) as u16;
            // Interrupted or not, the caller looks again.
            let _ = poll(&mut fds, PollTimeout::from(ms));
            self.write()
        }
        self.read();
        !self.closed || self.has_frame()
    }

    fn write(&mut self) {
        while self.unsent() != 0 {
            match self.stream.write(&self.output[self.gone..]) {
                Ok(n) => self.gone += n,
                Err(e) if e.kind() == ErrorKind::Interrupted => {}
                Err(e) if e.kind() == ErrorKind::WouldBlock => break,
                Err(_) => {
                    // Nobody takes it any more.
                    self.closed = true;
                    self.gone = self.output.len()
                }
            }
        }
        if self.unsent() == 0 {
            (self.gone, self.output) = (0, Vec::new())
        }
    }

    fn read(&mut self) {
        if self.taken > CHUNK {
            self.input.drain(..self.taken);
            self.taken = 0
        }
        // Bounded: whoever is faster than the stack is to wait.
        for _ in 0..16 {
            let end = self.input.len();
            self.input.resize(end + CHUNK, 0);
            let got = self.stream.read(&mut self.input[end..]);
            self.input.truncate(end + got.as_ref().map_or(0, |n| *n));
            match got {
                Ok(0) => self.closed = true,
                Ok(n) if n == CHUNK => continue,
                Err(e) if e.kind() == ErrorKind::Interrupted => continue,
                Ok(_) => {}
                Err(e) if e.kind() == ErrorKind::WouldBlock => {}
                Err(_) => self.closed = true,
            }
            return;
        }
    }

    fn length(&self) -> Option<usize> {
        let head = self.input.get(self.taken..self.taken + HEAD)?;
        Some(u32::from_be_bytes(head.try_into().expect("four bytes")) as usize)
    }

    fn has_frame(&self) -> bool {
        self.length()
            .is_some_and(|len| self.input.len() - self.taken >= HEAD + len)
    }

    /// The next frame that has come.
    ///
    /// # Panics
    /// If what came is no stream of frames.
    #[expect(
        clippy::should_implement_trait,
        reason = "None is not the end: more may come"
    )]
    pub fn next(&mut self) -> Option<Vec<u8>> {
        let len = self.length()?;
        assert!(len <= FRAME_MOST, "a frame of {len} bytes");
        let from = self.taken + HEAD;
        let frame = self.input.get(from..from + len)?.to_vec();
        self.taken = from + len;
        Some(frame)
    }

    /// The next frame, waited for.
    ///
    /// # Errors
    /// None comes for so long, or the other end is closed.
    pub fn recv(&mut self, limit: Duration) -> Result<Vec<u8>, String> {
        let begin = Instant::now();
        loop {
            if let Some(frame) = self.next() {
                return Ok(frame);
            }
            if !self.pump(Duration::from_millis(100)) {
                return Err("the other end of the wire is closed".into());
            }
            if begin.elapsed() > limit {
                return Err(format!("no frame for {} s", limit.as_secs()));
            }
        }
    }
}

/// Where a machine's network finds us: `--net stream:PATH`.
pub struct Listener {
    listener: UnixListener,
    path: PathBuf,
}

impl Listener {
    /// A socket of its own.
    ///
    /// # Errors
    /// There is no place for it.
    pub fn new() -> std::io::Result<Listener> {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let name = format!(
            "ringo-wire-{}-{}",
            std::process::id(),
            NEXT.fetch_add(1, Relaxed)
        );
        let path = std::env::temp_dir().join(name);
        // A process of the same number may have left it.
        drop(std::fs::remove_file(&path));
        let listener = UnixListener::bind(&path)?;
        listener.set_nonblocking(true)?;
        Ok(Listener { listener, path })
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The machine's end, as soon as it is there; looked for until `stop`.
    ///
    /// # Errors
    /// Nobody came.
    pub fn accept(&self, stop: impl Fn() -> bool) -> Result<Wire, String> {
        loop {
            match self.listener.accept() {
                Ok((stream, _)) => return Wire::new(stream).map_err(|e| e.to_string()),
                Err(e) if e.kind() == ErrorKind::WouldBlock && !stop() => {
                    std::thread::sleep(Duration::from_millis(5))
                }
                Err(e) if e.kind() == ErrorKind::WouldBlock => {
                    return Err("the machine did not come to its wire".into());
                }
                Err(e) => return Err(e.to_string()),
            }
        }
    }
}

impl Drop for Listener {
    fn drop(&mut self) {
        drop(std::fs::remove_file(&self.path))
    }
}
