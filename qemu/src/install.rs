//! Finds QEMU, or installs it where the system's package manager is Debian's; so too the clients that tests want.

use std::io::IsTerminal;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Mutex;

use crate::failure::Doing;
use crate::say::{say, to_stderr};
use crate::{Failure, Result, sys};

/// The program that machines run on.
pub const QEMU: &str = "qemu-system-x86_64";
const PACKAGE: &str = "qemu-system-x86";

/// Finds QEMU and installs it if it is missing: on Debian and Ubuntu, as root or through `sudo`; asks first if a
/// terminal is there to ask on. The path of QEMU.
///
/// # Errors
///
/// It is missing and cannot be installed; the line says what to do.
pub fn prepare() -> Result<PathBuf> {
    prepare_tool(QEMU, PACKAGE)
}

/// Finds `program`, and installs the package that has it if it is missing, as [`prepare`] does. What could not be had
/// once is not tried again. Its path.
///
/// # Errors
///
/// As [`prepare`].
pub fn prepare_tool(program: &'static str, package: &'static str) -> Result<PathBuf> {
    // Tests ask from many threads; one of them installs.
    static REFUSED: Mutex<Vec<(&str, String)>> = Mutex::new(Vec::new());
    let mut refused = REFUSED
        .lock()
        .unwrap_or_else(std::sync::PoisonError::into_inner);
    if let Some(path) = find(program) {
        return Ok(path);
    }
    if let Some((_, line)) = refused.iter().find(|(name, _)| *name == program) {
        return Err(Failure::new(line.clone()));
    }
    let installed = install(program, package).and_then(|()| {
        find(program).ok_or_else(|| {
            Failure::new(format!(
                "{package} is installed, but {program} is not on the PATH"
            ))
        })
    });
    installed.inspect_err(|why| refused.push((program, why.to_string())))
}

/// Where `PATH` has an executable of this name.
pub fn find(name: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    // A user's PATH may lack the folders of the system's own programs.
    let system = ["/usr/bin", "/usr/sbin", "/bin", "/sbin", "/usr/local/bin"].map(PathBuf::from);
    std::env::split_paths(&path)
        .chain(system)
        .map(|folder| folder.join(name))
        .find(|file| is_executable(file))
}

fn is_executable(file: &Path) -> bool {
    use std::os::unix::fs::PermissionsExt;
    file.metadata()
        .is_ok_and(|meta| meta.is_file() && meta.permissions().mode() & 0o111 != 0)
}

/// How packages can be installed here.
#[derive(Debug, PartialEq, Eq)]
enum Way {
    Root,
    Sudo,
}

fn install(program: &str, package: &str) -> Result<()> {
    let by_hand = |why: &str| {
        Failure::new(format!(
            "{program} is missing and {why}; install it, on Debian and Ubuntu by: apt-get install {package}"
        ))
    };
    let apt = find("apt-get").ok_or_else(|| by_hand("there is no apt-get to install it with"))?;
    let way = way().ok_or_else(|| by_hand("only root can install it"))?;
    let terminal = on_terminal();
    if terminal && !ask(program, package, &way)? {
        return Err(by_hand("was not to be installed"));
    }
    say(format_args!(
        "{program} is missing; installing the package {package} with apt-get"
    ));
    // A list of packages that is partly out of date may still do, so only the second command decides.
    let _ = apt_get(&apt, &way, terminal, &["update"]);
    apt_get(
        &apt,
        &way,
        terminal,
        &["install", "--yes", "--no-install-recommends", package],
    )
    .map_err(|why| by_hand(&format!("apt-get could not install it ({why})")))
}

/// Brings the list of packages up to date; whether that went well.
pub fn update_lists() -> bool {
    let (Some(apt), Some(way)) = (find("apt-get"), way()) else {
        return false;
    };
    apt_get(&apt, &way, on_terminal(), &["update"]).is_ok()
}

fn way() -> Option<Way> {
    match (sys::is_root(), find("sudo")) {
        (true, _) => Some(Way::Root),
        (false, Some(_)) => Some(Way::Sudo),
        (false, None) => None,
    }
}

fn on_terminal() -> bool {
    std::io::stdin().is_terminal() && std::io::stderr().is_terminal()
}

fn ask(program: &str, package: &str, way: &Way) -> Result<bool> {
    let how = if *way == Way::Sudo {
        "sudo apt-get"
    } else {
        "apt-get"
    };
    to_stderr(&format!(
        "{program} is missing. Install the package {package} with {how}? [Y/n] "
    ));
    let mut answer = String::new();
    std::io::stdin()
        .read_line(&mut answer)
        .doing("read the answer")?;
    // An empty answer is a yes, the end of input is not.
    Ok(matches!(answer.trim(), "y" | "Y" | "yes" | "Yes") || answer == "\n")
}

/// Runs apt-get; shows what it says on a terminal, and in a pipe only passes on its last error.
fn apt_get(
    apt: &Path,
    way: &Way,
    terminal: bool,
    args: &[&str],
) -> std::result::Result<(), String> {
    let mut command = Command::new(if *way == Way::Sudo {
        Path::new("sudo")
    } else {
        Path::new("env")
    });
    if *way == Way::Sudo {
        if !terminal {
            command.arg("-n");
        }
        command.arg("env");
    }
    command.arg("DEBIAN_FRONTEND=noninteractive").arg(apt);
    command.args(["-o", "DPkg::Lock::Timeout=300", "-o", "Acquire::Retries=3"]);
    if !terminal {
        command.arg("-qq");
    }
    command.args(args);
    if terminal {
        // Our stdout is the program's.
        command.stdout(std::io::stderr());
    } else {
        command
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::piped());
    }
    let output = command
        .spawn()
        .and_then(std::process::Child::wait_with_output)
        .map_err(|error| error.to_string())?;
    if output.status.success() {
        return Ok(());
    }
    Err(last_error(&String::from_utf8_lossy(&output.stderr))
        .unwrap_or_else(|| output.status.to_string()))
}

fn last_error(text: &str) -> Option<String> {
    let line = text
        .lines()
        .rev()
        .find(|line| line.starts_with("E:"))
        .or_else(|| text.lines().next_back())?;
    Some(line.trim_start_matches("E:").trim().to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_what_is_there() {
        assert!(find("sh").is_some());
        assert_eq!(find("no-such-program-here"), None);
    }

    #[test]
    fn what_is_there_is_not_installed() {
        assert!(prepare_tool("sh", "no-such-package").is_ok());
    }

    #[test]
    fn the_reason_is_apts_last_error() {
        let text = "W: some warning\nE: Unable to locate package x\n";
        assert_eq!(
            last_error(text).as_deref(),
            Some("Unable to locate package x")
        );
        assert_eq!(
            last_error("sudo: a password is required\n").as_deref(),
            Some("sudo: a password is required")
        );
        assert_eq!(last_error(""), None);
    }
}
