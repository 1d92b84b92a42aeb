//! The streams of a running machine: each is read on a thread of its own and passed on, or kept.

use std::fs::File;
use std::io::{self, Read, Write};
use std::os::fd::AsFd;
use std::os::unix::fs::MetadataExt;
use std::sync::{Arc, Mutex};

use crate::backtrace::{Annotator, Frame};
use crate::names::Names;
use crate::{Input, Output};

/// Where a stream's bytes end up.
#[derive(Clone)]
pub enum Sink {
    /// One of this process's own streams, without a buffer between.
    Own(Arc<File>),
    /// Memory.
    Kept(Arc<Mutex<Vec<u8>>>),
}

impl Sink {
    /// This process's stdout, or `memory`.
    pub fn stdout(output: Output, memory: &Arc<Mutex<Vec<u8>>>) -> io::Result<Sink> {
        Sink::new(output, memory, || io::stdout().as_fd().try_clone_to_owned())
    }

    /// This process's stderr, or memory.
    pub fn stderr(output: Output) -> io::Result<Sink> {
        Sink::new(output, &Arc::default(), || {
            io::stderr().as_fd().try_clone_to_owned()
        })
    }

    fn new(
        output: Output,
        memory: &Arc<Mutex<Vec<u8>>>,
        own: impl FnOnce() -> io::Result<std::os::fd::OwnedFd>,
    ) -> io::Result<Sink> {
        match output {
            Output::PassThrough => Ok(Sink::Own(Arc::new(File::from(own()?)))),
            Output::Capture => Ok(Sink::Kept(memory.clone())),
        }
    }

    /// Whether what goes to the two ends up in one place, as with `2>&1` or on a terminal.
    pub fn is_same_place(&self, other: &Sink) -> bool {
        let (Sink::Own(one), Sink::Own(two)) = (self, other) else {
            return false;
        };
        match (one.metadata(), two.metadata()) {
            (Ok(one), Ok(two)) => (one.dev(), one.ino()) == (two.dev(), two.ino()),
            _ => false,
        }
    }

    /// What was kept.
    pub fn text(&self) -> String {
        match self {
            Sink::Own(_) => String::new(),
            Sink::Kept(bytes) => String::from_utf8_lossy(
                &bytes
                    .lock()
                    .unwrap_or_else(std::sync::PoisonError::into_inner),
            )
            .into_owned(),
        }
    }
}

impl Write for Sink {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Sink::Own(file) => (&**file).write(bytes),
            Sink::Kept(kept) => {
                kept.lock()
                    .unwrap_or_else(std::sync::PoisonError::into_inner)
                    .extend_from_slice(bytes);
                Ok(bytes.len())
            }
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// A sink that appends names to the lines of backtraces and the like.
pub type NamingSink = Annotator<Sink, Box<dyn FnMut(Frame<'_>) -> Option<String> + Send>>;

/// They come from `names`.
pub fn naming(sink: Sink, names: Arc<Names>) -> NamingSink {
    Annotator::new(sink, Box::new(move |frame| names.describe(frame)))
}

/// Reads until the other end closes; `each` gets every piece as it comes.
pub fn pump(mut from: impl Read, mut each: impl FnMut(&[u8])) {
    let mut buffer = vec![0; 64 << 10];
    loop {
        match from.read(&mut buffer) {
            Ok(0) => return,
            Ok(n) => each(&buffer[..n]),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(_) => return,
        }
    }
}

/// Ctrl-D.
const END_OF_INPUT: u8 = 4;

/// Writes the console's input, and at the end of one that is passed through Ctrl-D. Returns when there is no more or the machine is gone.
pub fn feed(input: &Input, mut to: impl Write) {
    match input {
        Input::Nothing => {}
        Input::Bytes(bytes) => drop(to.write_all(bytes)),
        Input::PassThrough => {
            // Not `io::stdin`, whose buffer would keep what a later reader is to get.
            let Ok(own) = io::stdin().as_fd().try_clone_to_owned() else {
                return;
            };
            let mut gone = false;
            let mut own = File::from(own);
            let mut buffer = [0; 4096];
            while !gone {
                match own.read(&mut buffer) {
                    // A serial line has no end: the byte that a keyboard sends for it.
                    Ok(0) => return drop(to.write_all(&[END_OF_INPUT])),
                    Ok(n) => gone = to.write_all(&buffer[..n]).is_err(),
                    Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                    Err(_) => return,
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn where_two_streams_go() {
        let own = |file: File| Sink::Own(Arc::new(file));
        let (_reader, writer) = io::pipe().unwrap();
        let twice = || own(File::from(writer.as_fd().try_clone_to_owned().unwrap()));
        assert!(twice().is_same_place(&twice()));
        let (_reader, other) = io::pipe().unwrap();
        assert!(!twice().is_same_place(&own(File::from(std::os::fd::OwnedFd::from(other)))));
        let kept = Sink::stdout(Output::Capture, &Arc::default()).unwrap();
        assert!(!kept.is_same_place(&kept.clone()));
    }
}
