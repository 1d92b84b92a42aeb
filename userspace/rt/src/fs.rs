//! Files: of the boot module, or of the archive on the disk. They can only be read.

use crate::io::Read;
use crate::{Handle, Result, syscall};
use abi::Call;
use alloc::vec::Vec;

/// An open file and a position in it.
#[derive(Debug)]
pub struct File(Handle);

impl File {
    /// The file that the process was given as that handle.
    pub fn given(number: u32) -> File {
        File(Handle::given(number))
    }

    /// Opens the file of that name.
    ///
    /// # Errors
    ///
    /// [`abi::Error::NotFound`].
    pub fn open(name: &str) -> Result<File> {
        // SAFETY: the kernel reads the name, no more.
        let handle =
            unsafe { syscall::call(Call::Open, [name.as_ptr() as u64, name.len() as u64]) }?;
        Ok(File(Handle::new(handle)))
    }

    /// Its size in bytes.
    ///
    /// # Errors
    ///
    /// What the kernel says.
    pub fn size(&self) -> Result<u64> {
        // SAFETY: touches no memory of ours.
        unsafe { syscall::call(Call::Size, [self.0.number().into()]) }
    }
}

impl AsRef<Handle> for File {
    fn as_ref(&self) -> &Handle {
        &self.0
    }
}

impl Read for File {}

/// All bytes of a file.
///
/// # Errors
///
/// [`abi::Error::NotFound`]; [`abi::Error::Disk`].
pub fn read_file(name: &str) -> Result<Vec<u8>> {
    let file = File::open(name)?;
    let mut bytes = Vec::with_capacity(file.size()? as usize);
    file.read_to_end(&mut bytes)?;
    Ok(bytes)
}
