//! `cargo run -- list`: the programs and what each is about.

use std::fs;
use std::path::Path;

use crate::failure::Doing;
use crate::options::PROGRAM_RUN;
use crate::program::{self, Program};
use crate::say::print;
use crate::{Result, Root, user_names};

/// Prints a line for each program in `demos/src/bin`, and for each of ring 3.
pub fn list() -> Result<u8> {
    let root = Root::find()?;
    let demos = lines(&root.demos(), &program::names(&root)?);
    let user = lines(&root.user_programs(), &user_names::names(&root)?);
    print(&format!(
        "{demos}\nOf ring 3, `{PROGRAM_RUN} exec NAME` runs them:\n\n{user}"
    ))?;
    Ok(0)
}

/// A line for each of `names`, the programs in `folder`.
fn lines(folder: &Path, names: &[String]) -> String {
    let width = names.iter().map(String::len).max().unwrap_or(0);
    let mut text = String::new();
    for name in names {
        let about = about(&folder.join(format!("{name}.rs")));
        text += format!("{name:width$}  {about}").trim_end();
        text.push('\n');
    }
    text
}

/// Prints what the program named `wanted` says about itself; one of ring 3, where no other has that name. The exit status.
pub fn about_program(wanted: &str) -> Result<u8> {
    let root = Root::find()?;
    let cwd = std::env::current_dir().unwrap_or_else(|_| root.path().to_path_buf());
    let of_ring_3 = || user_names::names(&root).is_ok_and(|all| all.iter().any(|n| n == wanted));
    let (file, usage) = match Program::find(&root, &cwd, wanted) {
        Ok(Program::Demo { name }) => (root.demos().join(format!("{name}.rs")), usage(&name)),
        Ok(Program::File { path, .. }) => (path, usage(wanted)),
        Err(_) if of_ring_3() => {
            let file = root.user_programs().join(format!("{wanted}.rs"));
            (file, exec_usage(wanted))
        }
        Err(unknown) => return Err(unknown),
    };
    let text = fs::read_to_string(&file).doing(format_args!("read {}", file.display()))?;
    let mut about: Vec<&str> = docs(&text).collect();
    if about.is_empty() {
        about.push("It says nothing about itself.");
    }
    let all = format!("{}\n\n{usage}\n", about.join("\n"));
    print(&all)?;
    Ok(0)
}

fn usage(name: &str) -> String {
    format!(
        "`{PROGRAM_RUN} {name} [OPTIONS] [-- ARGS FOR THE PROGRAM]` runs it; `{PROGRAM_RUN} --help` lists the options"
    )
}

fn exec_usage(name: &str) -> String {
    format!(
        "`{PROGRAM_RUN} exec [OPTIONS] {name} [ARGS FOR THE PROGRAM]` runs it; `{PROGRAM_RUN} exec --help` lists the options"
    )
}

/// The lines of a file's documentation.
fn docs(text: &str) -> impl Iterator<Item = &str> {
    let lines = text.lines();
    lines.filter_map(|line| Some(line.trim_start().strip_prefix("//!")?.trim()))
}

/// The whole sentences of the first line of a file's documentation; its first sentence, if that is longer.
fn about(file: &Path) -> String {
    let text = fs::read_to_string(file).unwrap_or_default();
    let mut lines = docs(&text).skip_while(|line| line.is_empty());
    let mut about = lines.next().unwrap_or("").to_string();
    // A dot within a word is none.
    let end = |text: &str| {
        text.ends_with('.')
            .then_some(text.len())
            .or(text.rfind(". ").map(|at| at + 1))
    };
    while end(&about).is_none()
        && let Some(line) = lines.next().filter(|line| !line.is_empty())
    {
        about += " ";
        let first = line.find(". ").map_or(line, |at| &line[..=at]);
        about += first;
    }
    about.truncate(end(&about).unwrap_or(about.len()));
    about
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn first_sentence_of_the_documentation() {
        let file = std::env::temp_dir().join(format!("ringo-list-{}.rs", std::process::id()));
        fs::write(
            &file,
            "#![no_std]\n//!\n//! Says hello. `x`: n.\n//! More.\nfn main() {}\n",
        )
        .unwrap();
        assert_eq!(about(&file), "Says hello. `x`: n.");
        for (docs, says) in [
            (
                "//! Says hello, v1.2. And\n//! more.\n",
                "Says hello, v1.2.",
            ),
            (
                "//! Says hello\n//! to all. And\n//! more.\n",
                "Says hello to all.",
            ),
            ("//! Says hello\n//!\n//! More.\n", "Says hello"),
        ] {
            fs::write(&file, docs).unwrap();
            assert_eq!(about(&file), says);
        }
        fs::write(&file, "fn main() {}\n").unwrap();
        assert_eq!(about(&file), "");
        fs::remove_file(&file).unwrap();
    }

    #[test]
    fn whole_sentences_of_all_programs() {
        let root = Root::find().unwrap();
        for name in program::names(&root).unwrap() {
            let about = about(&root.demos().join(format!("{name}.rs")));
            assert!(about.ends_with('.'), "{name}: {about}");
        }
        for name in user_names::names(&root).unwrap() {
            let about = about(&root.user_programs().join(format!("{name}.rs")));
            assert!(about.ends_with('.'), "ring 3, {name}: {about}");
        }
    }
}
