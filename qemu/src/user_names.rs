//! Which ring-3 programs there are: files in `userspace/programs/src/bin`, and those in a tar archive on the disk.

use std::fs::File;
use std::io::Read;
use std::path::Path;

use crate::failure::Doing;
use crate::near::near;
use crate::{Failure, Result, Root, program};

/// The names in `userspace/programs/src/bin`, sorted.
///
/// # Errors
///
/// The folder cannot be read.
pub fn names(root: &Root) -> Result<Vec<String>> {
    program::rust_files(&root.user_programs())
}

/// Looks whether there is a program `wanted`, in the boot module or on `disk`.
///
/// # Errors
///
/// There is none; the line has the names that there are, and those that are close.
pub fn check(root: &Root, wanted: &str, disk: Option<&Path>) -> Result<()> {
    let mut names = names(root)?;
    if names.iter().any(|name| name == wanted) {
        return Ok(());
    }
    let mut about_disk = String::new();
    match disk.map(|disk| (disk, on_disk(disk))) {
        None => {}
        Some((_, Ok(more))) if more.iter().any(|name| name == wanted) => return Ok(()),
        Some((_, Ok(more))) => names.extend(more),
        Some((disk, Err(why))) => {
            about_disk = format!("; on --disk {} is none, {}", disk.display(), why.line);
        }
    }
    Err(unknown(root, wanted, &names, &about_disk))
}

fn unknown(root: &Root, wanted: &str, names: &[String], about_disk: &str) -> Failure {
    let known = names.iter().map(String::as_str);
    let meant = match near(&wanted.to_lowercase(), known).as_slice() {
        [] if is_demo(root, wanted) => format!("did you mean `cargo run -- {wanted}`? "),
        [] => String::new(),
        close => format!("did you mean {}? ", close.join(" or ")),
    };
    let all = names.join(", ");
    Failure::new(format!(
        "there is no ring-3 program \"{wanted}\"; {meant}there are {all}{about_disk}"
    ))
}

fn is_demo(root: &Root, wanted: &str) -> bool {
    program::names(root).is_ok_and(|demos| demos.iter().any(|name| name == wanted))
}

/// The programs in the tar archive that `disk` is: its files, by their names without `./` and `bin/` before.
///
/// # Errors
///
/// It is no tar archive, or a damaged one.
fn on_disk(disk: &Path) -> Result<Vec<String>> {
    let read = || File::open(disk).doing(format_args!("read {}", disk.display()));
    let mut start = [0; 512];
    let is_whole = read()?.read_exact(&mut start).is_ok();
    if start[..2] == [0x1f, 0x8b] {
        return Err(Failure::new("since it is compressed (gunzip helps)"));
    }
    if !is_whole || start[257..262] != *b"ustar" {
        return Err(Failure::new("since it is no tar archive"));
    }
    let damaged = |error| Failure::new(format!("since the archive is damaged: {error}"));
    let mut names = Vec::new();
    let mut archive = tar::Archive::new(read()?);
    for entry in archive.entries().map_err(damaged)? {
        let entry = entry.map_err(damaged)?;
        if entry.header().entry_type().is_file() {
            names.extend(program_name(&entry.path_bytes()).map(String::from));
        }
    }
    names.sort();
    Ok(names)
}

/// What a file of an archive is called as a program; one in a folder other than `bin` is none.
fn program_name(path: &[u8]) -> Option<&str> {
    let path = std::str::from_utf8(path).ok()?;
    let path = path.strip_prefix("./").unwrap_or(path);
    let name = path.strip_prefix("bin/").unwrap_or(path);
    (!name.is_empty() && !name.contains('/')).then_some(name)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    fn line(wanted: &str, disk: Option<&Path>) -> String {
        check(&Root::find().unwrap(), wanted, disk)
            .unwrap_err()
            .line
    }

    /// A tar archive with empty files of these names.
    fn archive(names: &[&str]) -> Vec<u8> {
        let mut archive = tar::Builder::new(Vec::new());
        for name in names {
            let mut header = tar::Header::new_ustar();
            header.set_size(0);
            archive
                .append_data(&mut header, name, [].as_slice())
                .unwrap();
        }
        archive.into_inner().unwrap()
    }

    #[test]
    fn what_there_is() {
        let root = Root::find().unwrap();
        assert!(check(&root, "hello", None).is_ok());
        let helo = line("helo", None);
        let wanted = "there is no ring-3 program \"helo\"; did you mean hello? there are ";
        assert!(helo.starts_with(wanted), "{helo}");
        let tour = line("handoff", None);
        assert!(
            tour.contains("did you mean `cargo run -- handoff`? "),
            "{tour}"
        );
    }

    #[test]
    fn what_is_on_the_disk() {
        let root = Root::find().unwrap();
        let folder = std::env::temp_dir().join(format!("ringo-archive-{}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        let file = |name: &str, content: &[u8]| {
            let path = folder.join(name);
            fs::write(&path, content).unwrap();
            path
        };
        let good = archive(&["mine", "bin/other", "src/mine.rs"]);
        let disk = file("good.tar", &good);
        for name in ["mine", "other", "hello"] {
            assert_eq!(check(&root, name, Some(&disk)), Ok(()));
        }
        let unknown = line("src/mine.rs", Some(&disk));
        assert!(unknown.ends_with(", mine, other"), "{unknown}");
        let cut = file("cut.tar", &[&good[..512 * 2], &[7; 512]].concat());
        for (disk, says) in [
            (file("zeroes.img", &[0; 1024]), "since it is no tar archive"),
            (file("x.tar.gz", &[0x1f, 0x8b, 8, 0]), "compressed (gunzip"),
            (cut, "since the archive is damaged: "),
        ] {
            let line = line("mine", Some(&disk));
            assert!(line.contains(says), "{line}");
        }
        fs::remove_dir_all(folder).unwrap();
    }

    #[test]
    fn files_that_are_programs() {
        assert_eq!(program_name(b"./bin/x"), Some("x"));
        assert_eq!(program_name(b"./x"), Some("x"));
        for none in [&b"src/x"[..], b"./", b"bin/", b"bin/a/b", b"\xff"] {
            assert_eq!(program_name(none), None);
        }
    }
}
