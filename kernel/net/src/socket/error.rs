//! What can go wrong, in `std::io`'s words.

use crate::stack::dns::DnsError;
use crate::stack::tcp::TcpError;
use crate::stack::udp::UdpError;
use core::fmt;

/// Why a call of a socket failed.
///
/// ```
/// use net::socket::{Error, ErrorKind};
/// let error = Error::from(ErrorKind::TimedOut);
/// assert_eq!(error.kind(), ErrorKind::TimedOut);
/// assert_eq!(error.to_string(), "the deadline has passed");
/// ```
#[derive(Clone, Copy)]
pub struct Error {
    kind: ErrorKind,
    /// More about a name.
    name: Option<DnsError>,
}

/// `std::result::Result` with [`Error`].
pub type Result<T> = core::result::Result<T, Error>;

/// The kinds of [`Error`]: those of `std::io::ErrorKind` that a socket has.
///
/// ```
/// use net::socket::ErrorKind;
/// assert_eq!(ErrorKind::ConnectionReset.to_string(), "the other side has broken the connection off");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ErrorKind {
    /// Nothing is there yet, or there is no room yet, and the socket does not wait (`set_nonblocking`).
    WouldBlock,
    /// The deadline passed, or the other side did not answer.
    TimedOut,
    /// Nobody listens there.
    ConnectionRefused,
    /// The other side broke the connection off.
    ConnectionReset,
    /// The connection ended before it was accepted, or this side closed it during the call.
    ConnectionAborted,
    /// The socket has no connection, or was closed.
    NotConnected,
    /// Somebody has this address already.
    AddrInUse,
    /// The address is not this machine's, or all its ports are taken.
    AddrNotAvailable,
    /// This direction was shut down.
    BrokenPipe,
    /// No such address, or a datagram that is too long.
    InvalidInput,
    /// No computer answers there.
    HostUnreachable,
    /// There is no way there.
    NetworkUnreachable,
    /// This machine has no network but itself.
    NetworkDown,
    /// No address is known for the name.
    NotFound,
    /// There is no memory for it.
    OutOfMemory,
    /// IPv6, which is not there.
    Unsupported,
    /// A datagram for everybody, from a socket that may not send such.
    PermissionDenied,
    /// Another goroutine wanted the call to return.
    Interrupted,
}

impl Error {
    /// What kind of error it is.
    ///
    /// ```
    /// use net::socket::{Error, ErrorKind};
    /// assert_eq!(Error::from(ErrorKind::AddrInUse).kind(), ErrorKind::AddrInUse);
    /// ```
    pub fn kind(&self) -> ErrorKind {
        self.kind
    }

    /// The same, of a name server, and not of whom the caller wanted.
    pub(super) fn of_name_server(self) -> Error {
        Error {
            name: Some(DnsError::Unheard),
            ..self
        }
    }
}

/// Of one kind is the same: more about it is for the reader.
impl PartialEq for Error {
    fn eq(&self, other: &Error) -> bool {
        self.kind == other.kind
    }
}

impl Eq for Error {}

impl core::hash::Hash for Error {
    fn hash<H: core::hash::Hasher>(&self, state: &mut H) {
        self.kind.hash(state)
    }
}

impl From<ErrorKind> for Error {
    fn from(kind: ErrorKind) -> Error {
        Error { kind, name: None }
    }
}

impl From<TcpError> for Error {
    fn from(error: TcpError) -> Error {
        match error {
            TcpError::WouldBlock => ErrorKind::WouldBlock,
            TcpError::Refused => ErrorKind::ConnectionRefused,
            TcpError::Reset => ErrorKind::ConnectionReset,
            TcpError::TimedOut => ErrorKind::TimedOut,
            TcpError::BrokenPipe => ErrorKind::BrokenPipe,
            TcpError::NotConnected => ErrorKind::NotConnected,
            TcpError::NoRoom => ErrorKind::OutOfMemory,
            TcpError::AddrInUse => ErrorKind::AddrInUse,
            TcpError::AddrNotAvailable => ErrorKind::AddrNotAvailable,
            TcpError::HostUnreachable => ErrorKind::HostUnreachable,
            TcpError::Unreachable => ErrorKind::NetworkUnreachable,
            TcpError::Invalid => ErrorKind::InvalidInput,
        }
        .into()
    }
}

impl From<UdpError> for Error {
    fn from(error: UdpError) -> Error {
        match error {
            UdpError::WouldBlock => ErrorKind::WouldBlock,
            UdpError::Refused => ErrorKind::ConnectionRefused,
            UdpError::Closed | UdpError::NotConnected => ErrorKind::NotConnected,
            UdpError::NoBroadcast => ErrorKind::PermissionDenied,
            UdpError::TooLong => ErrorKind::InvalidInput,
            UdpError::Unreachable => ErrorKind::NetworkUnreachable,
            UdpError::NotOurs => ErrorKind::AddrNotAvailable,
            UdpError::InUse => ErrorKind::AddrInUse,
        }
        .into()
    }
}

impl From<DnsError> for Error {
    fn from(error: DnsError) -> Error {
        let kind = match error {
            DnsError::BadName => ErrorKind::InvalidInput,
            DnsError::NotFound | DnsError::NoAddress => ErrorKind::NotFound,
            DnsError::NoServers => ErrorKind::NetworkUnreachable,
            DnsError::ServerFailed | DnsError::Truncated => ErrorKind::NotFound,
            DnsError::TimedOut | DnsError::Unheard => ErrorKind::TimedOut,
        };
        let name = Some(error);
        Error { kind, name }
    }
}

impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&self.kind, f)
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.name {
            Some(DnsError::Unheard) => write!(f, "the name server: {}", self.kind),
            Some(name) => fmt::Display::fmt(&name, f),
            None => fmt::Display::fmt(&self.kind, f),
        }
    }
}

impl fmt::Display for ErrorKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::WouldBlock => "it would have to wait",
            Self::TimedOut => "the deadline has passed",
            Self::ConnectionRefused => "nobody listens there",
            Self::ConnectionReset => "the other side has broken the connection off",
            Self::ConnectionAborted => "the connection was given up",
            Self::NotConnected => "there is no connection",
            Self::AddrInUse => "the address is in use",
            Self::AddrNotAvailable => "the address is not this machine's, or has no port left",
            Self::BrokenPipe => "the connection takes no more data",
            Self::InvalidInput => "it is no address, or too long for a datagram",
            Self::HostUnreachable => "no computer answers there",
            Self::NetworkUnreachable => "there is no way there",
            Self::NetworkDown => "this machine has no network",
            Self::NotFound => "no address is known for this name",
            Self::OutOfMemory => "there is not enough memory",
            Self::Unsupported => "IPv6 is not there yet",
            Self::PermissionDenied => "the socket may not send to everybody",
            Self::Interrupted => "the call was interrupted",
        })
    }
}

impl core::error::Error for Error {}

impl embedded_io::Error for Error {
    fn kind(&self) -> embedded_io::ErrorKind {
        use embedded_io::ErrorKind as K;
        match self.kind {
            ErrorKind::TimedOut => K::TimedOut,
            ErrorKind::ConnectionRefused => K::ConnectionRefused,
            ErrorKind::ConnectionReset => K::ConnectionReset,
            ErrorKind::ConnectionAborted => K::ConnectionAborted,
            ErrorKind::NotConnected => K::NotConnected,
            ErrorKind::AddrInUse => K::AddrInUse,
            ErrorKind::AddrNotAvailable => K::AddrNotAvailable,
            ErrorKind::BrokenPipe => K::BrokenPipe,
            ErrorKind::InvalidInput => K::InvalidInput,
            ErrorKind::NotFound => K::NotFound,
            ErrorKind::OutOfMemory => K::OutOfMemory,
            ErrorKind::Unsupported => K::Unsupported,
            ErrorKind::PermissionDenied => K::PermissionDenied,
            ErrorKind::Interrupted => K::Interrupted,
            // `embedded-io` has no words for these.
            ErrorKind::WouldBlock
            | ErrorKind::HostUnreachable
            | ErrorKind::NetworkUnreachable
            | ErrorKind::NetworkDown => K::Other,
        }
    }
}
