//! A program in a file of the user's own: whether it is one, and of which ring.

use std::path::{Path, PathBuf};

use crate::options::PROGRAM_RUN;
use crate::{Failure, Result, Root, program, user_names};

/// With what rights a program runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ring {
    /// As a part of the kernel: ring 0.
    Kernel,
    /// As a process of it: ring 3.
    User,
}

impl Ring {
    /// The crate that it is written with.
    pub fn library(self) -> &'static str {
        match self {
            Ring::Kernel => "ringo",
            Ring::User => "rt",
        }
    }

    /// Where that lies in the project.
    pub fn library_folder(self) -> &'static str {
        match self {
            Ring::Kernel => "kernel/ringo",
            Ring::User => "userspace/rt",
        }
    }

    /// Where programs with names are.
    fn folder(self) -> &'static str {
        match self {
            Ring::Kernel => "demos/src/bin",
            Ring::User => "userspace/programs/src/bin",
        }
    }

    fn names(self, root: &Root) -> Result<Vec<String>> {
        match self {
            Ring::Kernel => program::names(root),
            Ring::User => user_names::names(root),
        }
    }

    /// The other one, its number, and the command that runs its programs.
    fn other(self) -> (Ring, u8, &'static str) {
        match self {
            Ring::Kernel => (Ring::User, 3, " exec"),
            Ring::User => (Ring::Kernel, 0, ""),
        }
    }
}

/// Whether `wanted` is meant to be a file, not a name.
pub fn is_path(wanted: &str) -> bool {
    wanted.ends_with(".rs") || wanted.contains('/')
}

/// The file that `wanted` names, and the program's name: the file's without `.rs`. Relative paths start at `cwd`.
///
/// # Errors
///
/// There is no such file, or it is no program of this ring.
pub fn find(root: &Root, cwd: &Path, wanted: &str, ring: Ring) -> Result<(PathBuf, String)> {
    let path = cwd.join(wanted);
    if path.is_dir() {
        return Err(Failure::new(format!(
            "{wanted} is a folder; a program is one file FILE.rs"
        )));
    }
    let path = match path.canonicalize() {
        Ok(path) => path,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            let stem = wanted.strip_suffix(".rs").unwrap_or_default();
            let meant = if ring.names(root)?.iter().any(|name| name == stem) {
                format!("did you mean {stem}? ")
            } else {
                String::new()
            };
            let folder = ring.folder();
            return Err(Failure::new(format!(
                "there is no file {wanted}; {meant}a program is a name in {folder} or a file FILE.rs"
            )));
        }
        Err(error) => return Err(Failure::new(format!("cannot read {wanted}: {error}"))),
    };
    match path.file_stem().and_then(|stem| stem.to_str()) {
        Some(stem) if path.extension().is_some_and(|ext| ext == "rs") => {
            let name = stem.to_string();
            let text = read(&path, wanted)?;
            match what_is_wrong(&text, wanted, ring) {
                None => Ok((path, name)),
                Some(line) => Err(Failure::new(line)),
            }
        }
        _ => Err(Failure::new(format!(
            "{wanted} is no Rust file; a program is one file FILE.rs"
        ))),
    }
}

fn read(path: &Path, wanted: &str) -> Result<String> {
    std::fs::read_to_string(path).map_err(|error| {
        Failure::new(match error.kind() {
            std::io::ErrorKind::InvalidData => {
                format!("{wanted} is no text; a program is one file of Rust, FILE.rs")
            }
            _ => format!("cannot read {wanted}: {error}"),
        })
    })
}

/// The line about a text that lacks what a program of this ring begins with; without it, the compiler and the linker would have the
/// word.
fn what_is_wrong(text: &str, wanted: &str, ring: Ring) -> Option<String> {
    let library = ring.library();
    let mut parts = ["#![no_std]", "#![no_main]", "main!"].into_iter();
    if let Some(part) = parts.find(|part| !text.contains(part)) {
        return Some(format!(
            "{wanted} lacks {part}: a program begins with #![no_std], #![no_main], use {library}::prelude::*; and {library}::main!(main);"
        ));
    }
    let (other, number, command) = ring.other();
    let begins = |ring: Ring| text.contains(&format!("{}::main!", ring.library()));
    (begins(other) && !begins(ring)).then(|| {
        format!("{wanted} is a program of ring {number}: `{PROGRAM_RUN}{command} {wanted}` runs it")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_that_is_no_program() {
        let root = Root::find().unwrap();
        let line = |wanted, ring| find(&root, root.path(), wanted, ring).unwrap_err().line;
        assert_eq!(
            line("Cargo.toml", Ring::Kernel),
            "Cargo.toml is no Rust file; a program is one file FILE.rs"
        );
        assert_eq!(
            line("burn.rs", Ring::User),
            "there is no file burn.rs; did you mean burn? a program is a name in userspace/programs/src/bin or a file FILE.rs"
        );
    }

    #[test]
    fn programs_of_either_ring() {
        let text = |library: &str| format!("#![no_std]\n#![no_main]\n{library}::main!(main);\n");
        let wrong = |library, ring| what_is_wrong(&text(library), "x.rs", ring);
        assert_eq!(wrong("ringo", Ring::Kernel), None);
        assert_eq!(wrong("rt", Ring::User), None);
        assert_eq!(
            wrong("rt", Ring::Kernel).unwrap(),
            "x.rs is a program of ring 3: `cargo run -- exec x.rs` runs it"
        );
        assert_eq!(
            wrong("ringo", Ring::User).unwrap(),
            "x.rs is a program of ring 0: `cargo run -- x.rs` runs it"
        );
        let lacks = what_is_wrong("#![no_std]", "x.rs", Ring::User).unwrap();
        assert!(lacks.starts_with("x.rs lacks #![no_main]: "), "{lacks}");
        assert!(lacks.ends_with("and rt::main!(main);"), "{lacks}");
    }
}
