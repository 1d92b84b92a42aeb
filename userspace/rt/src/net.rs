//! TCP. What waits for the network parks its goroutine in the netpoller.

use crate::io::{Read, Write};
use crate::{Handle, Result, syscall};
use abi::Call;

pub use core::net::Ipv4Addr;

/// Takes connections to a port.
#[derive(Debug)]
pub struct TcpListener(Handle);

/// A connection; closed when dropped.
#[derive(Debug)]
pub struct TcpStream(Handle);

impl TcpListener {
    /// The listener that the process was given as that handle.
    pub fn given(number: u32) -> TcpListener {
        TcpListener(Handle::given(number))
    }

    /// Listens at `port` on all addresses of the machine; 0: any port that is free.
    ///
    /// # Errors
    ///
    /// [`abi::Error::InUse`]; [`abi::Error::Network`]: there is none.
    pub fn bind(port: u16) -> Result<TcpListener> {
        // SAFETY: touches no memory of ours.
        let handle = unsafe { syscall::call(Call::Listen, [port.into()]) }?;
        Ok(TcpListener(Handle::new(handle)))
    }

    /// Waits for the next connection.
    ///
    /// # Errors
    ///
    /// [`abi::Error::Limit`]: the process has as many handles as it may; [`abi::Error::Network`].
    pub fn accept(&self) -> Result<TcpStream> {
        // SAFETY: touches no memory of ours.
        let handle = unsafe { syscall::call(Call::Accept, [self.0.number().into()]) }?;
        Ok(TcpStream(Handle::new(handle)))
    }

    /// The port that it listens at.
    ///
    /// # Errors
    ///
    /// What the kernel says.
    pub fn port(&self) -> Result<u16> {
        port(&self.0)
    }
}

impl TcpStream {
    /// The connection that the process was given as that handle.
    pub fn given(number: u32) -> TcpStream {
        TcpStream(Handle::given(number))
    }

    /// Connects.
    ///
    /// # Errors
    ///
    /// [`abi::Error::Refused`]; [`abi::Error::TimedOut`]; [`abi::Error::Network`].
    pub fn connect(to: Ipv4Addr, port: u16) -> Result<TcpStream> {
        // SAFETY: touches no memory of ours.
        let handle = unsafe { syscall::call(Call::Connect, [to.to_bits().into(), port.into()]) }?;
        Ok(TcpStream(Handle::new(handle)))
    }

    /// Its port on this side.
    ///
    /// # Errors
    ///
    /// What the kernel says.
    pub fn port(&self) -> Result<u16> {
        port(&self.0)
    }
}

fn port(handle: &Handle) -> Result<u16> {
    // SAFETY: touches no memory of ours.
    unsafe { syscall::call(Call::Port, [handle.number().into()]) }.map(|port| port as u16)
}

impl AsRef<Handle> for TcpListener {
    fn as_ref(&self) -> &Handle {
        &self.0
    }
}

impl AsRef<Handle> for TcpStream {
    fn as_ref(&self) -> &Handle {
        &self.0
    }
}

impl Read for TcpStream {}
impl Write for TcpStream {}
