//! Bytes: console, files, pipes, connections, the disk; memory to share.

use super::{CHUNK, Ctx, two_handles, with_buffer, zeroes};
use crate::object::Object;
use crate::object::file::File;
use crate::object::pipe::PIPE_BYTES;
use crate::object::shm::Shm;
use abi::{DISK_READ_MAX_BYTES, Error, PAGE_BYTES};
use alloc::sync::Arc;
use sched::WaitReason;

/// Bytes of a sector of the disk.
const SECTOR_BYTES: u64 = 512;
/// Longest name of a file.
const NAME_BYTES: u64 = 256;

/// `Read`: some bytes, to `address`; how many.
///
/// # Errors
/// `BadHandle`, `BadAddress`, `OutOfMemory`, and what the object says.
pub fn read(ctx: &Ctx<'_>, handle: u64, address: u64, bytes: u64) -> Result<u64, Error> {
    let entry = ctx.handles.get(handle)?;
    let n = bytes.min(CHUNK);
    if n != 0 {
        ctx.memory.check_out(address, n)?;
    }
    with_buffer(ctx, n, |buffer| {
        let wait = ctx.wait_on(&entry, WaitReason::IoWait);
        let n = match &entry.object {
            Object::Null => 0,
            Object::File(file) => file.read(buffer)?,
            Object::Input(input) => input.read(wait, buffer)?,
            Object::PipeRead(end) => end.read(wait, buffer)?,
            Object::Stream(_) if buffer.is_empty() => 0,
            Object::Stream(stream) => stream.read(wait, buffer)?,
            _ => return Err(Error::BadHandle),
        };
        ctx.copy_out(address, &buffer[..n])?;
        Ok(n as u64)
    })
}

/// `Write`: some bytes from `address`; how many.
///
/// # Errors
/// As [`read`].
pub fn write(ctx: &Ctx<'_>, handle: u64, address: u64, bytes: u64) -> Result<u64, Error> {
    let entry = ctx.handles.get(handle)?;
    with_buffer(ctx, bytes, |buffer| {
        ctx.copy_in(address, buffer)?;
        let wait = ctx.wait_on(&entry, WaitReason::IoWait);
        let n = match &entry.object {
            Object::Null => buffer.len(),
            Object::Output { errors } => {
                let pieces = crate::object::console::pieces(buffer);
                pieces.for_each(|piece| (ctx.services.console_write)(piece, *errors));
                buffer.len()
            }
            Object::PipeWrite(end) => end.write(wait, buffer)?,
            Object::Stream(_) if buffer.is_empty() => 0,
            Object::Stream(stream) => stream.write(wait, buffer)?,
            _ => return Err(Error::BadHandle),
        };
        Ok(n as u64)
    })
}

/// `Open`: the file whose name is at `name`; a handle.
///
/// # Errors
/// `NotFound`, `BadArgument`: no name can be so long; `BadAddress`, `Limit`.
pub fn open(ctx: &Ctx<'_>, name: u64, bytes: u64) -> Result<u64, Error> {
    if bytes > NAME_BYTES {
        return Err(Error::BadArgument);
    }
    let found = with_buffer(ctx, bytes, |buffer| {
        ctx.copy_in(name, buffer)?;
        let name = core::str::from_utf8(buffer).map_err(|_| Error::NotFound)?;
        ctx.services.files.open_pieces(name).ok_or(Error::NotFound)
    })?;
    let file = Object::File(Arc::new(File::new(found)));
    ctx.handles.insert(file).map(u64::from)
}

/// `Size`: of a file, or of memory to share, in bytes.
///
/// # Errors
/// `BadHandle`.
pub fn size(ctx: &Ctx<'_>, handle: u64) -> Result<u64, Error> {
    match &ctx.handles.get(handle)?.object {
        Object::File(file) => Ok(file.size()),
        Object::Shm(shm) => Ok(shm.size()),
        _ => Err(Error::BadHandle),
    }
}

/// `Pipe`: a pipe, whose ends' handles, to read and to write, go to `address`.
///
/// # Errors
/// `BadAddress`, `Limit`, `OutOfMemory`.
pub fn pipe(ctx: &Ctx<'_>, address: u64) -> Result<u64, Error> {
    let charge = ctx.account.charge_heap(PIPE_BYTES as u64)?;
    let (read, write) = crate::object::pipe::pipe(Some(charge))?;
    two_handles(
        ctx,
        address,
        [Object::PipeRead(read), Object::PipeWrite(write)],
    )
}

/// `Shm`: memory to share; a handle.
///
/// # Errors
/// `BadArgument`: it is not one or more whole pages; `OutOfMemory`, `Limit`.
pub fn shm(ctx: &Ctx<'_>, bytes: u64) -> Result<u64, Error> {
    if bytes == 0 || !bytes.is_multiple_of(PAGE_BYTES) {
        return Err(Error::BadArgument);
    }
    let shm = Shm::new(ctx.account.charge(bytes)?, ctx.services.frames)?;
    ctx.handles
        .insert(Object::Shm(Arc::new(shm)))
        .map(u64::from)
}

/// `DiskRead`: whole sectors from number `sector` on, to `address`; their bytes.
///
/// # Errors
/// `BadArgument`: they are no whole sectors, none, or too many; `BadAddress`, `Disk`, `OutOfMemory`.
pub fn disk_read(ctx: &Ctx<'_>, sector: u64, address: u64, bytes: u64) -> Result<u64, Error> {
    if bytes == 0 || !bytes.is_multiple_of(SECTOR_BYTES) || bytes > DISK_READ_MAX_BYTES {
        return Err(Error::BadArgument);
    }
    ctx.memory.check_out(address, bytes)?;
    let _charge = ctx.account.charge_heap(bytes)?;
    let mut buffer = zeroes(bytes as usize)?;
    (ctx.services.disk_read)(sector, &mut buffer)?;
    ctx.copy_out(address, &buffer)?;
    Ok(bytes)
}
