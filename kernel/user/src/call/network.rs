//! TCP.

use super::Ctx;
use crate::object::Object;
use crate::object::socket::{Listener, Stream};
use abi::Error;
use alloc::sync::Arc;
use core::net::{Ipv4Addr, SocketAddrV4};
use sched::WaitReason;

fn port_of(port: u64) -> Result<u16, Error> {
    u16::try_from(port).map_err(|_| Error::BadArgument)
}

/// `Listen`: a listener on all addresses of the machine; a handle.
///
/// # Errors
/// `BadArgument`: no port; `InUse`, `Network`, `Limit`, `OutOfMemory`.
pub fn listen(ctx: &Ctx<'_>, port: u64) -> Result<u64, Error> {
    let listener = Listener::bind(port_of(port)?, ctx.account)?;
    let object = Object::Listener(Arc::new(listener));
    ctx.handles.insert(object).map(u64::from)
}

/// `Accept`: the next connection of a listener; a handle.
///
/// # Errors
/// `BadHandle`, `Network`, `Limit`, `OutOfMemory`: there is none for the connection, which goes on waiting; `Killed`.
pub fn accept(ctx: &Ctx<'_>, handle: u64) -> Result<u64, Error> {
    let entry = ctx.handles.get(handle)?;
    let Object::Listener(listener) = &entry.object else {
        return Err(Error::BadHandle);
    };
    let wait = ctx.wait_on(&entry, WaitReason::IoWait);
    let stream = listener.accept(wait, ctx.account)?;
    let object = Object::Stream(Arc::new(stream));
    ctx.handles.insert(object).map(u64::from)
}

/// `Connect`: a connection to port `port` of IPv4 address `address`; a handle.
///
/// # Errors
/// `BadArgument`: no address, no port; `Refused`, `TimedOut`, `Network`, `Limit`, `OutOfMemory`, `Killed`.
pub fn connect(ctx: &Ctx<'_>, address: u64, port: u64) -> Result<u64, Error> {
    let address = u32::try_from(address).map_err(|_| Error::BadArgument)?;
    let to = SocketAddrV4::new(Ipv4Addr::from_bits(address), port_of(port)?);
    let stream = Stream::connect(ctx.waits.wait(WaitReason::IoWait), to, ctx.account)?;
    let object = Object::Stream(Arc::new(stream));
    ctx.handles.insert(object).map(u64::from)
}

/// `Port`: of a listener or a connection, on this side.
///
/// # Errors
/// `BadHandle`, `Network`.
pub fn port(ctx: &Ctx<'_>, handle: u64) -> Result<u64, Error> {
    let port = match &ctx.handles.get(handle)?.object {
        Object::Listener(listener) => listener.port(),
        Object::Stream(stream) => stream.port(),
        _ => return Err(Error::BadHandle),
    };
    port.map(u64::from)
}
