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
/// assert!(output.read_to_end().starts_with(b"hello from process"));
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
    /// let said = output.read_to_end(); // until the process, and all that it gave its output to, have ended
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
    /// All that comes until nobody is left to write.
    ///
    /// ```
    /// # sched::testing::run(2, 2, || {
    /// let (stdio, output) = ringo::user::Stdio::without_input().and_output().unwrap();
    /// drop(stdio); // no process has it
    /// assert!(output.read_to_end().is_empty());
    /// # });
    /// ```
    pub fn read_to_end(&self) -> Vec<u8> {
        let (mut all, mut buffer) = (Vec::new(), [0; 256]);
        // Nobody stops this one, so nothing ends such a wait but what it waits for.
        let waits = Waits::new(&Arc::new(Stop::new()));
        while let Ok(n @ 1..) = self.0.read(waits.wait(WaitReason::IoWait), &mut buffer) {
            all.extend_from_slice(&buffer[..n])
        }
        all
    }
}
