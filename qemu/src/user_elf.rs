//! What of a ring-3 program's ELF goes into the boot module: what is loaded. Symbols and debug information, ten times as much, stay
//! on this side.

use object::LittleEndian;
use object::elf::FileHeader64;
use object::pod;
use object::read::elf::{FileHeader, ProgramHeader};

/// The ELF up to the end of its last segment, without a table of sections.
///
/// # Errors
///
/// It is no 64-bit ELF, or its headers reach beyond its end.
pub fn loaded_part(mut elf: Vec<u8>) -> Result<Vec<u8>, object::Error> {
    let header = FileHeader64::<LittleEndian>::parse(elf.as_slice())?;
    let endian = header.endian()?;
    let segments = header.program_headers(endian, elf.as_slice())?;
    let table = header.e_phoff(endian) + size_of_val(segments) as u64;
    let ends = segments.iter().map(|segment| {
        let (offset, bytes) = segment.file_range(endian);
        offset.saturating_add(bytes)
    });
    let end = ends.max().unwrap_or(0).max(table);
    elf.truncate(usize::try_from(end).unwrap_or(usize::MAX));
    if let Ok((header, _)) = pod::from_bytes_mut::<FileHeader64<LittleEndian>>(&mut elf) {
        header.e_shoff.set(LittleEndian, 0);
        header.e_shnum.set(LittleEndian, 0);
        header.e_shstrndx.set(LittleEndian, object::elf::SHN_UNDEF);
    }
    Ok(elf)
}

#[cfg(test)]
mod tests {
    use super::*;
    use object::read::elf::{ElfFile64, ElfSegment64};
    use object::{Object, ObjectSegment};

    /// This very test is an ELF with segments, symbols and debug information.
    #[test]
    fn segments_stay_and_the_rest_goes() {
        let whole = std::fs::read(std::env::current_exe().unwrap()).unwrap();
        let part = loaded_part(whole.clone()).unwrap();
        assert!(part.len() < whole.len() / 2, "{} bytes", part.len());
        let read = |bytes| ElfFile64::<LittleEndian>::parse(bytes).unwrap();
        let (whole, part) = (read(whole.as_slice()), read(part.as_slice()));
        let loaded = |elf: &ElfFile64<'_, LittleEndian>| {
            let segments = elf.segments();
            // The first holds the ELF's header as well, in which the sections are gone.
            let skip = |offset| if offset == 0 { 64 } else { 0 };
            let of = |s: ElfSegment64<'_, '_, LittleEndian>| {
                let content = &s.data().unwrap()[skip(s.file_range().0)..];
                (s.address(), content.to_vec())
            };
            segments.map(of).collect::<Vec<_>>()
        };
        assert!(!loaded(&whole).is_empty() && loaded(&whole) == loaded(&part));
        assert_eq!(part.entry(), whole.entry());
        assert_eq!(part.sections().count(), 0);
    }

    #[test]
    fn what_is_no_elf() {
        assert!(loaded_part(b"#!/bin/sh\n".to_vec()).is_err());
        assert!(loaded_part(Vec::new()).is_err());
    }
}
