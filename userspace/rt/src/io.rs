//! Bytes: reading and writing whatever has them, pipes, standard input and output.

use crate::{Error, Handle, Result, syscall};
use abi::Call;
use alloc::vec::Vec;
use core::mem::ManuallyDrop;

/// What bytes can be read from. Several threads may, each byte goes to one of them.
pub trait Read: AsRef<Handle> {
    /// Reads some bytes, waits for the first one; how many. 0: the end, or `to` is empty.
    ///
    /// # Errors
    ///
    /// What the kernel says of the object.
    fn read(&self, to: &mut [u8]) -> Result<usize> {
        let handle = self.as_ref().number().into();
        // SAFETY: the kernel writes to `to`, no more.
        let n = unsafe {
            syscall::call(
                Call::Read,
                [handle, to.as_mut_ptr() as u64, to.len() as u64],
            )
        }?;
        Ok(n as usize)
    }

    /// Fills `to`.
    ///
    /// # Errors
    ///
    /// As [`read`](Read::read); [`Error::Closed`] if the end comes before.
    fn read_exact(&self, mut to: &mut [u8]) -> Result<()> {
        while !to.is_empty() {
            match self.read(to)? {
                0 => return Err(Error::Closed),
                n => to = &mut to[n..],
            }
        }
        Ok(())
    }

    /// Appends all bytes up to the end.
    ///
    /// # Errors
    ///
    /// As [`read`](Read::read).
    fn read_to_end(&self, to: &mut Vec<u8>) -> Result<()> {
        let mut buffer = [0; 4096];
        loop {
            match self.read(&mut buffer)? {
                0 => return Ok(()),
                n => to.extend_from_slice(&buffer[..n]),
            }
        }
    }
}

/// What bytes can be written to.
pub trait Write: AsRef<Handle> {
    /// Writes some bytes, waits for room; how many.
    ///
    /// # Errors
    ///
    /// [`Error::Closed`]: nobody can read them; else what the kernel says of the object.
    fn write(&self, bytes: &[u8]) -> Result<usize> {
        let handle = self.as_ref().number().into();
        // SAFETY: the kernel reads `bytes`, no more.
        let n = unsafe {
            syscall::call(
                Call::Write,
                [handle, bytes.as_ptr() as u64, bytes.len() as u64],
            )
        }?;
        Ok(n as usize)
    }

    /// Writes all bytes.
    ///
    /// # Errors
    ///
    /// As [`write`](Write::write).
    fn write_all(&self, mut bytes: &[u8]) -> Result<()> {
        while !bytes.is_empty() {
            let n = self.write(bytes)?;
            bytes = &bytes[n..];
        }
        Ok(())
    }
}

/// One of the three streams that a process begins with. It stays open.
#[derive(Debug)]
pub struct Standard(ManuallyDrop<Handle>);

impl AsRef<Handle> for Standard {
    fn as_ref(&self) -> &Handle {
        &self.0
    }
}

impl Read for Standard {}
impl Write for Standard {}

/// Standard input.
pub fn stdin() -> Standard {
    Standard(ManuallyDrop::new(Handle::given(abi::STDIN)))
}

/// Standard output, without the buffer of the print macros.
pub fn stdout() -> Standard {
    Standard(ManuallyDrop::new(Handle::given(abi::STDOUT)))
}

/// Standard error.
pub fn stderr() -> Standard {
    Standard(ManuallyDrop::new(Handle::given(abi::STDERR)))
}

/// The end of a pipe that is read. When the last one is closed, writes fail.
#[derive(Debug)]
pub struct PipeReader(Handle);

/// The end of a pipe that is written to. When the last one is closed, the reader sees the end.
#[derive(Debug)]
pub struct PipeWriter(Handle);

/// A pipe of bytes, between threads or processes.
///
/// # Errors
///
/// [`Error::Limit`]: the process has as many handles as it may; [`Error::OutOfMemory`].
pub fn pipe() -> Result<(PipeReader, PipeWriter)> {
    // SAFETY: the pair is the call's only argument.
    let [reader, writer] = unsafe { Handle::pair(Call::Pipe, []) }?;
    Ok((PipeReader(reader), PipeWriter(writer)))
}

impl PipeReader {
    /// The end that the process was given as that handle.
    pub fn given(number: u32) -> PipeReader {
        PipeReader(Handle::given(number))
    }
}

impl PipeWriter {
    /// The end that the process was given as that handle.
    pub fn given(number: u32) -> PipeWriter {
        PipeWriter(Handle::given(number))
    }
}

impl AsRef<Handle> for PipeReader {
    fn as_ref(&self) -> &Handle {
        &self.0
    }
}

impl AsRef<Handle> for PipeWriter {
    fn as_ref(&self) -> &Handle {
        &self.0
    }
}

impl Read for PipeReader {}
impl Write for PipeWriter {}
