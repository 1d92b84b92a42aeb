//! The threads that read a machine's streams and tell the one that waits for it.

use std::io::{self, PipeReader};
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::mpsc::Sender;
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::console::{self, Sink};
use crate::control::ControlSplitter;
use crate::lines::{Lines, Side};
use crate::names::Names;
use crate::progress::Progress;
use crate::qmp::MonitorEvent;

/// What they tell.
pub enum Told {
    /// An event of the control channel, and when it was read.
    Event(Instant, Value),
    /// The monitor said something unasked.
    Monitor(MonitorEvent),
    /// The program's output cannot be written any more.
    OutputGone(io::Error),
    /// On this CPU interrupts or preemption are off, for so long already.
    Slow(usize, Duration),
    /// The machine hangs, and how.
    Hung(String),
}

/// Whether the machine has said anything. Its serial port swallows what comes before it is set up, and it is when anything
/// is said.
#[derive(Clone, Default)]
pub struct Begun(Arc<(Mutex<bool>, Condvar)>);

impl Begun {
    /// Longest wait. Our kernels tell when they come to `main`; how long that takes is the host's affair.
    const PATIENCE: Duration = Duration::from_secs(60);

    fn say(&self) {
        *self.0.0.lock().unwrap_or_else(PoisonError::into_inner) = true;
        self.0.1.notify_all();
    }

    /// Waits for it.
    pub fn wait(&self) {
        let begun = self.0.0.lock().unwrap_or_else(PoisonError::into_inner);
        let wait = self
            .0
            .1
            .wait_timeout_while(begun, Self::PATIENCE, |begun| !*begun);
        drop(wait);
    }
}

/// What they share.
#[derive(Clone)]
pub struct Streams {
    /// Where the two stand.
    pub lines: Lines,
    /// Whether there was anything.
    pub begun: Begun,
    /// To the one that waits.
    pub tell: Sender<Told>,
    /// Names for backtraces.
    pub names: Arc<Names>,
    /// Goes from the screen before the first byte of output.
    pub booting: Arc<Progress>,
    /// Whether the machine waits for whoever reads its console.
    pub blocked: Arc<AtomicBool>,
}

impl Streams {
    /// Passes the console on until QEMU closes it.
    pub fn pass_console(self, from: impl io::Read, sink: Sink) {
        let mut sink = console::naming(sink, self.names);
        let mut gone = false;
        console::pump(from, |bytes| {
            self.booting.clear();
            self.begun.say();
            // A machine that nobody listens to is still emptied, so that it never waits for its console.
            self.blocked.store(true, Relaxed);
            let fed = match gone {
                true => Ok(()),
                false => (self.lines).write(Side::Console, bytes, |piece| sink.feed(piece)),
            };
            self.blocked.store(false, Relaxed);
            if let Err(error) = fed {
                gone = true;
                drop(self.tell.send(Told::OutputGone(error)));
            }
        });
        self.lines.close(Side::Console);
    }

    /// Passes diagnostics on and tells of events until QEMU closes the channel.
    pub fn pass_control(self, from: PipeReader, sink: Sink) {
        let mut splitter = ControlSplitter::default();
        let mut sink = console::naming(sink, self.names);
        console::pump(from, |bytes| {
            let now = Instant::now();
            self.booting.clear();
            self.begun.say();
            let event = |value| drop(self.tell.send(Told::Event(now, value)));
            let text = |text: &[u8]| {
                drop((self.lines).write(Side::Errors, text, |piece| sink.feed(piece)))
            };
            splitter.feed(bytes, text, event);
        });
        if let Some(rest) = splitter.rest() {
            drop((self.lines).write(Side::Errors, &rest, |piece| sink.feed(piece)));
        }
        self.lines.close(Side::Errors);
    }
}
