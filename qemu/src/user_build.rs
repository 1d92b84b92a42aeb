//! Builds ring-3 programs: all binaries of a package, each one static ELF.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::builder::{self, BuildOptions, TARGET, Wanted, bare_rustflags};
use crate::file_program::{FilePackage, generate};
use crate::program_file::Ring;
use crate::symbols::Symbols;
use crate::{Result, Root};

/// A kernel that has this symbol starts ring-3 programs.
const STARTED_BY: &str = "RINGO_USER";
/// The package of the programs that `cargo run -- exec` names.
pub const USER_PROGRAMS: &str = "user-programs";
/// The package of those that only tests start.
pub const USER_TESTS: &str = "ring3";

/// Compiler flags of ring 3.
pub fn user_rustflags(root: &Path) -> Vec<String> {
    bare_rustflags("ringo_user", &root.join("userspace/user.ld"), &[])
}

/// Builds all binaries of `package` for ring 3: their names and the paths of their ELFs, sorted.
///
/// # Errors
///
/// One does not compile (Cargo has then printed why), or Cargo cannot be run.
pub fn build_user(
    root: &Root,
    package: &str,
    options: &BuildOptions,
) -> Result<Vec<(String, PathBuf)>> {
    let mut command = builder::cargo(root);
    command.args(["-p", package, "--bins"]);
    let mut built = user_build(root, command, None, options)?;
    built.sort();
    Ok(built)
}

/// Builds the program in a file of the user's own.
///
/// # Errors
///
/// As [`build_user`].
pub fn build_user_file(
    root: &Root,
    file: &Path,
    name: &str,
    options: &BuildOptions,
) -> Result<PathBuf> {
    let FilePackage { manifest, bin } = generate(root, file, name, Ring::User)?;
    let mut command = builder::cargo(root);
    command.arg("--manifest-path").arg(manifest);
    command.args(["--bin", &bin]);
    let built = user_build(root, command, Some(&bin), options)?.pop();
    let (_, path) = built.ok_or_else(|| builder::no_executable(&bin))?;
    Ok(path)
}

fn user_build(
    root: &Root,
    mut command: Command,
    bin: Option<&str>,
    options: &BuildOptions,
) -> Result<Vec<(String, PathBuf)>> {
    command.args(["--target", TARGET, "--target-dir"]);
    command.arg(root.user_target());
    let flags = user_rustflags(root.path()).join("\x1f");
    command.env("CARGO_ENCODED_RUSTFLAGS", flags);
    let wanted = Wanted {
        bin,
        shown: bin.unwrap_or("the programs of ring 3"),
        place: "the machine",
    };
    builder::build(command, &wanted, options)
}

/// Whether `kernel` starts ring-3 programs.
///
/// # Errors
///
/// Its ELF cannot be read.
pub fn starts_ring_3(root: &Root, kernel: &Path) -> Result<bool> {
    let symbols = Symbols::shared(kernel, root.path())?;
    Ok(symbols.address_of(STARTED_BY).is_some())
}

/// The binaries of `packages` for `kernel`, where it starts such programs; none for any other.
///
/// # Errors
///
/// As [`build_user`] and [`starts_ring_3`].
pub fn user_programs_for(
    root: &Root,
    kernel: &Path,
    packages: &[&str],
    options: &BuildOptions,
) -> Result<Vec<(String, PathBuf)>> {
    let mut all = Vec::new();
    if starts_ring_3(root, kernel)? {
        for package in packages {
            all.extend(build_user(root, package, options)?);
        }
    }
    Ok(all)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn flags_of_ring_3() {
        let flags = user_rustflags(Path::new("/the root"));
        assert_eq!(&flags[..2], ["--cfg", "ringo_user"]);
        assert!(flags.contains(&"link-arg=-T/the root/userspace/user.ld".to_string()));
        let of_the_kernel = ["code-model=kernel", "no-redzone=yes"];
        assert!(!flags.iter().any(|f| of_the_kernel.contains(&f.as_str())));
    }

    #[test]
    fn a_kernel_that_starts_none() {
        let root = Root::find().unwrap();
        let me = std::env::current_exe().unwrap();
        let none = user_programs_for(&root, &me, &["no such package"], &BuildOptions::default());
        assert_eq!(none, Ok(Vec::new()));
    }
}
