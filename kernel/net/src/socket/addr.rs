//! What may stand where an address is asked for (std: `net::ToSocketAddrs`).

use super::{Error, ErrorKind, Result};
use alloc::string::String;
use alloc::vec::Vec;
use core::net::{IpAddr, Ipv4Addr, SocketAddr, SocketAddrV4};

/// Something that names one or more addresses with ports: pairs of address or name and port, text like `"10.0.2.2:80"`,
/// `std`'s types. A name is looked up, which takes as long as it takes.
///
/// ```
/// use net::socket::ToSocketAddrs;
/// let addr = "127.0.0.1:80".to_socket_addrs().unwrap();
/// assert_eq!(addr, ("127.0.0.1", 80).to_socket_addrs().unwrap());
/// assert_eq!(addr[0].port(), 80);
/// assert!("127.0.0.1".to_socket_addrs().is_err()); // no port
/// ```
pub trait ToSocketAddrs {
    /// The addresses, in the order in which they are to be tried; at least one.
    ///
    /// ```
    /// # sched::testing::run(2, 2, || {
    /// use net::socket::ToSocketAddrs;
    /// assert_eq!(("localhost", 7).to_socket_addrs().unwrap().len(), 1);
    /// # });
    /// ```
    ///
    /// # Errors
    /// It is no address, the name is not known, or it names IPv6 alone.
    fn to_socket_addrs(&self) -> Result<Vec<SocketAddrV4>>;
}

fn one(ip: IpAddr, port: u16) -> Result<Vec<SocketAddrV4>> {
    match ip {
        IpAddr::V4(ip) => Ok([SocketAddrV4::new(ip, port)].into()),
        IpAddr::V6(_) => Err(ErrorKind::Unsupported.into()),
    }
}

impl ToSocketAddrs for SocketAddr {
    fn to_socket_addrs(&self) -> Result<Vec<SocketAddrV4>> {
        one(self.ip(), self.port())
    }
}

impl ToSocketAddrs for SocketAddrV4 {
    fn to_socket_addrs(&self) -> Result<Vec<SocketAddrV4>> {
        Ok([*self].into())
    }
}

impl ToSocketAddrs for (IpAddr, u16) {
    fn to_socket_addrs(&self) -> Result<Vec<SocketAddrV4>> {
        one(self.0, self.1)
    }
}

impl ToSocketAddrs for (Ipv4Addr, u16) {
    fn to_socket_addrs(&self) -> Result<Vec<SocketAddrV4>> {
        one(self.0.into(), self.1)
    }
}

impl ToSocketAddrs for (&str, u16) {
    fn to_socket_addrs(&self) -> Result<Vec<SocketAddrV4>> {
        let (name, port) = *self;
        if let Ok(ip) = name.parse() {
            return one(ip, port);
        }
        let found = super::lookup(name)?;
        Ok(found
            .into_iter()
            .map(|ip| SocketAddrV4::new(ip, port))
            .collect())
    }
}

impl ToSocketAddrs for (String, u16) {
    fn to_socket_addrs(&self) -> Result<Vec<SocketAddrV4>> {
        (self.0.as_str(), self.1).to_socket_addrs()
    }
}

impl ToSocketAddrs for str {
    fn to_socket_addrs(&self) -> Result<Vec<SocketAddrV4>> {
        let no_address = Error::from(ErrorKind::InvalidInput);
        if let Ok(addr) = self.parse::<SocketAddr>() {
            return addr.to_socket_addrs();
        }
        let (name, port) = self.rsplit_once(':').ok_or(no_address)?;
        let port: u16 = port.parse().map_err(|_| no_address)?;
        (name, port).to_socket_addrs()
    }
}

impl ToSocketAddrs for String {
    fn to_socket_addrs(&self) -> Result<Vec<SocketAddrV4>> {
        self.as_str().to_socket_addrs()
    }
}

impl<T: ToSocketAddrs + ?Sized> ToSocketAddrs for &T {
    fn to_socket_addrs(&self) -> Result<Vec<SocketAddrV4>> {
        (**self).to_socket_addrs()
    }
}

/// Calls `f` with each address until one answers well; the last error else.
pub(super) fn first<T>(
    addrs: impl ToSocketAddrs,
    f: impl Fn(SocketAddrV4) -> Result<T>,
) -> Result<T> {
    let mut last = Error::from(ErrorKind::InvalidInput);
    for addr in addrs.to_socket_addrs()? {
        match f(addr) {
            Ok(t) => return Ok(t),
            Err(error) => last = error,
        }
    }
    Err(last)
}
