//! A tar archive on the disk (POSIX ustar, as GNU tar and others write it for short names): regular files, by their names.
//!
//! Its headers are read once, when a file is first asked for. A disk that is no archive has no files; one that is damaged has those
//! before the damage.

use super::{Bytes, Files, Pieces};
use crate::account::{Account, Charge};
use crate::call::zeroes;
use abi::Error;
use alloc::string::String;
use alloc::sync::{Arc, Weak};
use alloc::vec::Vec;
use csp::sync::{Mutex, OnceLock};

/// Bytes of a sector, and of tar's blocks.
const SECTOR_BYTES: u64 = 512;
/// Files that are looked at.
const FILES_MAX: usize = 4096;
/// Largest file that is read as a whole.
const WHOLE_MAX_BYTES: u64 = 16 << 20;
/// Sectors that one request reads.
const AT_ONCE: usize = 32;

/// How whole sectors are read from that number on.
type ReadSectors = fn(u64, &mut [u8]) -> Result<(), Error>;

/// The archive on a disk.
pub struct Archive {
    read: ReadSectors,
    entries: OnceLock<Vec<Entry>>,
}

struct Entry {
    name: String,
    place: Place,
    /// Its bytes, while somebody uses them.
    whole: Mutex<Weak<Vec<u8>>>,
}

/// Who has a file in memory. As with memory that is shared it counts for each, though it is there once.
struct Held {
    bytes: Arc<Vec<u8>>,
    _charge: Charge,
}

impl AsRef<[u8]> for Held {
    fn as_ref(&self) -> &[u8] {
        &self.bytes
    }
}

/// Where a file lies.
#[derive(Clone, Copy)]
struct Place {
    read: ReadSectors,
    sector: u64,
    bytes: u64,
}

impl Archive {
    /// What lies on the disk whose sectors `read` reads.
    pub fn new(read: ReadSectors) -> Archive {
        Archive {
            read,
            entries: OnceLock::new(),
        }
    }

    fn entries(&self) -> &[Entry] {
        self.entries.get_or_init(|| list(self.read))
    }

    fn entry(&self, name: &str) -> Option<&Entry> {
        // As `tar -x` has it, the last of a name counts.
        self.entries().iter().rfind(|entry| entry.name == name)
    }
}

impl Entry {
    /// All of it, if nobody has it yet.
    fn read(&self) -> Result<Arc<Vec<u8>>, Error> {
        let mut whole = self.whole.lock();
        if let Some(bytes) = whole.upgrade() {
            return Ok(bytes);
        }
        let mut all = zeroes(self.place.bytes as usize)?;
        self.place.read_at(0, &mut all)?;
        let all = Arc::new(all);
        *whole = Arc::downgrade(&all);
        Ok(all)
    }
}

impl Files for Archive {
    fn open(&self, name: &str, account: &Arc<Account>) -> Result<Bytes, Error> {
        let entry = self.entry(name).ok_or(Error::NotFound)?;
        if entry.place.bytes > WHOLE_MAX_BYTES {
            return Err(Error::Limit);
        }
        let _charge = account.charge_heap(entry.place.bytes)?;
        let bytes = entry.read()?;
        Ok(Arc::new(Held { bytes, _charge }))
    }

    fn open_pieces(&self, name: &str) -> Option<Arc<dyn Pieces>> {
        let entry = self.entry(name)?;
        Some(Arc::new(entry.place))
    }

    fn names(&self) -> Vec<String> {
        let names = self.entries().iter().map(|entry| entry.name.clone());
        names.collect()
    }
}

impl Pieces for Place {
    fn size(&self) -> u64 {
        self.bytes
    }

    fn read_at(&self, at: u64, to: &mut [u8]) -> Result<(), Error> {
        let (mut at, mut to) = (at, to);
        while !to.is_empty() {
            let sector = self.sector + at / SECTOR_BYTES;
            let n = read_some(self.read, sector, (at % SECTOR_BYTES) as usize, to)?;
            (at, to) = (at + n as u64, &mut to[n..])
        }
        Ok(())
    }
}

/// Fills the begin of `to` from byte `skip` of a sector on; how far.
fn read_some(read: ReadSectors, sector: u64, skip: usize, to: &mut [u8]) -> Result<usize, Error> {
    const SECTOR: usize = SECTOR_BYTES as usize;
    let whole = (to.len() / SECTOR).min(AT_ONCE) * SECTOR;
    if skip == 0 && whole != 0 {
        read(sector, &mut to[..whole])?;
        return Ok(whole);
    }
    let mut one = [0; SECTOR];
    read(sector, &mut one)?;
    let n = to.len().min(SECTOR - skip);
    to[..n].copy_from_slice(&one[skip..skip + n]);
    Ok(n)
}

/// All regular files.
fn list(read: ReadSectors) -> Vec<Entry> {
    let mut entries = Vec::new();
    let (mut sector, mut header) = (0u64, [0; SECTOR_BYTES as usize]);
    while entries.len() < FILES_MAX && read(sector, &mut header).is_ok() {
        let Some(Header {
            name,
            bytes,
            regular,
        }) = Header::of(&header)
        else {
            break;
        };
        let behind = bytes.div_ceil(SECTOR_BYTES);
        let place = Place {
            read,
            sector: sector + 1,
            bytes,
        };
        if regular {
            entries.push(Entry {
                name,
                place,
                whole: Mutex::new(Weak::new()),
            })
        }
        match (sector + 1).checked_add(behind) {
            Some(next) => sector = next,
            None => break,
        }
    }
    entries
}

struct Header {
    name: String,
    bytes: u64,
    regular: bool,
}

impl Header {
    /// What a block says, if it is a header.
    fn of(block: &[u8; SECTOR_BYTES as usize]) -> Option<Header> {
        // The sum counts its own field as blanks.
        let sum = block.iter().enumerate().map(|(i, &b)| match i {
            148..156 => u64::from(b' '),
            _ => u64::from(b),
        });
        if number(&block[148..156])? != sum.sum::<u64>() {
            return None;
        }
        let mut name = String::new();
        if &block[257..262] == b"ustar" && block[345] != 0 {
            name.push_str(text(&block[345..500])?);
            name.push('/')
        }
        name.push_str(text(&block[..100])?);
        let name = name.trim_start_matches("./").into();
        let regular = matches!(block[156], b'0' | 0);
        let bytes = number(&block[124..136])?;
        Some(Header {
            name,
            bytes,
            regular,
        })
    }
}

/// Text up to a NUL, or all of it.
fn text(field: &[u8]) -> Option<&str> {
    let field = field.split(|&b| b == 0).next()?;
    core::str::from_utf8(field).ok()
}

/// Octal digits between blanks and NULs.
fn number(field: &[u8]) -> Option<u64> {
    u64::from_str_radix(text(field)?.trim_matches(' '), 8).ok()
}
