//! A demo that runs as a user's does, by the binary behind `cargo run`, while clients talk to it.

use crate::{patience, runner_command, table};
use std::io::Read;
use std::process::{Child, Stdio};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

/// What a wait for it may take before it is hung. The first includes its build.
fn hung() -> Duration {
    Duration::from_secs(150 * patience())
}

/// It ends with this value.
pub struct Live {
    child: Child,
    name: String,
    /// What came by stdout and by stderr: together their lines would mix.
    said: [Arc<Mutex<String>>; 2],
    readers: Vec<thread::JoinHandle<()>>,
    begin: Instant,
}

impl Live {
    /// Starts a demo, with options of the runner, `--`, and arguments of its own.
    ///
    /// # Errors
    /// There is no runner.
    pub fn start(demo: &str, words: &[&str]) -> Result<Live, String> {
        let mut child = runner_command(&[&[demo], words].concat())?
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .map_err(|e| format!("cannot start the runner: {e}"))?;
        let said = [(); 2].map(|()| Arc::<Mutex<String>>::default());
        let out = child.stdout.take().map(|out| keep(out, &said[0]));
        let err = child.stderr.take().map(|err| keep(err, &said[1]));
        Ok(Live {
            child,
            name: format!("{demo} {}", words.join(" ")),
            said,
            readers: out.into_iter().chain(err).collect(),
            begin: Instant::now(),
        })
    }

    /// All that it has printed: its stdout, then its stderr.
    pub fn said(&self) -> String {
        let text = |said: &Arc<Mutex<String>>| {
            let said = said.lock().unwrap_or_else(PoisonError::into_inner);
            said.replace('\r', "")
        };
        [text(&self.said[0]), text(&self.said[1])].join("\n")
    }

    /// Waits until `found` finds something in what it has printed.
    ///
    /// # Errors
    /// It ends, or nothing comes.
    pub fn until<T>(&mut self, what: &str, found: impl Fn(&str) -> Option<T>) -> Result<T, String> {
        let begin = Instant::now();
        loop {
            let ended = self.child.try_wait().map_err(|e| e.to_string())?;
            if ended.is_some() {
                // Its last words may still be on their way.
                self.readers
                    .drain(..)
                    .for_each(|reader| drop(reader.join()))
            }
            if let Some(found) = found(&self.said()) {
                return Ok(found);
            }
            if ended.is_some() || begin.elapsed() > hung() {
                let how = ended.map_or("hangs".to_string(), |status| format!("ends, {status}"));
                return Err(format!(
                    "{}: {how}, without {what}: {}",
                    self.name,
                    self.said()
                ));
            }
            thread::sleep(Duration::from_millis(10))
        }
    }

    /// Waits until it has printed this.
    ///
    /// # Errors
    /// As [`Live::until`].
    pub fn says(&mut self, text: &str) -> Result<(), String> {
        self.until(text, |said| said.contains(text).then_some(()))
    }

    /// The port of this system that leads to the machine's `guest`: `proto` is "port" or "UDP port".
    ///
    /// # Errors
    /// As [`Live::until`].
    pub fn port(&mut self, proto: &str, guest: u16) -> Result<u16, String> {
        let end = format!(" is forwarded to {proto} {guest}");
        self.until(&end, |said| {
            let line = said.lines().find_map(|line| line.strip_suffix(&end));
            line?.strip_prefix("ringo: localhost:")?.parse().ok()
        })
    }

    /// Waits for its end: the status.
    ///
    /// # Errors
    /// It does not end.
    pub fn ended(&mut self) -> Result<Option<i32>, String> {
        let begin = Instant::now();
        while begin.elapsed() < hung() {
            if let Some(status) = self.child.try_wait().map_err(|e| e.to_string())? {
                return Ok(status.code());
            }
            thread::sleep(Duration::from_millis(10))
        }
        Err(format!("{} does not end: {}", self.name, self.said()))
    }
}

impl Drop for Live {
    fn drop(&mut self) {
        // QEMU dies with its runner.
        drop(self.child.kill());
        drop(self.child.wait());
        table::record_command("clients", &self.name, self.begin.elapsed())
    }
}

fn keep(mut from: impl Read + Send + 'static, said: &Arc<Mutex<String>>) -> thread::JoinHandle<()> {
    let said = said.clone();
    thread::spawn(move || {
        let mut piece = [0; 4096];
        while let Ok(n @ 1..) = from.read(&mut piece) {
            let text = String::from_utf8_lossy(&piece[..n]).into_owned();
            said.lock()
                .unwrap_or_else(PoisonError::into_inner)
                .push_str(&text)
        }
    })
}
