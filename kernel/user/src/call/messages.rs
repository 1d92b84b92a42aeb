//! What threads and processes say to each other: futexes, channels of messages.

use super::{Ctx, two_handles, zeroes};
use crate::account::heap_bytes;
use crate::futex::Waited;
use crate::object::Object;
use crate::object::channel::{CAPACITY_MAX, MESSAGE_BYTES, Message, channel};
use abi::{Error, MESSAGE_MAX_BYTES};
use sched::WaitReason;

/// `FutexWait`: sleeps while the `u32` at `address` is `expected`. How that has ended.
///
/// # Errors
/// `Again`, `TimedOut`, `BadAddress`, `BadArgument`: `expected` is no `u32`; `Killed`.
pub fn futex_wait(
    ctx: &Ctx<'_>,
    address: u64,
    expected: u64,
    timeout_ns: u64,
) -> Result<Waited, Error> {
    let expected = u32::try_from(expected).map_err(|_| Error::BadArgument)?;
    let futexes = ctx.services.futexes;
    futexes.wait(ctx.memory, ctx.waits, address, expected, timeout_ns)
}

/// `FutexWake`: wakes up to `n` of those that sleep for the `u32` at `address`; how many.
///
/// # Errors
/// `BadAddress`.
pub fn futex_wake(ctx: &Ctx<'_>, address: u64, n: u64) -> Result<u64, Error> {
    ctx.services.futexes.wake(ctx.memory, address, n)
}

/// `Chan`: a channel of messages, whose ends' handles, to send and to receive, go to `address`.
///
/// # Errors
/// `BadArgument`: the capacity is too large; `BadAddress`, `Limit`, `OutOfMemory`.
pub fn chan(ctx: &Ctx<'_>, capacity: u64, address: u64) -> Result<u64, Error> {
    if capacity > CAPACITY_MAX {
        return Err(Error::BadArgument);
    }
    let (send, receive) = channel(capacity as usize);
    two_handles(ctx, address, [Object::Send(send), Object::Receive(receive)])
}

/// `Send`: a message of `bytes` bytes at `address`.
///
/// # Errors
/// `BadHandle`, `BadArgument`: it is too long; `BadAddress`, `OutOfMemory`, `Closed`, `Killed`.
pub fn send(ctx: &Ctx<'_>, handle: u64, address: u64, bytes: u64) -> Result<u64, Error> {
    let entry = ctx.handles.get(handle)?;
    let Object::Send(end) = &entry.object else {
        return Err(Error::BadHandle);
    };
    if bytes > MESSAGE_MAX_BYTES {
        return Err(Error::BadArgument);
    }
    let charge = ctx
        .account
        .charge(heap_bytes(bytes as usize) + MESSAGE_BYTES)?;
    let mut message = zeroes(bytes as usize)?;
    ctx.copy_in(address, &mut message)?;
    let message = Message {
        bytes: message,
        charge: Some(charge),
    };
    end.send(ctx.wait_on(&entry, WaitReason::ChanSend), message)?;
    Ok(0)
}

/// `Recv`: a message, to `address`, where there is room for `bytes` bytes; its length.
///
/// # Errors
/// `TooSmall`: it did not fit, and is lost; `BadHandle`, `BadAddress`, `Closed`, `Killed`.
pub fn recv(ctx: &Ctx<'_>, handle: u64, address: u64, bytes: u64) -> Result<u64, Error> {
    let entry = ctx.handles.get(handle)?;
    let Object::Receive(end) = &entry.object else {
        return Err(Error::BadHandle);
    };
    if bytes != 0 {
        let most = bytes.min(MESSAGE_MAX_BYTES);
        ctx.memory.check_out(address, most)?;
    }
    let message = end.receive(ctx.wait_on(&entry, WaitReason::ChanReceive))?;
    let length = message.bytes.len() as u64;
    if length > bytes {
        return Err(Error::TooSmall);
    }
    ctx.copy_out(address, &message.bytes)?;
    Ok(length)
}
