use super::*;
use crate::testing::{BASE, Process, run};
use std::process::Command;
use std::sync::Mutex;
use std::{env, format, fs, vec};

/// The disk of these tests.
static DISK: Mutex<Vec<u8>> = Mutex::new(Vec::new());

fn read_disk(sector: u64, to: &mut [u8]) -> Result<(), Error> {
    let disk = DISK.lock().unwrap();
    let begin = sector.checked_mul(512).ok_or(Error::Disk)? as usize;
    let end = begin.checked_add(to.len()).ok_or(Error::Disk)?;
    to.copy_from_slice(disk.get(begin..end).ok_or(Error::Disk)?);
    Ok(())
}

/// A header of `size` bytes of a file.
fn header(name: &str, size: &str, kind: u8) -> Vec<u8> {
    let mut block = vec![0; 512];
    block[..name.len()].copy_from_slice(name.as_bytes());
    block[124..124 + size.len()].copy_from_slice(size.as_bytes());
    block[156] = kind;
    block[257..262].copy_from_slice(b"ustar");
    block[148..156].fill(b' ');
    let sum: u64 = block.iter().map(|&b| u64::from(b)).sum();
    block[148..156].copy_from_slice(format!("{sum:06o}\0 ").as_bytes());
    block
}

fn account(bytes: u64) -> Arc<Account> {
    Account::new(bytes, crate::limits::Job::new(), |_| true)
}

fn names(disk: Vec<u8>) -> Vec<String> {
    *DISK.lock().unwrap() = disk;
    Archive::new(read_disk).names()
}

/// As tar itself writes it.
#[test]
fn what_tar_writes() {
    let dir = env::temp_dir().join(format!("ringo-archive-{}", std::process::id()));
    fs::create_dir_all(dir.join("bin")).unwrap();
    let long: Vec<u8> = (0..100_000u32).map(|i| (i % 253) as u8).collect();
    fs::write(dir.join("bin/long"), &long).unwrap();
    fs::write(dir.join("short"), "text").unwrap();
    fs::write(dir.join("empty"), "").unwrap();
    let out = Command::new("tar")
        .current_dir(&dir)
        .args(["-cf", "-", "--format=ustar", "./empty", "bin", "short"])
        .output();
    fs::remove_dir_all(&dir).unwrap();
    let disk = out.unwrap().stdout;
    run(move || {
        *DISK.lock().unwrap() = disk;
        let archive = Archive::new(read_disk);
        assert_eq!(archive.names(), ["empty", "bin/long", "short"]);
        let account = account(300_000);
        let open = |name| archive.open(name, &account);
        let whole = open("bin/long").unwrap();
        assert!((*whole).as_ref() == long);
        let again = open("bin/long").unwrap();
        assert_eq!((*again).as_ref().as_ptr(), (*whole).as_ref().as_ptr()); // one copy for all
        assert_eq!(account.used_bytes(), 2 * 102_400); // that counts for each
        assert_eq!(open("bin/long").err(), Some(Error::OutOfMemory)); // said as it is
        assert_eq!((*open("short").unwrap()).as_ref(), b"text");
        assert!((*open("empty").unwrap()).as_ref().is_empty());
        for none in ["bin", "long"] {
            assert_eq!(open(none).err(), Some(Error::NotFound))
        }
        drop((whole, again));
        assert_eq!(account.used_bytes(), 0);
        let pieces = archive.open_pieces("bin/long").unwrap();
        assert_eq!(pieces.size(), 100_000);
        for (at, n) in [
            (0, 1),
            (511, 2),
            (512, 512),
            (1, 40_000),
            (99_999, 1),
            (7, 0),
        ] {
            let mut got = vec![0; n];
            pieces.read_at(at as u64, &mut got).unwrap();
            assert_eq!(got, long[at..at + n]);
        }
    })
}

#[test]
fn what_is_no_archive_or_is_damaged() {
    run(|| {
        let numbers = (0..64u64).flat_map(|n| [n; 64]).flat_map(u64::to_le_bytes);
        assert!(names(numbers.collect()).is_empty()); // what the runner makes
        assert!(names(Vec::new()).is_empty());
        assert!(names(vec![0; 5120]).is_empty());
        let good = header("good", "00000000001\0", b'0');
        for bad in [
            header("huge", "777777777777", b'0'), // behind the end of the disk
            header("bad", "0000000x001\0", b'0'), // no number
            header("\u{1}", "            ", b'0'), // none at all
            vec![7; 512],
        ] {
            let mut disk = good.clone();
            disk.extend([b'g'; 512]);
            disk.extend(&bad);
            disk.extend([0; 512]);
            let found = names(disk);
            assert_eq!(found[0], "good");
            if found.len() == 2 {
                let archive = Archive::new(read_disk);
                assert_eq!(
                    archive.open("huge", &account(1 << 40)).err(),
                    Some(Error::Limit)
                );
                let huge = archive.open_pieces("huge").unwrap();
                let answer = huge.read_at(huge.size() - 9, &mut [0; 9]);
                assert_eq!(answer, Err(Error::Disk));
            }
        }
    })
}

/// Any bytes at all.
#[test]
fn damaged_in_a_hundred_thousand_ways() {
    run(|| {
        let mut rng = base::Rng::new(11);
        let mut whole = header("first", "00000000777\0", b'0');
        whole.extend([1; 512]);
        whole.extend(header("second", "0000001\0", 0));
        whole.extend([2; 512]);
        whole.extend([0; 1024]);
        for _ in 0..100_000 {
            let mut disk = whole.clone();
            for _ in 0..1 + rng.below(3) {
                let at = rng.below(disk.len() as u32) as usize;
                disk[at] = rng.next_u64() as u8
            }
            *DISK.lock().unwrap() = disk;
            let archive = Archive::new(read_disk);
            for name in archive.names() {
                let pieces = archive.open_pieces(&name).unwrap();
                if let Ok(whole) = archive.open(&name, &account(1 << 20)) {
                    assert_eq!((*whole).as_ref().len() as u64, pieces.size())
                }
            }
        }
    })
}

#[test]
fn the_first_place_that_has_it() {
    run(|| {
        let module = |bytes: &'static [u8]| Module::new([("a".into(), bytes)]);
        let places = Places(vec![
            Box::new(module(b"first")),
            Box::new(module(b"second")),
            Box::new(Module::new([("b".into(), &b"other"[..])])),
        ]);
        assert_eq!(places.names(), ["a", "b"]);
        let account = account(0);
        assert_eq!((*places.open("a", &account).unwrap()).as_ref(), b"first");
        assert_eq!(places.open_pieces("b").unwrap().size(), 5);
        assert_eq!(places.open("c", &account).err(), Some(Error::NotFound));
        assert!(places.open_pieces("c").is_none());
    })
}

/// As a program reads it.
#[test]
fn a_file_of_the_archive_is_read_by_calls() {
    run(|| {
        let mut disk = header("f", "00000001000\0", b'0'); // 512
        disk.extend([5; 512]);
        *DISK.lock().unwrap() = disk;
        let archive = Archive::new(read_disk);
        let file = crate::object::file::File::new(archive.open_pieces("f").unwrap());
        let p = Process::new();
        p.handles
            .insert(crate::object::Object::File(Arc::new(file)))
            .unwrap();
        p.call(|ctx| {
            assert_eq!(crate::call::read(ctx, 0, BASE, 500), Ok(500));
            assert_eq!(crate::call::read(ctx, 0, BASE, 500), Ok(12));
            assert_eq!(crate::call::read(ctx, 0, BASE, 500), Ok(0));
            assert_eq!(p.memory.get(BASE, 13), [5; 13]);
        })
    })
}
