//! The threads that read a machine's streams and tell the one that waits for it.

use std::io::{self, PipeReader};
use std::sync::Arc;
use std::sync::mpsc::Sender;
use std::time::Instant;

use serde_json::Value;

use crate::console::{self, Sink};
use crate::control::ControlSplitter;
use crate::progress::Progress;
use crate::qmp::MonitorEvent;
use crate::symbols::Symbols;

/// What they tell.
pub enum Told {
    /// An event of the control channel, and when it was read.
    Event(Instant, Value),
    /// The monitor said something unasked.
    Monitor(MonitorEvent),
    /// Nobody reads the program's output any more.
    OutputGone,
}

/// What they share.
#[derive(Clone)]
pub struct Streams {
    /// To the one that waits.
    pub tell: Sender<Told>,
    /// Names for backtraces.
    pub symbols: Arc<Symbols>,
    /// Goes from the screen before the first byte of output.
    pub booting: Arc<Progress>,
}

impl Streams {
    /// Passes the console on until QEMU closes it.
    pub fn pass_console(self, from: impl io::Read, sink: Sink) {
        let mut sink = console::naming(sink, self.symbols);
        let mut gone = false;
        console::pump(from, |bytes| {
            self.booting.clear();
            // A machine that nobody listens to is still emptied, so that it never waits for its console.
            if !gone && sink.feed(bytes).is_err() {
                gone = true;
                drop(self.tell.send(Told::OutputGone));
            }
        });
    }

    /// Passes diagnostics on and tells of events until QEMU closes the channel.
    pub fn pass_control(self, from: PipeReader, sink: Sink) {
        let mut splitter = ControlSplitter::default();
        let mut sink = console::naming(sink, self.symbols);
        console::pump(from, |bytes| {
            let now = Instant::now();
            self.booting.clear();
            let event = |value| drop(self.tell.send(Told::Event(now, value)));
            splitter.feed(bytes, |text| drop(sink.feed(text)), event);
        });
        if let Some(rest) = splitter.rest() {
            drop(sink.feed(&rest));
        }
    }
}
