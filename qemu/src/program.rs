//! Which program the user means: a name in `demos/src/bin`, or a file of their own.

use std::path::{Path, PathBuf};

use crate::near::near;
use crate::program_file::{self, Ring};
use crate::{Failure, Result, Root, user_names};

/// Words that are commands, now or soon; no program may be named so.
pub const RESERVED: &[&str] = &[
    "list",
    "doctor",
    "check",
    "bench",
    "experiment",
    "soak",
    "top",
    "exec",
    "help",
];

/// What others call our commands, where the names are not close.
const SYNONYMS: &[(&str, &str)] = &[
    ("ls", "cargo run -- list"),
    ("dir", "cargo run -- list"),
    ("demos", "cargo run -- list"),
    ("programs", "cargo run -- list"),
    ("ps", "cargo run -- top"),
    ("htop", "cargo run -- top"),
    ("version", "cargo run -- doctor"),
    ("lint", "cargo run -- check"),
    ("clippy", "cargo run -- check"),
    ("fmt", "cargo run -- check"),
    ("test", "cargo test"),
    ("tests", "cargo test"),
    ("build", "cargo build"),
    ("run", "cargo run"),
    ("doc", "cargo doc --open"),
];

/// A program to build.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Program {
    /// `demos/src/bin/NAME.rs`.
    Demo {
        /// Its name.
        name: String,
    },
    /// A file anywhere.
    File {
        /// Where, absolute.
        path: PathBuf,
        /// The file's name without `.rs`.
        name: String,
    },
}

impl Program {
    /// Finds what `wanted` names. Relative paths start at `cwd`.
    ///
    /// # Errors
    ///
    /// There is no such program; the line has names that are close.
    pub fn find(root: &Root, cwd: &Path, wanted: &str) -> Result<Program> {
        if program_file::is_path(wanted) {
            return Program::file(root, cwd, wanted);
        }
        let names = names(root)?;
        if names.iter().any(|name| name == wanted) {
            return Ok(Program::Demo {
                name: wanted.to_string(),
            });
        }
        if wanted.is_empty() || wanted.starts_with('-') {
            return Err(Failure::new(format!(
                "\"{wanted}\" is no program; `cargo run -- list` names them"
            )));
        }
        // Then it says what is wrong with it.
        if cwd.join(wanted).is_file() {
            return Program::file(root, cwd, wanted);
        }
        let meant = meant(root, cwd, wanted, &names);
        Err(Failure::new(format!(
            "there is no program \"{wanted}\"; {meant}`cargo run -- list` names them all"
        )))
    }

    fn file(root: &Root, cwd: &Path, wanted: &str) -> Result<Program> {
        let (path, name) = program_file::find(root, cwd, wanted, Ring::Kernel)?;
        Ok(Program::File { path, name })
    }

    /// The name it goes by.
    pub fn name(&self) -> &str {
        match self {
            Program::Demo { name } | Program::File { name, .. } => name,
        }
    }
}

/// What the user may have meant by a name that is none, with a space behind it.
fn meant(root: &Root, cwd: &Path, wanted: &str, names: &[String]) -> String {
    let file = format!("{wanted}.rs");
    if cwd.join(&file).is_file() {
        return format!("did you mean the file {file}? ");
    }
    let word = wanted.to_lowercase();
    if let Some((_, command)) = SYNONYMS.iter().find(|(other, _)| *other == word) {
        return format!("did you mean `{command}`? ");
    }
    if user_names::names(root).is_ok_and(|all| all.iter().any(|name| name == wanted)) {
        return format!("did you mean `cargo run -- exec {wanted}`? ");
    }
    let commands = RESERVED.iter().copied().filter(|word| *word != "help");
    match near(&word, names.iter().map(String::as_str).chain(commands)).as_slice() {
        [] => String::new(),
        close => format!("did you mean {}? ", close.join(" or ")),
    }
}

/// The names in `demos/src/bin`, sorted, commands' names left out.
///
/// # Errors
///
/// The folder cannot be read.
pub fn names(root: &Root) -> Result<Vec<String>> {
    let mut names = rust_files(&root.demos())?;
    names.retain(|name| !RESERVED.contains(&name.as_str()));
    Ok(names)
}

/// The files `NAME.rs` in `folder`, sorted, without `.rs`.
///
/// # Errors
///
/// The folder cannot be read.
pub fn rust_files(folder: &Path) -> Result<Vec<String>> {
    let entries = std::fs::read_dir(folder)
        .map_err(|error| Failure::new(format!("cannot read {}: {error}", folder.display())))?;
    let mut names: Vec<String> = entries
        .filter_map(|entry| Some(entry.ok()?.path()))
        .filter(|path| path.extension().is_some_and(|ext| ext == "rs"))
        .filter_map(|path| Some(path.file_stem()?.to_str()?.to_string()))
        .collect();
    names.sort();
    Ok(names)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn find(wanted: &str) -> Result<Program> {
        let root = Root::find().unwrap();
        Program::find(&root, &root.path().join("demos/src"), wanted)
    }

    #[test]
    fn names_and_files() {
        assert_eq!(
            find("hello").unwrap(),
            Program::Demo {
                name: "hello".into()
            }
        );
        match find("bin/hello.rs").unwrap() {
            Program::File { path, name } => {
                assert!(path.is_absolute() && path.ends_with("demos/src/bin/hello.rs"));
                assert_eq!(name, "hello");
            }
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn unknown_ones_get_a_line() {
        let line = |wanted| find(wanted).unwrap_err().line;
        assert!(
            line("helo").contains("did you mean hello"),
            "{}",
            line("helo")
        );
        assert!(
            line("qqqqqqqqqqqqqqq")
                .starts_with("there is no program \"qqqqqqqqqqqqqqq\"; `cargo run")
        );
        assert!(line("hello.rs").contains("hello.rs; did you mean hello? a program"));
        assert!(line("nothere.rs").starts_with("there is no file nothere.rs"));
        assert!(line("bin/").contains("is a folder"));
        assert!(line("../Cargo.toml").contains("is no Rust file"));
        assert!(line("").contains("is no program"));
        assert!(line("ls").contains("did you mean `cargo run -- list`?"));
        for (wrong, right) in [("lst", "list"), ("HELLO", "hello"), ("Sieve", "sieve")] {
            assert!(
                line(wrong).contains(&format!("did you mean {right}")),
                "{wrong}"
            );
        }
    }
}
