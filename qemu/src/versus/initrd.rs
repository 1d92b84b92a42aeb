//! The guest's first file system: a cpio archive of the kind `newc`, as Linux's initramfs/buffer-format describes it. The kernel's own one
//! has the folder `/dev` and the console in it, so a program is all that it lacks.

/// A regular file that all may run.
const PROGRAM: u32 = 0o100_755;
/// The archive's length is a multiple of that.
const BLOCK: usize = 512;

/// An archive with `init` as `/init`.
pub fn initrd(init: &[u8]) -> Vec<u8> {
    let mut archive = Vec::with_capacity(init.len() + 2 * BLOCK);
    entry(&mut archive, "init", PROGRAM, init);
    entry(&mut archive, "TRAILER!!!", 0, &[]);
    archive.resize(archive.len().next_multiple_of(BLOCK), 0);
    archive
}

/// Header, name and content, each up to a multiple of four.
fn entry(archive: &mut Vec<u8>, name: &str, mode: u32, content: &[u8]) {
    let number = u32::from(mode != 0);
    let (links, size, name_size) = (1, content.len(), name.len() + 1);
    // Owner and group are root, times are zero, and no device is named.
    let header = format!(
        "070701{number:08x}{mode:08x}{0:08x}{0:08x}{links:08x}{0:08x}{size:08x}{0:08x}{0:08x}{0:08x}{0:08x}{name_size:08x}{0:08x}",
        0
    );
    archive.extend_from_slice(header.as_bytes());
    archive.extend_from_slice(name.as_bytes());
    archive.push(0);
    archive.resize(archive.len().next_multiple_of(4), 0);
    archive.extend_from_slice(content);
    archive.resize(archive.len().next_multiple_of(4), 0);
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Reads it as the kernel does: headers of 13 numbers, and what follows at multiples of four.
    fn read(mut archive: &[u8]) -> Vec<(String, u32, Vec<u8>)> {
        let mut files = Vec::new();
        loop {
            let (header, rest) = archive.split_at(110);
            let header = std::str::from_utf8(header).unwrap();
            assert_eq!(&header[..6], "070701");
            let field =
                |n: usize| usize::from_str_radix(&header[6 + 8 * n..14 + 8 * n], 16).unwrap();
            let (mode, size, name_size) = (field(1), field(6), field(11));
            let name = String::from_utf8(rest[..name_size - 1].to_vec()).unwrap();
            let at = (110 + name_size).next_multiple_of(4) - 110;
            if name == "TRAILER!!!" {
                return files;
            }
            files.push((name, mode as u32, rest[at..at + size].to_vec()));
            archive = &archive[(110 + at + size).next_multiple_of(4)..];
        }
    }

    #[test]
    fn the_archive_holds_the_program() {
        for size in [0, 1, 2, 3, 4, 1000] {
            let init: Vec<u8> = (0..size).map(|n| n as u8).collect();
            let archive = initrd(&init);
            assert_eq!(archive.len() % BLOCK, 0);
            assert_eq!(read(&archive), [("init".to_string(), PROGRAM, init)]);
        }
    }

    #[test]
    fn the_numbers_are_where_they_belong() {
        let archive = initrd(b"abc");
        let wanted = "07070100000001000081ed00000000000000000000000100000000000000030000000000000000\
                      00000000000000000000000500000000init\0\0abc\0\
                      070701";
        assert!(archive.starts_with(wanted.as_bytes()));
    }
}
