//! Rules that a final ELF keeps, a kernel's or a ring-3 program's, whatever its sources say.

use std::fs;
use std::path::Path;

use object::elf;
use object::read::elf::{ElfFile64, ProgramHeader, SectionHeader};
use object::{Endianness, Object, ObjectSection, ObjectSymbol, SectionKind, SymbolKind};

use crate::failure::Doing;
use crate::{Result, red_zone};

type Elf<'a> = ElfFile64<'a, Endianness>;

/// Type of the note that holds the entry for the PVH boot protocol (`XEN_ELFNOTE_PHYS32_ENTRY`).
const PVH_NOTE: elf::NoteType = elf::NoteType(18);
/// Bytes of a page.
const PAGE: u64 = 4096;
/// So many findings of a kind are named.
const NAMED: usize = 5;

/// What a scan has seen.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Scan {
    /// Broken rules, a line each.
    pub findings: Vec<String>,
    /// Functions looked at.
    pub functions: usize,
    /// Stores below the stack pointer in precompiled code, which are allowed.
    pub allowed_red_zone_stores: usize,
}

/// Looks at a kernel's ELF: writable code, pages that two segments share, dynamic relocations, symbols of `std`, the PVH note, the red zone.
///
/// # Errors
///
/// It cannot be read, or is no 64-bit ELF.
pub fn scan(path: &Path) -> Result<Scan> {
    read(path, |elf| {
        let mut scan = Scan {
            findings: layout(elf),
            ..Scan::default()
        };
        red_zone(elf, &mut scan);
        scan
    })
}

/// Looks at a ring-3 program's ELF: the rules broken, as above without those of kernels, and whether each segment has pages of its own
/// and the program begins in code.
///
/// # Errors
///
/// It cannot be read, or is no 64-bit ELF.
pub fn scan_user(path: &Path) -> Result<Vec<String>> {
    read(path, user_layout)
}

fn read<T>(path: &Path, look: impl Fn(&Elf<'_>) -> T) -> Result<T> {
    let bytes = fs::read(path).doing(format_args!("read {}", path.display()))?;
    let elf =
        Elf::parse(bytes.as_slice()).doing(format_args!("read {} as an ELF", path.display()))?;
    Ok(look(&elf))
}

/// All rules of a kernel but the red zone's.
fn layout(elf: &Elf<'_>) -> Vec<String> {
    let mut found = common_layout(elf);
    found.extend(pvh_note(elf));
    found
}

/// All rules of a ring-3 program.
fn user_layout(elf: &Elf<'_>) -> Vec<String> {
    let mut found = common_layout(elf);
    found.extend(entry(elf));
    found
}

fn common_layout(elf: &Elf<'_>) -> Vec<String> {
    let mut found = segments(elf);
    found.extend(shared_pages(elf));
    found.extend(relocations(elf));
    found.extend(std_symbols(elf));
    found
}

/// A page has the rights of one segment. For kernels it is also a matter of speed: a store to a page that holds code costs 280 ns
/// under TCG.
fn shared_pages(elf: &Elf<'_>) -> Vec<String> {
    let endian = elf.endian();
    let loaded = elf.elf_program_headers().iter();
    let loaded = loaded.filter(|segment| segment.p_type(endian) == elf::PT_LOAD);
    let mut pages: Vec<(u64, u64)> = loaded
        .map(|segment| (segment.p_vaddr(endian), segment.p_memsz(endian)))
        .filter(|(_, bytes)| *bytes > 0)
        .map(|(at, bytes)| (at / PAGE, (at + bytes - 1) / PAGE))
        .collect();
    pages.sort_unstable();
    let shared = pages.windows(2).filter(|two| two[0].1 >= two[1].0);
    shared
        .map(|two| format!("two segments share the page at {:#x}", two[1].0 * PAGE))
        .collect()
}

/// The first instruction is code of the program's.
fn entry(elf: &Elf<'_>) -> Option<String> {
    let (endian, at) = (elf.endian(), elf.entry());
    let is_code = elf.elf_program_headers().iter().any(|segment| {
        let range = segment.p_vaddr(endian)..segment.p_vaddr(endian) + segment.p_filesz(endian);
        segment.p_type(endian) == elf::PT_LOAD
            && segment.p_flags(endian).0 & elf::PF_X.0 != 0
            && range.contains(&at)
    });
    (!is_code).then(|| format!("it begins at {at:#x}, where it has no code"))
}

/// No page is both written and executed, and nothing asks for a loader at run time.
fn segments(elf: &Elf<'_>) -> Vec<String> {
    let endian = elf.endian();
    let mut found = Vec::new();
    for segment in elf.elf_program_headers() {
        let (kind, flags) = (segment.p_type(endian), segment.p_flags(endian));
        let at = segment.p_vaddr(endian);
        if kind == elf::PT_LOAD && flags.0 & elf::PF_W.0 != 0 && flags.0 & elf::PF_X.0 != 0 {
            found.push(format!(
                "the segment at {at:#x} is both writable and executable"
            ));
        }
        if kind == elf::PT_DYNAMIC || kind == elf::PT_INTERP {
            found.push(format!("it has a segment for a dynamic linker at {at:#x}"));
        }
    }
    found
}

fn relocations(elf: &Elf<'_>) -> Vec<String> {
    let endian = elf.endian();
    let sections = elf.elf_section_table();
    let dynamic = sections.iter().filter(|section| {
        let kind = section.sh_type(endian);
        let loaded = section.sh_flags(endian).0 & elf::SHF_ALLOC.0 != 0;
        (kind == elf::SHT_RELA || kind == elf::SHT_REL || kind == elf::SHT_RELR)
            && loaded
            && section.sh_size(endian) > 0
    });
    dynamic
        .map(|section| {
            let name = sections.section_name(endian, section).unwrap_or_default();
            format!("dynamic relocations in {}", String::from_utf8_lossy(name))
        })
        .collect()
}

/// `std` would bring calls of an operating system that is not there.
fn std_symbols(elf: &Elf<'_>) -> Vec<String> {
    let names = elf
        .symbols()
        .filter_map(|symbol| Some(demangle(symbol.name().ok()?)));
    let mut found: Vec<String> = names
        .filter(|name| is_of_std(name))
        .map(|name| format!("symbol of std: {name}"))
        .collect();
    shorten(&mut found);
    found
}

fn is_of_std(name: &str) -> bool {
    name.match_indices("std::").any(|(at, _)| {
        !name[..at]
            .ends_with(|before: char| before.is_alphanumeric() || before == '_' || before == ':')
    })
}

/// Loaders look into the first note of a segment; the linker likes to put others before it.
fn pvh_note(elf: &Elf<'_>) -> Option<String> {
    let endian = elf.endian();
    let data = elf.data();
    for segment in elf.elf_program_headers() {
        let Ok(Some(mut notes)) = segment.notes(endian, data) else {
            continue;
        };
        let mut all = Vec::new();
        while let Ok(Some(note)) = notes.next() {
            all.push((note.name().to_vec(), note.n_type(endian)));
        }
        if all
            .iter()
            .any(|(name, kind)| name == b"Xen" && *kind == PVH_NOTE)
        {
            return (all.len() > 1)
                .then(|| "the PVH note shares its segment with others".to_string());
        }
    }
    Some("it has no PVH note, so QEMU cannot enter it".to_string())
}

fn red_zone(elf: &Elf<'_>, scan: &mut Scan) {
    let mut found = Vec::new();
    for symbol in elf
        .symbols()
        .filter(|symbol| symbol.kind() == SymbolKind::Text && symbol.size() > 0)
    {
        let code = symbol
            .section_index()
            .and_then(|index| elf.section_by_index(index).ok())
            .filter(|section| section.kind() == SectionKind::Text)
            .and_then(|section| {
                section
                    .data_range(symbol.address(), symbol.size())
                    .ok()
                    .flatten()
            });
        let Some(code) = code else {
            continue;
        };
        scan.functions += 1;
        let stores = red_zone::stores_below_rsp(code, symbol.address());
        let name = demangle(symbol.name().unwrap_or("?"));
        if red_zone::may_use_red_zone(&name) {
            scan.allowed_red_zone_stores += stores.len();
        } else {
            found.extend(
                stores
                    .iter()
                    .map(|at| format!("{name} stores below the stack pointer at {at:#x}")),
            );
        }
    }
    shorten(&mut found);
    scan.findings.extend(found);
}

fn demangle(name: &str) -> String {
    format!("{:#}", rustc_demangle::demangle(name))
}

fn shorten(found: &mut Vec<String>) {
    if found.len() > NAMED {
        let more = found.len() - NAMED;
        found.truncate(NAMED);
        found.push(format!("and {more} more of this kind"));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// This very test is a program of the host, which breaks most of the rules.
    #[test]
    fn a_program_of_the_host_is_no_kernel() {
        let bytes = fs::read(std::env::current_exe().unwrap()).unwrap();
        let all = layout(&Elf::parse(bytes.as_slice()).unwrap()).join("\n");
        for wanted in [
            "dynamic linker",
            "dynamic relocations",
            "symbol of std: ",
            "no PVH note",
        ] {
            assert!(all.contains(wanted), "{wanted} in {all}");
        }
    }

    /// Nor is it a program of ring 3; with its segments moved together and its entry gone, less still.
    #[test]
    fn a_program_of_the_host_is_none_of_ring_3() {
        let mut bytes = fs::read(std::env::current_exe().unwrap()).unwrap();
        let all = |bytes: &[u8]| user_layout(&Elf::parse(bytes).unwrap()).join("\n");
        let as_it_is = all(&bytes);
        for wanted in ["dynamic linker", "dynamic relocations", "symbol of std: "] {
            assert!(as_it_is.contains(wanted), "{wanted} in {as_it_is}");
        }
        for spoiled in ["share the page", "where it has no code", "PVH"] {
            assert!(!as_it_is.contains(spoiled), "{spoiled} in {as_it_is}");
        }
        // Where ELF has the entry, the table of segments, and an address in each entry of it.
        bytes[24..32].copy_from_slice(&7u64.to_le_bytes());
        let table = u64::from_le_bytes(bytes[32..40].try_into().unwrap()) as usize;
        let count = u16::from_le_bytes(bytes[56..58].try_into().unwrap());
        for i in 0..usize::from(count) {
            let at = table + i * 56 + 16;
            bytes[at..at + 8].copy_from_slice(&0x1000u64.to_le_bytes());
        }
        let spoiled = all(&bytes);
        for wanted in [
            "two segments share the page at 0x1000",
            "it begins at 0x7, where it has no code",
        ] {
            assert!(spoiled.contains(wanted), "{wanted} in {spoiled}");
        }
    }

    #[test]
    fn symbols_of_std() {
        assert!(is_of_std("std::io::stdio::_print"));
        assert!(is_of_std("<std::time::Instant as core::fmt::Debug>::fmt"));
        assert!(!is_of_std("my_std::f"));
        assert!(!is_of_std("core::x::std::f"));
        assert!(!is_of_std("alloc::string::String::push"));
    }
}
