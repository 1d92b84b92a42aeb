//! Which machines run: a small file for each, where `top` finds it. The machine's memory itself has no name; it is opened by
//! way of the runner that holds it.

use std::fs::{self, DirBuilder, File};
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};
use std::time::{SystemTime, UNIX_EPOCH};

use serde_json::{Value, json};

use crate::observe::Place;
use crate::{Machine, sys};

/// A machine that runs, or ran when this was read.
#[derive(Debug)]
pub struct Known {
    /// QEMU's process number, by which users name it.
    pub number: u32,
    /// The program.
    pub program: String,
    /// When it was started, milliseconds of the era.
    pub started_ms: u64,
    runner: u32,
    descriptor: i32,
    low_bytes: u64,
    header: u64,
}

/// As long as this lives the machine can be found.
#[derive(Debug)]
pub struct Listed(PathBuf);

impl Drop for Listed {
    fn drop(&mut self) {
        drop(fs::remove_file(&self.0));
    }
}

/// The folder: the user's own, closed to others.
fn folder() -> PathBuf {
    match std::env::var_os("XDG_RUNTIME_DIR") {
        Some(dir) if Path::new(&dir).is_dir() => PathBuf::from(dir).join("ringo"),
        _ => std::env::temp_dir().join(format!("ringo-{}", sys::user())),
    }
}

/// Lets others find the machine. That they cannot is no reason not to run it.
pub fn list(machine: &Machine, place: &Place, qemu: u32) -> Option<Listed> {
    static COUNT: AtomicU32 = AtomicU32::new(0);
    let folder = folder();
    let made = DirBuilder::new()
        .recursive(true)
        .mode(0o700)
        .create(&folder);
    if made.is_err() || fs::metadata(&folder).ok()?.uid() != sys::user() {
        return None;
    }
    let now = SystemTime::now().duration_since(UNIX_EPOCH).ok()?;
    let about = json!({
        "qemu": qemu,
        "runner": std::process::id(),
        "descriptor": place.file.as_raw_fd(),
        "program": machine.program,
        "low_bytes": place.low_bytes,
        "header": place.header,
        "started_ms": now.as_millis() as u64,
    });
    let n = COUNT.fetch_add(1, Relaxed);
    let file = folder.join(format!("{}-{n}.json", std::process::id()));
    // Whole, or not at all.
    let new = file.with_extension("new");
    fs::write(&new, about.to_string()).ok()?;
    fs::rename(&new, &file).ok()?;
    drop(running()); // those of runners that were killed go
    Some(Listed(file))
}

/// The machines that run, the newest first.
pub fn running() -> Vec<Known> {
    let files = fs::read_dir(folder()).into_iter().flatten().flatten();
    let files = files.map(|entry| entry.path());
    let mut all = Vec::new();
    for file in files.filter(|file| file.extension().is_some_and(|e| e == "json")) {
        match parse(&file) {
            Some(known) if known.is_running() => all.push(known),
            // Its runner was killed.
            _ => drop(fs::remove_file(&file)),
        }
    }
    all.sort_by_key(|known| std::cmp::Reverse((known.started_ms, known.number)));
    all
}

fn parse(file: &Path) -> Option<Known> {
    let about: Value = serde_json::from_slice(&fs::read(file).ok()?).ok()?;
    let number = |key: &str| about[key].as_u64();
    Some(Known {
        number: number("qemu")?.try_into().ok()?,
        program: about["program"].as_str()?.to_string(),
        started_ms: number("started_ms")?,
        runner: number("runner")?.try_into().ok()?,
        descriptor: number("descriptor")?.try_into().ok()?,
        low_bytes: number("low_bytes")?,
        header: number("header")?,
    })
}

impl Known {
    /// One that does not run.
    #[cfg(test)]
    pub fn of(number: u32, program: &str) -> Known {
        Known {
            number,
            program: program.to_string(),
            started_ms: 0,
            runner: 0,
            descriptor: 0,
            low_bytes: 0,
            header: 0,
        }
    }

    fn memory(&self) -> PathBuf {
        format!("/proc/{}/fd/{}", self.runner, self.descriptor).into()
    }

    /// Whether it still does.
    pub fn is_running(&self) -> bool {
        // A process that is none of ours may have got the number since.
        let memory = fs::read_link(self.memory());
        let is_ours = memory.is_ok_and(|to| to.to_string_lossy().starts_with("/memfd:ringo"));
        let stat = fs::read_to_string(format!("/proc/{}/stat", self.number));
        let state = stat
            .ok()
            .and_then(|s| s.rsplit_once(") ")?.1.chars().next());
        is_ours && state.is_some_and(|state| state != 'Z')
    }

    /// Its memory.
    pub fn place(&self) -> io::Result<Place> {
        Ok(Place {
            file: File::open(self.memory())?,
            low_bytes: self.low_bytes,
            header: self.header,
        })
    }
}
