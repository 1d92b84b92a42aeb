//! Programs: what of an ELF file can be run (64-bit, x86-64, linked to its addresses, nothing to be loaded beside it), and its way
//! into an address space. A file is somebody's: everything in it is checked before anything is mapped.

#[cfg(test)]
pub(crate) mod tests;

use crate::files::Bytes;
use crate::machine::{PAGE, USER_BASE, USER_END};
use crate::space::{Access, Space};
use abi::Error;
use alloc::vec::Vec;
use core::fmt;
use elf::abi::*;
use elf::endian::LittleEndian;
use elf::parse::ParseError;
use elf::segment::ProgramHeader;
use elf::{ElfBytes, file::FileHeader};

/// Segments of a program at most.
pub const SEGMENTS_MAX: usize = 16;

/// Why a file is no program of ring 3. Each is one line for people.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NotAProgram {
    /// It does not begin as ELF files do.
    NotElf,
    /// A table of it is not where its header says.
    Damaged,
    /// It is for another machine.
    OtherMachine,
    /// It is a library, or runs at any address, or was not linked.
    NotFixed,
    /// It wants a loader or libraries.
    NotStatic,
    /// It has variables of threads, which need support that is not there.
    ThreadLocals,
    /// Nothing to load.
    Empty,
    /// More than [`SEGMENTS_MAX`].
    TooManySegments,
    /// A segment is longer in the file than in memory.
    LongerInFile(u64),
    /// A segment goes on behind the file's end.
    CutShort(u64),
    /// A segment cannot be read.
    Unreadable(u64),
    /// A segment could be written and executed.
    WritableCode(u64),
    /// A segment is not in the addresses that programs have.
    Outside(u64),
    /// Two segments share a page.
    Overlap(u64),
    /// The first instruction is not in a segment that can be executed.
    Entry(u64),
}

impl fmt::Display for NotAProgram {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        use NotAProgram::*;
        match self {
            NotElf => f.write_str("it is no ELF file"),
            Damaged => f.write_str("its ELF header or program headers are damaged"),
            OtherMachine => f.write_str("it is not for 64-bit x86-64, little endian"),
            NotFixed => f.write_str(
                "it is not linked to fixed addresses (ET_EXEC); link it with -static -no-pie",
            ),
            NotStatic => {
                f.write_str("it needs a loader or libraries; link it with -static -no-pie")
            }
            ThreadLocals => {
                f.write_str("it has thread-local variables, which ring 3 does not offer")
            }
            Empty => f.write_str("it has nothing to load"),
            TooManySegments => write!(f, "it has more than {SEGMENTS_MAX} segments to load"),
            LongerInFile(at) => write!(
                f,
                "its segment at {at:#x} is longer in the file than in memory"
            ),
            CutShort(at) => write!(
                f,
                "its segment at {at:#x} goes on behind the end of the file"
            ),
            Unreadable(at) => write!(f, "its segment at {at:#x} cannot be read"),
            WritableCode(at) => write!(f, "its segment at {at:#x} can be written and executed"),
            Outside(at) => write!(
                f,
                "its segment at {at:#x} is not within {USER_BASE:#x} to {USER_END:#x}, where programs may lie"
            ),
            Overlap(at) => write!(f, "its segment at {at:#x} shares a page with another one"),
            Entry(at) => write!(
                f,
                "its entry {at:#x} is not in a segment that can be executed"
            ),
        }
    }
}

impl core::error::Error for NotAProgram {}

/// A program that can be mapped.
#[derive(Clone, Debug)]
pub struct Program {
    /// Its first instruction.
    pub entry: u64,
    /// By address.
    segments: Vec<Segment>,
}

/// A part of it. It has pages of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Segment {
    start: u64,
    bytes: u64,
    /// Offset in the file, and how many bytes come from there.
    file: (usize, usize),
    access: Access,
}

impl Segment {
    fn pages(&self) -> (u64, u64) {
        // Neither wraps: it lies in the user's half.
        (self.start / PAGE, (self.start + self.bytes).div_ceil(PAGE))
    }
}

/// Looks a file over.
///
/// # Errors
/// What is wrong with it.
pub fn parse(file: &[u8]) -> Result<Program, NotAProgram> {
    if !file.starts_with(&ELFMAGIC) {
        return Err(NotAProgram::NotElf);
    }
    if file.get(EI_CLASS).is_some_and(|&class| class != ELFCLASS64) {
        return Err(NotAProgram::OtherMachine);
    }
    let elf = ElfBytes::<LittleEndian>::minimal_parse(file).map_err(|e| match e {
        ParseError::UnsupportedElfEndianness(_) => NotAProgram::OtherMachine,
        _ => NotAProgram::Damaged,
    })?;
    header(&elf.ehdr)?;
    let mut segments = Vec::new();
    for h in elf.segments().ok_or(NotAProgram::Empty)? {
        match h.p_type {
            PT_INTERP | PT_DYNAMIC => return Err(NotAProgram::NotStatic),
            PT_TLS if h.p_memsz != 0 => return Err(NotAProgram::ThreadLocals),
            PT_LOAD if h.p_memsz != 0 || h.p_filesz != 0 => segments.push(segment(&h, file.len())?),
            _ => {}
        }
        if segments.len() > SEGMENTS_MAX {
            return Err(NotAProgram::TooManySegments);
        }
    }
    segments.sort_unstable_by_key(|s| s.start);
    if segments.is_empty() {
        return Err(NotAProgram::Empty);
    }
    for pair in segments.windows(2) {
        if pair[0].pages().1 > pair[1].pages().0 {
            return Err(NotAProgram::Overlap(pair[1].start));
        }
    }
    let entry = elf.ehdr.e_entry;
    let holds = |s: &Segment| s.access.execute && entry >= s.start && entry - s.start < s.bytes;
    if !segments.iter().any(holds) {
        return Err(NotAProgram::Entry(entry));
    }
    Ok(Program { entry, segments })
}

fn header(h: &FileHeader<LittleEndian>) -> Result<(), NotAProgram> {
    if h.e_machine != EM_X86_64 {
        return Err(NotAProgram::OtherMachine);
    }
    if h.e_type != ET_EXEC {
        return Err(NotAProgram::NotFixed);
    }
    Ok(())
}

fn segment(h: &ProgramHeader, file_bytes: usize) -> Result<Segment, NotAProgram> {
    let at = h.p_vaddr;
    if h.p_filesz > h.p_memsz {
        return Err(NotAProgram::LongerInFile(at));
    }
    let in_file = h.p_offset.checked_add(h.p_filesz);
    if in_file.is_none_or(|end| end > file_bytes as u64) {
        return Err(NotAProgram::CutShort(at));
    }
    let end = at.checked_add(h.p_memsz);
    if at < USER_BASE || end.is_none_or(|end| end > USER_END) {
        return Err(NotAProgram::Outside(at));
    }
    let may = |flag| h.p_flags & flag != 0;
    if !may(PF_R) {
        return Err(NotAProgram::Unreadable(at));
    }
    let access = Access {
        write: may(PF_W),
        execute: may(PF_X),
    };
    if access.write && access.execute {
        return Err(NotAProgram::WritableCode(at));
    }
    Ok(Segment {
        start: at,
        bytes: h.p_memsz,
        // Both are within the file.
        file: (h.p_offset as usize, h.p_filesz as usize),
        access,
    })
}

impl Program {
    /// Maps it. `file` is the one that it was parsed from.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`]: it is larger than a process may be. [`Error::BadAddress`]: something else is there already.
    pub fn map(&self, space: &Space, file: &Bytes) -> Result<(), Error> {
        for s in &self.segments {
            space.map_image((s.start, s.bytes), file.clone(), s.file, s.access)?
        }
        Ok(())
    }
}
