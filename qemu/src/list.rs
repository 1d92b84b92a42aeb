//! `cargo run -- list`: the programs and what each is about.

use std::fs;
use std::io::{ErrorKind, Write};
use std::path::Path;

use crate::failure::Doing;
use crate::{Result, Root, program};

/// Prints a line for each program in `demos/src/bin`.
pub fn list() -> Result<u8> {
    let root = Root::find()?;
    let names = program::names(&root)?;
    let width = names.iter().map(String::len).max().unwrap_or(0);
    let mut out = std::io::stdout().lock();
    for name in &names {
        let about = about(&root.demos().join(format!("{name}.rs")));
        match writeln!(out, "{}", format!("{name:width$}  {about}").trim_end()) {
            Ok(()) => {}
            // Whoever reads this may have had enough: no error.
            Err(error) if error.kind() == ErrorKind::BrokenPipe => break,
            Err(error) => return Err(error).doing("write the list"),
        }
    }
    Ok(0)
}

/// The first line of a file's documentation.
fn about(file: &Path) -> String {
    let text = fs::read_to_string(file).unwrap_or_default();
    let docs = text
        .lines()
        .filter_map(|line| line.trim_start().strip_prefix("//!"));
    docs.map(str::trim)
        .find(|line| !line.is_empty())
        .unwrap_or("")
        .to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn first_line_of_the_documentation() {
        let file = std::env::temp_dir().join(format!("ringo-list-{}.rs", std::process::id()));
        fs::write(
            &file,
            "#![no_std]\n//!\n//! Says hello. `x`\n//! More.\nfn main() {}\n",
        )
        .unwrap();
        assert_eq!(about(&file), "Says hello. `x`");
        fs::write(&file, "fn main() {}\n").unwrap();
        assert_eq!(about(&file), "");
        fs::remove_file(&file).unwrap();
    }
}
