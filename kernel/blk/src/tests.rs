//! The driver against a device made by hand.

use crate::fake::{Answers, Device, Here, Seen};
use crate::{Disk, Error, REQUESTS, Requests};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::thread;

fn disk(device: &Device) -> Disk<Here, Device> {
    Disk::new(device.clone()).unwrap()
}

fn just(wait: &mut dyn FnMut()) {
    wait()
}

fn is_right(sector: u64, bytes: &[u8]) -> bool {
    bytes
        .chunks(512)
        .zip(sector..)
        .all(|(bytes, n)| bytes.chunks(8).all(|w| w == n.to_le_bytes()))
}

#[test]
fn reads_of_all_sizes() {
    let device = Device::new(100);
    let disk = disk(&device);
    assert_eq!(disk.sectors(), 100);
    for sectors in [1, 2, 31, 32, 33, 64, 65, 100] {
        let mut buffer = vec![0xaa; sectors * 512];
        let sector = 100 - sectors as u64;
        disk.read(sector, &mut buffer, just).unwrap();
        assert!(is_right(sector, &buffer), "{sectors} sectors");
    }
    let seen = &device.state().seen;
    // The last one: 16 KiB at a time.
    let last: Vec<_> = seen[seen.len() - 4..]
        .iter()
        .map(|s| (s.sector, s.bytes))
        .collect();
    assert_eq!(last, [(0, 16384), (32, 16384), (64, 16384), (96, 2048)]);
    assert_eq!(
        disk.requests(),
        Requests {
            reads: seen.len() as u64,
            writes: 0
        }
    );
}

#[test]
fn writes_arrive() {
    let device = Device::new(100);
    let disk = disk(&device);
    let bytes: Vec<u8> = (0..40 * 512).map(|i| (i / 7) as u8).collect();
    disk.write(50, &bytes, just).unwrap();
    let mut back = vec![0; bytes.len()];
    disk.read(50, &mut back, just).unwrap();
    assert_eq!(back, bytes);
    let state = device.state();
    assert!(is_right(49, &state.data[49 * 512..50 * 512]) && is_right(90, &state.data[90 * 512..]));
    assert_eq!(
        state.seen[0],
        Seen {
            write: true,
            sector: 50,
            bytes: 16384
        }
    );
    assert_eq!(
        disk.requests(),
        Requests {
            reads: 2,
            writes: 2
        }
    );
}

#[test]
fn what_is_wrong_never_reaches_the_device() {
    let device = Device::new(10);
    let disk = disk(&device);
    let mut buffer = [0; 2048];
    for bytes in [0, 1, 511, 513, 2047] {
        let wanted = Err(Error::NotSectors(bytes));
        assert_eq!(disk.read(0, &mut buffer[..bytes], just), wanted);
        assert_eq!(disk.write(0, &buffer[..bytes], just), wanted);
    }
    for sector in [7, 10, 11, u64::MAX - 4, u64::MAX] {
        let wanted = Err(Error::OutOfRange {
            sector,
            count: 4,
            sectors: 10,
        });
        assert_eq!(disk.read(sector, &mut buffer, just), wanted);
        assert_eq!(disk.write(sector, &buffer, just), wanted);
    }
    let all = Error::OutOfRange {
        sector: 7,
        count: 4,
        sectors: 10,
    };
    assert_eq!(
        all.to_string(),
        "4 sectors from 7 on are not all on the disk, which has 10"
    );
    assert!(device.state().seen.is_empty());
    disk.read(6, &mut buffer, just).unwrap();
}

#[test]
fn read_only() {
    let device = Device::new(10).read_only();
    let disk = disk(&device);
    assert_eq!(disk.write(0, &[0; 512], just), Err(Error::ReadOnly));
    disk.read(0, &mut [0; 512], just).unwrap();
    assert_eq!(device.state().seen.len(), 1);
}

#[test]
fn each_wait_goes_through_the_bracket() {
    static WAITS: AtomicU64 = AtomicU64::new(0);
    fn counted(wait: &mut dyn FnMut()) {
        WAITS.fetch_add(1, Relaxed);
        wait()
    }
    let disk = disk(&Device::new(100));
    disk.read(0, &mut [0; 512], counted).unwrap();
    disk.write(0, &[0; 512 * 40], counted).unwrap();
    assert_eq!(WAITS.load(Relaxed), 3);
}

#[test]
fn answers_in_another_order() {
    let device = Device::new(100);
    device.state().answers = Answers::Held;
    let disk = Arc::new(disk(&device));
    let readers: Vec<_> = (0..REQUESTS as u64)
        .map(|i| {
            let disk = disk.clone();
            thread::spawn(move || {
                for round in 0..50 {
                    let (sector, mut buffer) = (i * 7 + round, [0; 1024]);
                    disk.read(sector, &mut buffer, just).unwrap();
                    assert!(is_right(sector, &buffer));
                }
            })
        })
        .collect();
    // Mostly several are there; towards the end fewer.
    while !readers.iter().all(|r| r.is_finished()) {
        device.answer_held();
        thread::yield_now();
    }
    readers.into_iter().for_each(|r| r.join().unwrap());
    assert_eq!(disk.requests().reads, 50 * REQUESTS as u64);
}

#[test]
fn the_index_goes_round() {
    for device in [Device::new(8), Device::new(8).without_event_index()] {
        let disk = disk(&device);
        for i in 0..70_000u64 {
            let mut buffer = [0; 512];
            disk.read(i % 8, &mut buffer, just).unwrap();
            assert!(is_right(i % 8, &buffer));
        }
    }
}

#[test]
fn a_device_that_fails_can_recover() {
    let device = Device::new(10);
    let disk = disk(&device);
    device.state().answers = Answers::Failing;
    for _ in 0..2 * REQUESTS {
        assert_eq!(disk.read(1, &mut [0; 512], just), Err(Error::Failed));
    }
    device.state().answers = Answers::AtOnce;
    let mut buffer = [0; 512];
    disk.read(1, &mut buffer, just).unwrap();
    assert!(is_right(1, &buffer));
    assert_eq!(disk.requests().reads, 1);
}

#[test]
fn a_silent_device_is_given_up() {
    for answers in [Answers::Held, Answers::WrongName] {
        let device = Device::new(10);
        let mut disk = disk(&device);
        disk.patience_ns = 1_000_000;
        device.state().answers = answers;
        let mut buffer = [0xaa; 512];
        assert_eq!(disk.read(1, &mut buffer, just), Err(Error::Silent));
        // Its answer comes too late, and hits nobody.
        device.answer_held();
        assert_eq!(buffer, [0xaa; 512]);
        device.state().answers = Answers::AtOnce;
        assert_eq!(disk.read(1, &mut buffer, just), Err(Error::Silent));
        assert_eq!(disk.write(1, &buffer, just), Err(Error::Silent));
    }
}

#[test]
fn what_cannot_be_started() {
    let small_queue = Device::new(10);
    small_queue.state().queue_max = 8;
    let no_config = Device::new(10);
    no_config.state().config_bytes = 4;
    for device in [small_queue, no_config] {
        let error = Disk::<Here, _>::new(device).err();
        assert_eq!(error, Some(Error::Unusable("its start failed")));
    }
}
