//! The disk, for programs: sectors of 512 bytes, read and written synchronously.
//!
//! The device is polled, so a read occupies its CPU for as long as the disk takes: the long blocking call that hand-off
//! of Ps is about. Several goroutines may read at once; more than the device has room for park. The runner attaches a
//! disk to every machine whose program has this module in it, in which each sector consists of its own number, 64 times,
//! or `--disk FILE`.
//!
//! ```no_run
//! # fn main() -> Result<(), ringo::disk::Error> {
//! let mut sector = [0; ringo::disk::SECTOR_BYTES];
//! ringo::disk::read(7, &mut sector)?;
//! assert_eq!(sector[..8], 7u64.to_le_bytes());
//! # Ok(())
//! # }
//! ```

pub use blk::{Error, Requests, SECTOR_BYTES};

/// Fills `buffer` from sector number `sector` on; its length says how many sectors.
///
/// ```no_run
/// # fn main() -> Result<(), ringo::disk::Error> {
/// let mut two = [0; 2 * ringo::disk::SECTOR_BYTES];
/// ringo::disk::read(0, &mut two)?; // sectors 0 and 1
/// # Ok(())
/// # }
/// ```
///
/// # Errors
/// There is no disk, the buffer is not one or more whole sectors, they are not all on the disk, or the disk fails. Some
/// of the buffer may be filled in the last case.
pub fn read(sector: u64, buffer: &mut [u8]) -> Result<(), Error> {
    device::with(|disk| disk.read(sector, buffer, blocking))
}

/// Writes `buffer` from sector number `sector` on.
///
/// ```no_run
/// # fn main() -> Result<(), ringo::disk::Error> {
/// ringo::disk::write(3, &[0xff; ringo::disk::SECTOR_BYTES])?;
/// # Ok(())
/// # }
/// ```
///
/// # Errors
/// As [`read`], and the disk may be read-only.
pub fn write(sector: u64, buffer: &[u8]) -> Result<(), Error> {
    device::with(|disk| disk.write(sector, buffer, blocking))
}

/// Size of the disk in sectors.
///
/// ```
/// # sched::testing::run(2, 2, || {
/// assert_eq!(ringo::disk::sectors(), Err(ringo::disk::Error::NoDisk)); // on the host machine
/// # });
/// ```
///
/// # Errors
/// There is no disk that could be used.
pub fn sectors() -> Result<u64, Error> {
    device::with(|disk| Ok(disk.sectors()))
}

/// How many requests the disk has answered well so far. A read or write of up to 16 KiB is one.
///
/// ```
/// # sched::testing::run(2, 2, || {
/// // On the host machine, which has no disk.
/// assert!(ringo::disk::requests().is_err());
/// # });
/// ```
///
/// # Errors
/// As [`sectors`].
pub fn requests() -> Result<Requests, Error> {
    device::with(|disk| Ok(disk.requests()))
}

/// Around each wait for the device: it occupies the CPU and runs no goroutine, so its P goes to others after a while.
fn blocking(wait: &mut dyn FnMut()) {
    sched::blocking(wait)
}

#[cfg(ringo_kernel)]
mod device {
    use super::{Error, Requests};
    use blk::PciDisk;
    use csp::sync::{OnceLock, Semaphore};

    /// The runner looks for this symbol: a program that has it gets a disk.
    // SAFETY: nobody else uses the name.
    #[unsafe(no_mangle)]
    static RINGO_DISK: u8 = 1;

    static DISK: OnceLock<Result<PciDisk, Error>> = OnceLock::new();
    /// Room in the device's queue.
    static ROOM: Semaphore = Semaphore::outside_bubbles(blk::REQUESTS);

    /// Calls `f` when there is room for one more request. The first caller looks for the disk and starts it.
    pub(super) fn with<T>(f: impl FnOnce(&PciDisk) -> Result<T, Error>) -> Result<T, Error> {
        // SAFETY: a static of ours. A read that the compiler may not leave out keeps the symbol in the program.
        unsafe { (&raw const RINGO_DISK).read_volatile() };
        let open = || {
            crate::exit::SAY_DISK.call_once(|| say_requests);
            blk::open()
        };
        let disk = DISK.get_or_init(open).as_ref().map_err(|e| *e)?;
        ROOM.acquire();
        let result = f(disk);
        ROOM.release();
        result
    }

    /// For the runner, which compares it with what QEMU has seen.
    fn say_requests() {
        if let Some(Ok(disk)) = DISK.get() {
            let Requests { reads, writes } = disk.requests();
            crate::fatal::say(format_args!(
                "\u{1}{{\"event\":\"disk\",\"reads\":{reads},\"writes\":{writes}}}\n"
            ));
        }
    }
}

#[cfg(not(ringo_kernel))]
mod device {
    use super::Error;
    use blk::{Blocking, Requests};

    /// The host machine has no disk.
    pub(super) enum NoDisk {}

    impl NoDisk {
        pub(super) fn read(&self, _: u64, _: &mut [u8], _: Blocking) -> Result<(), Error> {
            match *self {}
        }
        pub(super) fn write(&self, _: u64, _: &[u8], _: Blocking) -> Result<(), Error> {
            match *self {}
        }
        pub(super) fn sectors(&self) -> u64 {
            match *self {}
        }
        pub(super) fn requests(&self) -> Requests {
            match *self {}
        }
    }

    pub(super) fn with<T>(_: impl FnOnce(&NoDisk) -> Result<T, Error>) -> Result<T, Error> {
        Err(Error::NoDisk)
    }
}
