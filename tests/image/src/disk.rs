//! The disk that the runner attaches: each sector consists of its own number, 64 times.

use crate::param::param;
use crate::wait::{bump, chance};
use crate::{Outcome, Test, ensure, figure};
use alloc::format;
use alloc::string::String;
use core::sync::atomic::{AtomicU64, Ordering::*};
use ringo::disk::{self, Error, SECTOR_BYTES};
use ringo::prelude::*;

pub const TESTS: &[Test] = &[
    ("disk_reads", disk_reads),
    ("disk_readers", disk_readers),
    ("disk_bad_requests", disk_bad_requests),
    ("disk_writes", disk_writes),
    ("disk_read_only", disk_read_only),
    ("disk_absent", disk_absent),
];

fn said(error: Error) -> String {
    format!("{error}")
}

/// Are these sectors `sector` and those that follow?
fn is_right(sector: u64, bytes: &[u8]) -> bool {
    let sectors = bytes.chunks(SECTOR_BYTES).zip(sector..);
    sectors
        .into_iter()
        .all(|(bytes, n)| bytes.chunks(8).all(|word| word == n.to_le_bytes()))
}

fn read_and_look(sector: u64, buffer: &mut [u8]) -> Outcome {
    buffer.fill(0xaa);
    disk::read(sector, buffer).map_err(said)?;
    ensure!(
        is_right(sector, buffer),
        "sectors from {sector} on are not what they should be"
    );
    Ok(())
}

/// One after another, single sectors and several at once, on a stack and in the heap.
fn disk_reads() -> Outcome {
    let sectors = disk::sectors().map_err(said)?;
    let reads = param("reads", 1000);
    let mut rng = chance(1);
    let (mut single, mut many) = ([0; SECTOR_BYTES], vec![0; 40 * SECTOR_BYTES]);
    let begin = Instant::now();
    let (mut longest_us, mut requests) = (0, 0);
    for i in 0..reads {
        let one = Instant::now();
        // 40 sectors are 20 KiB: two requests.
        if i % 50 == 49 {
            let count = 1 + u64::from(rng.below(40));
            let sector = u64::from(rng.below((sectors - count) as u32));
            read_and_look(sector, &mut many[..count as usize * SECTOR_BYTES])?;
            requests += count.div_ceil(32);
        } else {
            read_and_look(i * 7 % sectors, &mut single)?;
            requests += 1;
        }
        longest_us = longest_us.max(one.elapsed().as_micros());
    }
    figure!("us_each", begin.elapsed().as_micros() / u128::from(reads));
    figure!("us_longest", longest_us);
    figure!("reads", requests);
    let counted = disk::requests().map_err(said)?.reads;
    ensure!(
        counted == requests,
        "{counted} reads counted, {requests} made"
    );
    Ok(())
}

/// Many goroutines at once, more than the device has room for.
fn disk_readers() -> Outcome {
    static READS: AtomicU64 = AtomicU64::new(0);
    let (readers, each) = (param("readers", 16), param("each", 20));
    let sectors = disk::sectors().map_err(said)?;
    let begin = Instant::now();
    let gs: Vec<_> = (0..readers)
        .map(|g| {
            spawn(move || {
                let mut buffer = [0; 2 * SECTOR_BYTES];
                for i in 0..each {
                    read_and_look((g * 131 + i * 17) % (sectors - 1), &mut buffer)?;
                    bump(&READS);
                }
                Ok(())
            })
        })
        .collect();
    for g in gs {
        let outcome: Outcome = g.join();
        outcome?;
    }
    figure!("ms", begin.elapsed().as_millis());
    figure!("reads", READS.load(Relaxed));
    ensure!(
        READS.load(Relaxed) == readers * each,
        "{} reads",
        READS.load(Relaxed)
    );
    Ok(())
}

/// Buffers and sectors that are wrong get an error, and do no harm.
fn disk_bad_requests() -> Outcome {
    let sectors = disk::sectors().map_err(said)?;
    let mut buffer = vec![0; 3 * SECTOR_BYTES];
    for bytes in [0, 1, 511, 513, 1535] {
        let wanted = Err(Error::NotSectors(bytes));
        ensure!(
            disk::read(0, &mut buffer[..bytes]) == wanted,
            "a read of {bytes} bytes"
        );
        ensure!(
            disk::write(0, &buffer[..bytes]) == wanted,
            "a write of {bytes} bytes"
        );
    }
    for sector in [sectors - 2, sectors, sectors + 1, u64::MAX - 2, u64::MAX] {
        let wanted = Err(Error::OutOfRange {
            sector,
            count: 3,
            sectors,
        });
        ensure!(
            disk::read(sector, &mut buffer) == wanted,
            "a read at {sector}"
        );
        ensure!(
            disk::write(sector, &buffer) == wanted,
            "a write at {sector}"
        );
    }
    println!(
        "{}",
        Error::OutOfRange {
            sector: sectors,
            count: 1,
            sectors
        }
    );
    read_and_look(sectors - 3, &mut buffer)?;
    figure!("reads", disk::requests().map_err(said)?.reads);
    Ok(())
}

/// What was written is read again, its neighbours are as before.
fn disk_writes() -> Outcome {
    let text = [0x5a; 40 * SECTOR_BYTES];
    disk::write(100, &text).map_err(said)?;
    let mut back = vec![0; text.len()];
    disk::read(100, &mut back).map_err(said)?;
    ensure!(back == text, "it reads otherwise than it was written");
    read_and_look(99, &mut back[..SECTOR_BYTES])?;
    read_and_look(140, &mut back[..SECTOR_BYTES])?;
    figure!("reads", disk::requests().map_err(said)?.reads);
    Ok(())
}

/// A file that the runner may not write to.
fn disk_read_only() -> Outcome {
    let mut buffer = [0; SECTOR_BYTES];
    disk::read(0, &mut buffer).map_err(said)?;
    ensure!(
        disk::write(0, &buffer) == Err(Error::ReadOnly),
        "a read-only disk was written"
    );
    figure!("reads", disk::requests().map_err(said)?.reads);
    Ok(())
}

/// A machine without a disk says so, each time.
fn disk_absent() -> Outcome {
    let mut buffer = [0; SECTOR_BYTES];
    for _ in 0..2 {
        ensure!(
            disk::read(0, &mut buffer) == Err(Error::NoDisk),
            "a disk was read"
        );
        ensure!(disk::sectors() == Err(Error::NoDisk), "a disk has a size");
    }
    println!("{}", Error::NoDisk);
    Ok(())
}
