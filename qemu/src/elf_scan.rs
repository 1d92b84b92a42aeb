//! Rules that a kernel's final ELF keeps, whatever its sources say.

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

/// Looks at one ELF: writable code, dynamic relocations, symbols of `std`, the PVH note, the red zone.
///
/// # Errors
///
/// It cannot be read, or is no 64-bit ELF.
pub fn scan(path: &Path) -> Result<Scan> {
    let bytes = fs::read(path).doing(format_args!("read {}", path.display()))?;
    let elf =
        Elf::parse(bytes.as_slice()).doing(format_args!("read {} as an ELF", path.display()))?;
    let mut scan = Scan {
        findings: layout(&elf),
        ..Scan::default()
    };
    red_zone(&elf, &mut scan);
    Ok(scan)
}

/// All rules but the red zone's.
fn layout(elf: &Elf<'_>) -> Vec<String> {
    let mut found = segments(elf);
    found.extend(relocations(elf));
    found.extend(std_symbols(elf));
    found.extend(pvh_note(elf));
    found
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

    #[test]
    fn symbols_of_std() {
        assert!(is_of_std("std::io::stdio::_print"));
        assert!(is_of_std("<std::time::Instant as core::fmt::Debug>::fmt"));
        assert!(!is_of_std("my_std::f"));
        assert!(!is_of_std("core::x::std::f"));
        assert!(!is_of_std("alloc::string::String::push"));
    }
}
