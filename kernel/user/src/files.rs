//! Files by name, for reading: what came with the kernel, and what lies on its disk.

mod archive;

pub use archive::Archive;

use abi::Error;
use alloc::boxed::Box;
use alloc::string::String;
use alloc::sync::Arc;
use alloc::vec::Vec;

/// All bytes of a file.
pub type Bytes = Arc<dyn AsRef<[u8]> + Send + Sync>;

/// Files that have names.
pub trait Files: Send + Sync {
    /// The bytes of file `name`, if there is one and it can be read: what a program is made of.
    fn open(&self, name: &str) -> Option<Bytes>;

    /// The same file, to be read piece by piece.
    fn open_pieces(&self, name: &str) -> Option<Arc<dyn Pieces>> {
        let whole = Whole(self.open(name)?);
        Some(Arc::new(whole))
    }

    /// All names.
    fn names(&self) -> Vec<String>;
}

/// A file that is read piece by piece.
pub trait Pieces: Send + Sync {
    /// Its size in bytes.
    fn size(&self) -> u64;

    /// Fills `to` from byte `at` on; the file has as many.
    ///
    /// # Errors
    /// `Disk`, `OutOfMemory`.
    fn read_at(&self, at: u64, to: &mut [u8]) -> Result<(), Error>;
}

struct Whole(Bytes);

impl Pieces for Whole {
    fn size(&self) -> u64 {
        (*self.0).as_ref().len() as u64
    }

    fn read_at(&self, at: u64, to: &mut [u8]) -> Result<(), Error> {
        let bytes = (*self.0).as_ref();
        to.copy_from_slice(&bytes[at as usize..][..to.len()]);
        Ok(())
    }
}

/// Files of the boot module, which stay in memory.
pub struct Module(Vec<(String, &'static [u8])>);

impl Module {
    /// These files.
    pub fn new(files: impl IntoIterator<Item = (String, &'static [u8])>) -> Module {
        Module(files.into_iter().collect())
    }
}

impl Files for Module {
    fn open(&self, name: &str) -> Option<Bytes> {
        let (_, bytes) = self.0.iter().find(|(n, _)| n == name)?;
        Some(Arc::new(*bytes))
    }

    fn names(&self) -> Vec<String> {
        self.0.iter().map(|(name, _)| name.clone()).collect()
    }
}

/// Several places for files: the first that has a name has the file.
pub struct Places(pub Vec<Box<dyn Files>>);

impl Files for Places {
    fn open(&self, name: &str) -> Option<Bytes> {
        self.0.iter().find_map(|files| files.open(name))
    }

    fn open_pieces(&self, name: &str) -> Option<Arc<dyn Pieces>> {
        self.0.iter().find_map(|files| files.open_pieces(name))
    }

    fn names(&self) -> Vec<String> {
        let mut names: Vec<_> = self.0.iter().flat_map(|files| files.names()).collect();
        names.sort_unstable();
        names.dedup();
        names
    }
}

#[cfg(test)]
mod tests;
