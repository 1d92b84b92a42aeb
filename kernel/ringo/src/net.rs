//! The network, for programs: `std::net`'s shape, a goroutine for each connection.
//!
//! The network comes up when a program first uses it: the runner attaches a card (`--net`) to every program that has this in it, DHCP
//! gives it an address, and without an answer it takes 10.0.2.15. 127.0.0.0/8 is there without a card, on the host machine as well.
//! IPv6 is not there.
//!
//! ```
//! # sched::testing::run(2, 2, || {
//! use ringo::prelude::*;
//! let listener = TcpListener::bind("127.0.0.1:7").unwrap();
//! go(move || {
//!     for stream in listener.incoming().flatten() {
//!         go(move || {
//!             let (mut from, mut to) = (&stream, &stream);
//!             let mut buffer = [0; 512];
//!             while let Ok(n @ 1..) = from.read(&mut buffer) {
//!                 to.write_all(&buffer[..n]).unwrap();
//!             }
//!         })
//!     }
//! });
//! let mut stream = TcpStream::connect("127.0.0.1:7").unwrap();
//! stream.write_all(b"echo").unwrap();
//! let mut buffer = [0; 4];
//! stream.read_exact(&mut buffer).unwrap();
//! assert_eq!(&buffer, b"echo");
//! # });
//! ```

pub use net::http;
pub use net::socket::{
    Error, ErrorKind, QueuePair, Read, Result, Shutdown, TcpListener, TcpStream, ToSocketAddrs,
    UdpSocket, Write, lookup, queue_pairs,
};
