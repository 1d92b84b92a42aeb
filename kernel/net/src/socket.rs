//! Sockets for goroutines, in `std::net`'s shape: calls wait, and what waits is the goroutine alone.
//!
//! | question | file |
//! |---|---|
//! | connections, who accepts them, datagrams | `socket/tcp_stream.rs` `socket/tcp_listener.rs` `socket/udp.rs` |
//! | how a call waits | `socket/fd.rs`, and `sched::netpoll` below it |
//! | what may stand where an address is asked for; names | `socket/addr.rs` `socket/lookup.rs` |
//! | the stack, the card, and who moves what between them | `socket/machine.rs` `socket/card.rs` `socket/wire.rs` |
//! | whence the machine has its address | `socket/lease.rs` |
//! | HTTP over them | `socket/http.rs` |
//! | what can go wrong | `socket/error.rs` |

mod addr;
mod card;
mod error;
mod fd;
mod http;
mod lease;
mod lookup;
mod machine;
mod tcp_listener;
mod tcp_stream;
mod udp;
mod wire;

pub use addr::ToSocketAddrs;
pub use card::QueuePair;
pub use embedded_io::{Read, Write};
pub use error::{Error, ErrorKind, Result};
pub use lookup::lookup;
pub use machine::{most_connections, queue_pairs};
pub use tcp_listener::TcpListener;
pub use tcp_stream::{Shutdown, TcpStream};
pub use udp::UdpSocket;
