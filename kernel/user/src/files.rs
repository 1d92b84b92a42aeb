//! Files by name, for reading: what came with the kernel, and what lies on its disk.

use alloc::string::String;
use alloc::sync::Arc;
use alloc::vec::Vec;

/// All bytes of a file.
pub type Bytes = Arc<dyn AsRef<[u8]> + Send + Sync>;

/// Files that have names.
pub trait Files: Send + Sync {
    /// The bytes of file `name`, if there is one and it can be read.
    fn open(&self, name: &str) -> Option<Bytes>;

    /// All names.
    fn names(&self) -> Vec<String>;
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
