//! The network, from the device upwards.
//!
//! | question | file |
//! |---|---|
//! | what driver and device share | `ring/area.rs` |
//! | the driver's side: give buffers, kick, take them back | `ring/queue.rs` |
//! | when the other side wants to be told | `ring/event.rs` |
//! | the device's side, for tests | `ring/fake.rs` |
//! | from a device on PCI to one that runs | `device/pci.rs` `device/start.rs` |
//! | frames that come, frames that go | `device/receive.rs` `device/transmit.rs` |
//! | TCP/IP: the whole, and what lies where | `stack.rs` |
//! | Ethernet, ARP, IPv4, packets to oneself | `stack/ether.rs` `stack/arp.rs` `stack/ipv4.rs` `stack/looped.rs` |
//! | TCP: whose is a segment, how a connection is run | `stack/tcp.rs` `stack/tcp/demux.rs` `stack/tcp/pump.rs` |
//! | TCP: who listens, floods, what has ended | `stack/tcp/listen.rs` `stack/tcp/cookie.rs` `stack/tcp/timewait.rs` |
//! | ICMP, UDP | `stack/icmp.rs` `stack/udp.rs` `stack/limit.rs` |
//! | an address from the network, names | `stack/dhcp.rs` `stack/dns.rs` |
//! | what falls due, why something was dropped | `stack/timers.rs` `stack/stats.rs` |
//! | sockets for goroutines | `socket.rs` |
//! | HTTP/1.1, over any stream of bytes | `http.rs` `http/` |
#![cfg_attr(ringo_kernel, no_std)]
extern crate alloc;

#[cfg(not(ringo_loom))]
pub mod device;
#[cfg(not(ringo_loom))]
pub mod http;
pub mod ring;
#[cfg(not(ringo_loom))]
pub mod socket;
#[cfg(not(ringo_loom))]
pub mod stack;
