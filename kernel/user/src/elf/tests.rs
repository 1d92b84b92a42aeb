use super::*;
use crate::limits::{Job, PageAccount};
use alloc::sync::Arc;

/// A program: a header, and program headers of (type, flags, offset, address, bytes in the file, in memory).
pub(crate) fn file(entry: u64, headers: &[(u32, u32, u64, u64, u64, u64)], rest: &[u8]) -> Vec<u8> {
    let mut f = vec![0x7f, b'E', b'L', b'F', 2, 1, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0];
    f.extend(ET_EXEC.to_le_bytes());
    f.extend(EM_X86_64.to_le_bytes());
    f.extend(1u32.to_le_bytes());
    for word in [entry, 64, 0] {
        f.extend(word.to_le_bytes());
    }
    f.extend(0u32.to_le_bytes());
    for half in [64, 56, headers.len() as u16, 64, 0, 0] {
        f.extend(half.to_le_bytes());
    }
    for &(kind, flags, offset, at, in_file, in_memory) in headers {
        f.extend(kind.to_le_bytes());
        f.extend(flags.to_le_bytes());
        for word in [offset, at, at, in_file, in_memory, 4096] {
            f.extend(word.to_le_bytes());
        }
    }
    f.extend(rest);
    f
}

const R: u32 = PF_R;
const RX: u32 = PF_R | PF_X;
const RW: u32 = PF_R | PF_W;

fn good() -> Vec<u8> {
    let headers = [
        (PT_LOAD, RX, 0, 0x40_0000, 0x200, 0x200),
        (PT_LOAD, R, 0x100, 0x40_1100, 0x80, 0x80),
        (PT_LOAD, RW, 0x180, 0x40_2180, 0x40, 0x3000),
        (PT_GNU_STACK, RW, 0, 0, 0, 0),
    ];
    file(0x40_0010, &headers, &[0xcc; 0x200])
}

fn one(flags: u32, offset: u64, at: u64, in_file: u64, in_memory: u64) -> Vec<u8> {
    file(
        at,
        &[(PT_LOAD, flags, offset, at, in_file, in_memory)],
        &[0; 64],
    )
}

fn why(file: &[u8]) -> NotAProgram {
    let why = parse(file).map(|p| p.entry).unwrap_err();
    assert!(!why.to_string().contains('\n'));
    why
}

#[test]
fn a_good_program_is_mapped() {
    let program = parse(&good()).unwrap();
    let space = Space::new(Arc::new(PageAccount::with_limit(Job::new(), 100))).unwrap();
    let bytes: Bytes = Arc::new(good());
    program.map(&space, &bytes).unwrap();
    let mut got = [0; 0x80];
    space.copy_in(0x40_1100, &mut got).unwrap();
    assert_eq!(got, good()[0x100..0x180]);
    space.copy_out(0x40_5000, &[1]).unwrap();
    assert!(space.copy_out(0x40_1100, &[1]).is_err());
    // A second one over it.
    assert_eq!(program.map(&space, &bytes), Err(Error::BadAddress));
}

#[test]
fn files_that_are_no_programs() {
    use NotAProgram::*;
    for not_elf in [
        &b""[..],
        b"\x7f",
        b"#!/bin/sh\necho no program at all, but long enough to be one\n\n\n\n\n",
    ] {
        assert_eq!(why(not_elf), NotElf);
    }
    for cut in [5, 16, 63, 64, 100] {
        assert_eq!(why(&good()[..cut]), Damaged, "{cut}");
    }
    let patched = |at: usize, with: &[u8]| {
        let mut f = good();
        f[at..at + with.len()].copy_from_slice(with);
        why(&f)
    };
    assert_eq!(patched(4, &[1]), OtherMachine); // 32 bits
    assert_eq!(patched(5, &[2]), OtherMachine); // big endian
    assert_eq!(patched(18, &183u16.to_le_bytes()), OtherMachine); // AArch64
    assert_eq!(patched(16, &ET_DYN.to_le_bytes()), NotFixed);
    assert_eq!(patched(16, &ET_REL.to_le_bytes()), NotFixed);
    assert_eq!(patched(54, &[1]), Damaged); // size of a program header
    assert_eq!(patched(32, &u64::MAX.to_le_bytes()), Damaged); // where they are
    assert_eq!(patched(56, &[0, 0]), Empty);
    assert_eq!(patched(24, &0x40_2180u64.to_le_bytes()), Entry(0x40_2180)); // in data
    assert_eq!(patched(24, &0x40_0200u64.to_le_bytes()), Entry(0x40_0200));
    assert_eq!(patched(24, &0u64.to_le_bytes()), Entry(0));
    assert_eq!(patched(64 + 3 * 56, &PT_INTERP.to_le_bytes()), NotStatic);
    assert_eq!(patched(64 + 3 * 56, &PT_DYNAMIC.to_le_bytes()), NotStatic);
}

#[test]
fn segments_that_cannot_be() {
    use NotAProgram::*;
    let at = 0x40_0000;
    assert!(parse(&one(RX, 0, at, 64, 64)).is_ok());
    assert!(parse(&one(RX, 0, USER_BASE, 64, 64)).is_ok());
    assert!(parse(&one(RX, 0, USER_END - 64, 64, 64)).is_ok());
    assert_eq!(why(&one(RX | PF_W, 0, at, 64, 64)), WritableCode(at));
    assert_eq!(why(&one(PF_X, 0, at, 64, 64)), Unreadable(at));
    assert_eq!(why(&one(RX, 0, at, 65, 64)), LongerInFile(at));
    let len = one(RX, 0, at, 1, 1).len() as u64;
    for (offset, n) in [
        (0, len + 1),
        (len, 1),
        (len + 1, 0),
        (u64::MAX, 1),
        (1, u64::MAX),
    ] {
        assert_eq!(
            why(&one(RX, offset, at, n, n.max(1))),
            CutShort(at),
            "{offset:#x} {n:#x}"
        );
    }
    for (at, n) in [
        (0, 64),
        (USER_BASE - 1, 64),
        (USER_END - 64, 65),
        (USER_END, 1),
        (1 << 47, 64),
        (0xffff_8000_0000_0000, 64),
        (u64::MAX, 64),
        (at, u64::MAX),
        (at, u64::MAX - at),
    ] {
        assert_eq!(why(&one(RX, 0, at, 0, n)), Outside(at), "{at:#x} {n:#x}");
    }
    let two = |second| {
        file(
            at,
            &[
                (PT_LOAD, RX, 0, at, 1, 0x1001),
                (PT_LOAD, RW, 0, second, 1, 1),
            ],
            &[],
        )
    };
    assert!(parse(&two(0x40_2000)).is_ok());
    assert_eq!(why(&two(0x40_1fff)), Overlap(0x40_1fff));
    assert_eq!(why(&two(0x40_0000)), Overlap(at));
    let many: Vec<_> = (0..17)
        .map(|i| (PT_LOAD, RX, 0, at + i * PAGE, 1, 1))
        .collect();
    assert_eq!(why(&file(at, &many, &[])), TooManySegments);
    assert!(parse(&file(at, &many[..16], &[])).is_ok());
    let tls = (PT_TLS, R, 0, at, 0, 8);
    assert_eq!(
        why(&file(at, &[tls, (PT_LOAD, RX, 0, at, 1, 1)], &[])),
        ThreadLocals
    );
}

/// Whatever is damaged, what comes out can be mapped, and never gives more than it may.
#[test]
fn a_million_damaged_programs() {
    let (whole, mut rng) = (good(), base::Rng::new(6));
    let account = Arc::new(PageAccount::with_limit(Job::new(), 1000));
    let odd = [
        0,
        1,
        8,
        0xfff,
        0x1000,
        USER_BASE,
        0x40_0000,
        0x40_1000,
        USER_END,
        1 << 47,
        u64::MAX - 0xfff,
        u64::MAX,
    ];
    let mut programs = 0;
    for _ in 0..1_000_000 {
        let mut f = whole.clone();
        for _ in 0..1 + rng.below(3) {
            let headers = 64 + 4 * 56;
            match rng.below(4) {
                0 => f[rng.below(headers) as usize] = rng.below(256) as u8,
                1 => f[rng.below(headers) as usize] ^= 1 << rng.below(8),
                2 => {
                    // A word of a header's.
                    let at = [24, 32, 64 + 8 * rng.below(27)][rng.below(3) as usize] as usize;
                    let word = odd[rng.below(odd.len() as u32) as usize];
                    f[at..at + 8].copy_from_slice(&word.to_le_bytes());
                }
                _ => f.truncate(rng.below(whole.len() as u32 + 1) as usize),
            }
            if f.len() < headers as usize {
                break;
            }
        }
        let Ok(program) = parse(&f) else { continue };
        programs += 1;
        for s in &program.segments {
            assert!(USER_BASE <= s.start && s.start + s.bytes <= USER_END && s.bytes > 0);
            assert!(!(s.access.write && s.access.execute));
            assert!(s.file.0 + s.file.1 <= f.len() && s.file.1 as u64 <= s.bytes);
        }
        if programs % 64 == 0 {
            let space = Space::new(account.clone()).unwrap();
            match program.map(&space, &(Arc::new(f) as Bytes)) {
                Ok(()) => space.copy_in(program.entry, &mut [0]).unwrap(),
                Err(why) => assert_eq!(why, Error::OutOfMemory), // larger than it may be
            }
        }
    }
    assert!(programs > 10_000, "{programs}");
    assert_eq!(account.used(), 0);
}
