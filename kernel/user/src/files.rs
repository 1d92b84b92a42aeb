//! Files by name, for reading: what came with the kernel, and what lies on its disk.

mod archive;

pub use archive::Archive;

use crate::account::Account;
use abi::Error;
use alloc::boxed::Box;
use alloc::string::String;
use alloc::sync::Arc;
use alloc::vec::Vec;

/// All bytes of a file.
pub type Bytes = Arc<dyn AsRef<[u8]> + Send + Sync>;

/// Files that have names.
pub trait Files: Send + Sync {
    /// The bytes of file `name`: what a program is made of. Memory that they take counts for `account` while they are there.
    ///
    /// # Errors
    /// `NotFound`; `Limit`: it is too large to be read as a whole; `OutOfMemory`, `Disk`.
    fn open(&self, name: &str, account: &Arc<Account>) -> Result<Bytes, Error>;

    /// The same file, to be read piece by piece, if there is one.
    fn open_pieces(&self, name: &str) -> Option<Arc<dyn Pieces>>;

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

/// Bytes that stay in memory.
struct Whole(&'static [u8]);

impl Pieces for Whole {
    fn size(&self) -> u64 {
        self.0.len() as u64
    }

    fn read_at(&self, at: u64, to: &mut [u8]) -> Result<(), Error> {
        to.copy_from_slice(&self.0[at as usize..][..to.len()]);
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

impl Module {
    fn find(&self, name: &str) -> Option<&'static [u8]> {
        let (_, bytes) = self.0.iter().find(|(n, _)| n == name)?;
        Some(bytes)
    }
}

impl Files for Module {
    fn open(&self, name: &str, _: &Arc<Account>) -> Result<Bytes, Error> {
        Ok(Arc::new(self.find(name).ok_or(Error::NotFound)?))
    }

    fn open_pieces(&self, name: &str) -> Option<Arc<dyn Pieces>> {
        Some(Arc::new(Whole(self.find(name)?)))
    }

    fn names(&self) -> Vec<String> {
        self.0.iter().map(|(name, _)| name.clone()).collect()
    }
}

/// Several places for files: the first that has a name has the file.
pub struct Places(pub Vec<Box<dyn Files>>);

impl Files for Places {
    fn open(&self, name: &str, account: &Arc<Account>) -> Result<Bytes, Error> {
        let all = self.0.iter().map(|files| files.open(name, account));
        let found = { all }.find(|opened| !matches!(opened, Err(Error::NotFound)));
        found.unwrap_or(Err(Error::NotFound))
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
