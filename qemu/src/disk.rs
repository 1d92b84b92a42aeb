//! The machine's disk: a file of the user's, or a small image made for the run. QEMU answers its requests late, since
//! what it is for is to block: so many requests a second, after a first few that come at once (QEMU lets through what is
//! due in a tenth of a second). What the machine asked for is counted on this side, from QEMU's log of its trace events.

use std::fs::{self, File, FileType};
use std::io::{self, ErrorKind, Read, Seek, SeekFrom};
use std::os::fd::{AsRawFd, RawFd};
use std::os::unix::fs::FileTypeExt;
use std::path::{Path, PathBuf};

use crate::failure::Doing;
use crate::symbols::Symbols;
use crate::{Failure, Machine, Result, sys};

/// A program that has this symbol reads a disk.
const USED_BY: &str = "RINGO_DISK";
/// Size of the image that is made.
const SECTORS: u64 = 2048;
/// In QEMU's log.
const READ_EVENT: &str = "virtio_blk_handle_read";
const WRITE_EVENT: &str = "virtio_blk_handle_write";
/// Tells a disk that nobody has asked from a QEMU that logs nothing: every driver begins with it.
const STATUS_EVENT: &str = "virtio_set_status";

/// What the machine has for a disk.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Disk {
    /// None.
    None,
    /// One in which each sector consists of its own number, as 64 little-endian words, if the program has a driver and
    /// the run is not seeded.
    IfUsed,
    /// This file, which is written to if it may be.
    File(PathBuf),
}

/// Requests that QEMU has had from the machine, its firmware's among them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DiskCounts {
    /// Reads.
    pub reads: u64,
    /// Writes.
    pub writes: u64,
}

/// A disk while its machine runs.
pub struct Attached {
    image: File,
    read_only: bool,
    requests_per_s: Option<u32>,
    log: File,
}

impl Attached {
    /// The disk that `machine` is to have.
    ///
    /// # Errors
    ///
    /// The user's file cannot be used.
    pub fn new(machine: &Machine, symbols: &Symbols) -> Result<Option<Attached>> {
        let (image, read_only) = match &machine.disk {
            Disk::None => return Ok(None),
            Disk::IfUsed if machine.seed.is_some() || symbols.address_of(USED_BY).is_none() => {
                return Ok(None);
            }
            Disk::IfUsed => {
                let image = sys::memory_file(&numbered_sectors()).doing("make a disk")?;
                (image, false)
            }
            Disk::File(path) => open(path)?,
        };
        Ok(Some(Attached {
            image,
            read_only,
            requests_per_s: machine.disk_requests_per_s,
            log: sys::memory_file(&[]).doing("make a log for the disk")?,
        }))
    }

    /// QEMU's arguments for it.
    pub fn arguments(&self) -> Vec<String> {
        let mut drive = format!(
            "if=none,id=disk,format=raw,file=/proc/self/fd/{}",
            self.image.as_raw_fd()
        );
        if self.read_only {
            drive += ",readonly=on";
        }
        if let Some(limit) = self.requests_per_s {
            drive += &format!(",throttling.iops-total={limit}");
        }
        let device = "virtio-blk-pci,drive=disk".to_string();
        ["-drive".to_string(), drive, "-device".to_string(), device].into()
    }

    /// QEMU's arguments for counting its requests. They set QEMU's log, so they go with no other log.
    pub fn count_arguments(&self) -> Vec<String> {
        let log = self.log.as_raw_fd();
        let status = format!("enable={STATUS_EVENT},file=/proc/self/fd/{log}");
        let events = [READ_EVENT, WRITE_EVENT].map(|event| format!("enable={event}"));
        let events = events.into_iter().chain([status]);
        events
            .flat_map(|event| ["-trace".to_string(), event])
            .collect()
    }

    /// What QEMU has to inherit.
    pub fn descriptors(&self) -> [RawFd; 2] {
        [self.image.as_raw_fd(), self.log.as_raw_fd()]
    }

    /// What the machine has asked it for, now that QEMU has ended. `None`: nothing is known.
    pub fn counts(mut self) -> Option<DiskCounts> {
        let mut log = Vec::new();
        self.log.seek(SeekFrom::Start(0)).ok()?;
        self.log.read_to_end(&mut log).ok()?;
        count(&String::from_utf8_lossy(&log))
    }
}

fn count(log: &str) -> Option<DiskCounts> {
    let lines = |event: &str| log.lines().filter(|line| line.contains(event)).count() as u64;
    let counts = DiskCounts {
        reads: lines(READ_EVENT),
        writes: lines(WRITE_EVENT),
    };
    (lines(STATUS_EVENT) > 0).then_some(counts)
}

fn numbered_sectors() -> Vec<u8> {
    let words = (0..SECTORS).flat_map(|sector| [sector.to_le_bytes(); 64]);
    words.flatten().collect()
}

/// Opens a user's file: whether it may not be written to.
///
/// # Errors
///
/// It cannot be read, or is nothing that could be a disk.
pub fn open(path: &Path) -> Result<(File, bool)> {
    let shown = path.display();
    let wrong = |what: &str| Failure::new(format!("--disk {shown}: {what}"));
    let said = |error: io::Error| match error.kind() {
        ErrorKind::NotFound => wrong(&format!(
            "there is no such file; a disk is a regular file, as `truncate -s 1M {shown}` makes one"
        )),
        _ => wrong(&error.to_string()),
    };
    // Looked at before it is opened: a FIFO would keep us waiting for its other end.
    let about = fs::metadata(path).map_err(said)?;
    if let Some(what) = other_than_a_file(about.file_type()) {
        return Err(wrong(&format!(
            "this is {what}; a disk is a regular file, as `truncate -s 1M disk.img` makes one"
        )));
    }
    if about.len() < 512 {
        return Err(wrong("the file is shorter than one sector of 512 bytes"));
    }
    let options = || File::options().read(true).clone();
    match options().write(true).open(path) {
        Ok(file) => Ok((file, false)),
        Err(error)
            if matches!(
                error.kind(),
                ErrorKind::PermissionDenied | ErrorKind::ReadOnlyFilesystem
            ) =>
        {
            Ok((options().open(path).map_err(said)?, true))
        }
        Err(error) => Err(said(error)),
    }
}

/// What stands at `path`, if anything does and it is no regular file. Looked at before it is opened: a FIFO would keep us waiting for
/// its other end.
pub fn no_file_but(path: &Path) -> Option<&'static str> {
    other_than_a_file(fs::metadata(path).ok()?.file_type())
}

/// What stands there, if it is no regular file: QEMU takes nothing else by way of a descriptor.
fn other_than_a_file(kind: FileType) -> Option<&'static str> {
    match kind {
        kind if kind.is_file() => None,
        kind if kind.is_dir() => Some("a folder"),
        kind if kind.is_fifo() => Some("a FIFO"),
        kind if kind.is_socket() => Some("a socket"),
        _ => Some("a device"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn attached(read_only: bool, requests_per_s: Option<u32>) -> Attached {
        let file = || sys::memory_file(&[]).unwrap();
        Attached {
            image: file(),
            read_only,
            requests_per_s,
            log: file(),
        }
    }

    #[test]
    fn arguments() {
        let slow = attached(false, Some(200)).arguments().join(" ");
        assert!(slow.contains(",throttling.iops-total=200 -device virtio-blk-pci,drive=disk"));
        assert!(!slow.contains("readonly"));
        let line = attached(true, None).arguments().join(" ");
        assert!(line.contains(",readonly=on -device") && !line.contains("throttling"));
    }

    #[test]
    fn sectors_consist_of_their_numbers() {
        let all = numbered_sectors();
        assert_eq!(all.len(), 1 << 20);
        assert_eq!(all[..512], [0; 512]);
        let last = &all[all.len() - 8..];
        assert_eq!(last, 2047u64.to_le_bytes());
        assert_eq!(all[300 * 512..300 * 512 + 8], 300u64.to_le_bytes());
    }

    #[test]
    fn requests_are_counted() {
        let log = "virtio_set_status vdev 0x1 val 0\n\
                   virtio_blk_handle_read vdev 0x1 req 0x2 sector 5 nsectors 1\n\
                   virtio_blk_handle_write vdev 0x1 req 0x2 sector 5 nsectors 1\n\
                   virtio_blk_handle_read vdev 0x1 req 0x2 sector 9 nsectors 32\n";
        let counts = DiskCounts {
            reads: 2,
            writes: 1,
        };
        assert_eq!(count(log), Some(counts));
        assert_eq!(
            count("virtio_set_status vdev 0x1 val 0\n"),
            Some(DiskCounts::default())
        );
        assert_eq!(count(""), None);
    }

    #[test]
    fn what_is_no_disk() {
        let line = |path: &Path| open(path).unwrap_err().line;
        let absent = line(Path::new("/no/such/file"));
        let wanted = "--disk /no/such/file: there is no such file; a disk is a regular file";
        assert!(absent.starts_with(wanted), "{absent}");
        assert!(absent.ends_with("as `truncate -s 1M /no/such/file` makes one"));
        let folder = std::env::temp_dir().join(format!("ringo-disk-{}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        let (fifo, short) = (folder.join("fifo"), folder.join("short"));
        let made = std::process::Command::new("mkfifo").arg(&fifo).status();
        assert!(made.unwrap().success());
        let _socket = std::os::unix::net::UnixListener::bind(folder.join("socket")).unwrap();
        for (path, what) in [
            (Path::new("/"), "a folder"),
            (Path::new("/dev/null"), "a device"),
            (Path::new("/dev/zero"), "a device"),
            (&fifo, "a FIFO"),
            (&folder.join("socket"), "a socket"),
        ] {
            let wanted = format!("this is {what}; a disk is a regular file, as `truncate");
            let got = line(path);
            assert!(got.contains(&wanted), "{got}");
        }
        fs::write(&short, [1; 511]).unwrap();
        assert!(line(&short).contains("shorter than one sector"));
        fs::remove_dir_all(folder).unwrap();
    }
}
