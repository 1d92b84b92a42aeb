//! Programs of ring 3 for the machines that start them.

use crate::image::{ring3_programs, root};
use ringo_runner::starts_ring_3;
use std::path::{Path, PathBuf};

/// What the boot module of `kernel` is to have: all programs of ring 3, those that only tests start among them, if it starts any.
///
/// # Errors
/// They do not compile; Cargo has then said why.
pub fn programs_for(kernel: &Path) -> Result<Vec<(String, PathBuf)>, String> {
    match starts_ring_3(&root(), kernel).map_err(|e| e.to_string())? {
        true => ring3_programs(),
        false => Ok(Vec::new()),
    }
}

/// A tar archive with the program `name`, as `path` in it: a disk from which it can be started.
///
/// # Errors
/// It does not compile, or the file cannot be written.
pub fn archive(name: &str, path: &str) -> Result<PathBuf, String> {
    let elf = program(name)?;
    let folder = root().target().join("ring3");
    std::fs::create_dir_all(&folder).map_err(|e| e.to_string())?;
    let disk = folder.join(format!("{name}.tar"));
    let pack = || {
        let mut archive = tar::Builder::new(std::fs::File::create(&disk)?);
        archive.append_path_with_name(elf, path)?;
        archive.finish()
    };
    pack().map_err(|e| format!("cannot write {}: {e}", disk.display()))?;
    Ok(disk)
}

/// The ELF of the program `name`.
///
/// # Errors
/// There is none, or it does not compile.
pub fn program(name: &str) -> Result<PathBuf, String> {
    let mut all = ring3_programs()?.into_iter();
    let elf = all.find(|(program, _)| program == name);
    let elf = elf.map(|(_, elf)| elf);
    elf.ok_or_else(|| format!("there is no ring-3 program {name}"))
}
