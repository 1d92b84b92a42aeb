//! The boot module: a tar archive in which the runner packs the command line, the program's arguments and its files.

use alloc::string::String;
use alloc::vec::Vec;
use bootloader_api::BootInfo;
use spin::Once;
use tar_no_std::TarArchiveRef;

/// What the loader handed over; empty if it was started without one.
#[derive(Clone, Copy)]
pub(super) struct Module(&'static [u8]);

static FOUND: Once<Module> = Once::new();

/// Names and bytes of the files that are for programs: all but the kernel's own.
pub(crate) fn files() -> Vec<(String, &'static [u8])> {
    let bytes = FOUND.get().map_or(&[][..], |module| module.0);
    let Ok(archive) = TarArchiveRef::new(bytes) else {
        return Vec::new();
    };
    let named = archive.entries().filter_map(|entry| {
        let name = String::from(entry.filename().as_str().ok()?);
        Some((name, entry.data()))
    });
    named
        .filter(|(name, _)| !KERNELS_OWN.contains(&name.as_str()))
        .collect()
}

/// Files of the module that are not for programs.
const KERNELS_OWN: [&str; 2] = ["cmdline", "args"];

impl Module {
    /// Where `boot` found it. It lies in RAM that is nobody's, and stays mapped.
    pub(super) fn find(info: &BootInfo) -> Self {
        let Some(phys) = info.ramdisk_addr.into_option() else {
            return Self(&[]);
        };
        // SAFETY: RAM that `boot` marked as taken; mapped by its tables and by the final ones at the same address.
        let module = Self(unsafe {
            core::slice::from_raw_parts(arch::bare::direct(phys), info.ramdisk_len as usize)
        });
        *FOUND.call_once(|| module)
    }

    /// A file of the archive.
    fn file(&self, name: &str) -> Option<&'static [u8]> {
        let archive = TarArchiveRef::new(self.0).ok()?;
        archive
            .entries()
            .find(|e| e.filename().as_str() == Ok(name))
            .map(|e| e.data())
    }

    /// The kernel command line. No module, no words.
    pub(super) fn cmdline(&self) -> &'static str {
        self.file("cmdline")
            .and_then(|b| core::str::from_utf8(b).ok())
            .unwrap_or("")
    }

    /// The program's arguments, each ended by a NUL.
    pub(super) fn args(&self) -> Vec<String> {
        let Some(bytes) = self.file("args") else {
            return Vec::new();
        };
        let mut args: Vec<_> = bytes
            .split(|&b| b == 0)
            .map(|a| String::from_utf8_lossy(a).into_owned())
            .collect();
        args.pop(); // after the last NUL
        args
    }
}
