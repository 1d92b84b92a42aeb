//! What a process prints, for the goroutine that has started it.

use super::{Error, Stdio};
use alloc::sync::Arc;
use alloc::vec::Vec;
use sched::WaitReason;
use user::object::Object;
use user::object::pipe::{ReadEnd, pipe};
use user::stop::Stop;
use user::wait::Waits;

/// The other end of a process's standard output ([`Stdio::and_output`]).
///
/// ```no_run
/// # fn main() -> Result<(), ringo::user::Error> {
/// use ringo::user::{Stdio, spawn};
/// let (stdio, output) = Stdio::without_input().and_output()?;
/// spawn("hello", &["a"], stdio)?;
/// assert!(output.read_to_end(4096)?.starts_with(b"hello from process"));
/// # Ok(())
/// # }
/// ```
pub struct Output(Arc<ReadEnd>);

impl Stdio {
    /// This, with an output that goes to the caller and not to the console.
    ///
    /// ```no_run
    /// # fn main() -> Result<(), ringo::user::Error> {
    /// use ringo::user::{Stdio, spawn};
    /// let (stdio, output) = Stdio::without_input().and_output()?;
    /// let process = spawn("hello", &["a"], stdio)?;
    /// let said = output.read_to_end(64 << 10)?; // until the process, and all that it gave its output to, have ended
    /// # drop((process, said));
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// Too little memory.
    pub fn and_output(self) -> Result<(Stdio, Output), Error> {
        let (read, write) = pipe(None).map_err(|why| Error::Refused(why.into()))?;
        let stdio = Stdio {
            output: Object::PipeWrite(write),
            ..self
        };
        Ok((stdio, Output(read)))
    }
}

impl Output {
    /// Some bytes, waits for the first; how many. 0: nobody is left to write, or `to` is empty.
    ///
    /// ```
    /// # sched::testing::run(2, 2, || {
    /// let (stdio, output) = ringo::user::Stdio::without_input().and_output().unwrap();
    /// drop(stdio); // no process has it
    /// assert_eq!(output.read(&mut [0; 8]), 0);
    /// # });
    /// ```
    pub fn read(&self, to: &mut [u8]) -> usize {
        // Nobody stops this one, so nothing ends such a wait but what it waits for.
        let waits = Waits::new(&Arc::new(Stop::new()));
        self.0.read(waits.wait(WaitReason::IoWait), to).unwrap_or(0)
    }

    /// All that comes until nobody is left to write, `most` bytes at most. Who writes beyond waits until that is read, or this is dropped.
    ///
    /// ```
    /// # sched::testing::run(2, 2, || {
    /// let (stdio, output) = ringo::user::Stdio::without_input().and_output().unwrap();
    /// drop(stdio); // no process has it
    /// assert_eq!(output.read_to_end(1000).unwrap(), b"");
    /// # });
    /// ```
    ///
    /// # Errors
    /// [`Error::TooMuch`]: there is more. [`Error::Refused`]: too little memory. What was read is lost.
    pub fn read_to_end(&self, most: usize) -> Result<Vec<u8>, Error> {
        let (mut all, mut buffer) = (Vec::new(), [0; 256]);
        loop {
            match self.read(&mut buffer) {
                0 => return Ok(all),
                n if n > most - all.len() => return Err(Error::TooMuch(most)),
                n => {
                    let room = all.try_reserve(n);
                    room.map_err(|_| Error::Refused(abi::Error::OutOfMemory.into()))?;
                    all.extend_from_slice(&buffer[..n])
                }
            }
        }
    }
}
