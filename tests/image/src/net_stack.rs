//! The stack over the network card, driven by looking: QEMU's own network gives an address, echoes, and files by TFTP.

use crate::param::param;
use crate::{Outcome, Test, ensure, figure};
use alloc::string::{String, ToString};
use core::net::{Ipv4Addr, SocketAddrV4};
use net::device::{self, Checksum, Frames, Nic, PciTransport, Transmitter, Transport};
use net::stack::udp::{Socket, UdpError};
use net::stack::{Address, Config, Counter, Out, Ready, Stack};
use ringo::prelude::*;

pub const TESTS: &[Test] = &[("net_stack", net_stack)];

type Bell = <PciTransport as Transport>::Bell;
type Sock = Arc<Socket<()>>;

const ANY: Ipv4Addr = Ipv4Addr::UNSPECIFIED;
/// Where QEMU's network lives, and the address that it gives us.
const GATEWAY: Ipv4Addr = Ipv4Addr::new(10, 0, 2, 2);
const OURS: Ipv4Addr = Ipv4Addr::new(10, 0, 2, 15);
/// How often something that may be lost is tried again.
const TRIES: u32 = 20;
/// Between two tries: QEMU's network loses nothing, but ARP comes before all else.
const WAIT_NS: u64 = 500_000_000;

/// The card and what lies above it.
struct Host {
    nic: Nic<PciTransport>,
    stack: Stack<()>,
}

/// The card, as the stack sees it. Nobody is woken here: the test looks for itself.
struct Card<'a>(&'a mut Transmitter<Bell>);

impl Out<()> for Card<'_> {
    fn frame(
        &mut self,
        _queue: u16,
        bytes: usize,
        checksum: Option<Checksum>,
        fill: &mut dyn FnMut(&mut [u8]),
    ) -> bool {
        // A broken ring is found by who takes back.
        self.0.send(bytes, checksum, fill).unwrap_or(false)
    }

    fn near(&self) -> u16 {
        0
    }

    fn ready(&mut self, _: &Arc<()>, _: Ready) {}
}

impl Host {
    fn start() -> Result<Host, String> {
        let transport = device::find().map_err(|e| e.to_string())?;
        let nic = device::start::<_, Frames>(transport).map_err(|e| e.to_string())?;
        let config = Config {
            offload: nic.offers.sends_checksums,
            ..Config::new(nic.mac, 1)
        };
        let stack = Stack::new(config);
        Ok(Host { nic, stack })
    }

    /// What a call of the stack's gives.
    fn call<T>(&mut self, f: impl FnOnce(&Stack<()>, u64, &mut Card<'_>) -> T) -> T {
        let mut card = Card(&mut self.nic.transmitter);
        let result = f(&self.stack, arch::now_ns(), &mut card);
        self.nic.transmitter.flush();
        result
    }

    /// Does what is to be done, until `done` or so much time has passed. Was it done?
    fn until(&mut self, ns: u64, mut done: impl FnMut(&Stack<()>) -> bool) -> Result<bool, String> {
        let end_ns = arch::now_ns() + ns;
        loop {
            let (nic, stack, now_ns) = (&mut self.nic, &self.stack, arch::now_ns());
            nic.transmitter.reclaim().map_err(|e| e.to_string())?;
            let mut card = Card(&mut nic.transmitter);
            let came = nic.receiver.receive(64, |frame| {
                stack.input(frame.bytes, frame.checked, now_ns, &mut card)
            });
            came.map_err(|e| e.to_string())?;
            stack.tick(now_ns, &mut card);
            nic.transmitter.flush();
            if done(stack) {
                return Ok(true);
            }
            if arch::now_ns() > end_ns {
                return Ok(false);
            }
            yield_now()
        }
    }

    fn bind(&self, port: u16) -> Result<Sock, String> {
        let socket = self
            .stack
            .udp_bind(SocketAddrV4::new(ANY, port), Arc::new(()));
        socket.map_err(|error| format!("port {port}: {error:?}"))
    }
}

/// An address from QEMU's network. However slow that is: the harness has the clock.
fn lease(host: &mut Host) -> Outcome {
    host.call(|stack, now_ns, card| stack.dhcp_start(None, Arc::new(()), now_ns, card));
    host.until(u64::MAX / 2, |stack| stack.is_leased())?;
    let address = host.stack.address();
    // Where nothing gets out there is no way out.
    let wanted = Address {
        ip: OURS,
        prefix: 24,
        gateway: None,
    };
    ensure!(
        address == Some(wanted),
        "the lease is {:?}",
        host.stack.lease()
    );
    Ok(())
}

/// Echoes of all lengths, one by one. How often one was asked for again.
fn echoes(host: &mut Host, rounds: u64) -> Result<u64, String> {
    let ping = host.stack.ping_bind(Arc::new(()));
    let ping = ping.map_err(|error| format!("{error:?}"))?;
    let mut again = 0;
    for round in 0..rounds {
        let data: Vec<u8> = (0..round * 97 % 1473).map(|i| (i ^ round) as u8).collect();
        let seq = round as u16;
        let mut buffer = vec![0; 1500];
        let answered = (0..TRIES).any(|attempt| {
            again += u64::from(attempt != 0);
            let sent = host.call(|stack, now_ns, card| {
                stack.ping_send(&ping, GATEWAY, seq, &data, now_ns, card)
            });
            let came = host.until(WAIT_NS, |_| ping.is_readable());
            sent.is_ok() && came == Ok(true)
        });
        ensure!(answered, "echo {round}: no answer");
        let got = ping.recv(&mut buffer).map_err(|e| format!("{e:?}"))?;
        let from = SocketAddrV4::new(GATEWAY, seq);
        ensure!(
            got.from == from,
            "echo {round}: an answer from {}",
            got.from
        );
        ensure!(buffer[..got.len] == data, "echo {round}: other bytes");
        // Of one that was asked twice there may be two.
        while ping.recv(&mut []).is_ok() {}
    }
    host.stack.ping_close(&ping);
    Ok(again)
}

/// A file by TFTP (RFC 1350): its bytes, block by block, each acknowledged.
fn fetch(host: &mut Host, name: &str) -> Result<Vec<u8>, String> {
    let socket = host.bind(0)?;
    let mut server = SocketAddrV4::new(GATEWAY, 69);
    let mut message = [b"\x00\x01", name.as_bytes(), b"\x00octet\x00"].concat();
    let (mut file, mut block, mut tries) = (Vec::new(), 1u16, 0);
    loop {
        let sent = host.call(|stack, now_ns, card| {
            stack.udp_send(&socket, Some(server), &message, now_ns, card)
        });
        ensure!(sent == Ok(message.len()), "block {block}: {sent:?}");
        if !host.until(WAIT_NS, |_| socket.is_readable())? {
            tries += 1;
            ensure!(tries < TRIES, "block {block} does not come");
            continue;
        }
        let mut buffer = [0; 600];
        let got = match socket.recv(&mut buffer) {
            Err(UdpError::WouldBlock) => continue,
            got => got.map_err(|error| format!("block {block}: {error:?}"))?,
        };
        let [0, kind, high, low, data @ ..] = &buffer[..got.len] else {
            return Err(format!("block {block}: {got:?}"));
        };
        ensure!(*kind == 3, "block {block}: {:?}", &buffer[..got.len]);
        if u16::from_be_bytes([*high, *low]) == block {
            file.extend_from_slice(data);
            server = got.from;
            message = [0, 4, *high, *low].to_vec();
            block = block.wrapping_add(1);
            tries = 0;
            if data.len() < 512 {
                host.call(|stack, now_ns, card| {
                    stack.udp_send(&socket, Some(server), &message, now_ns, card)
                })
                .map_err(|error| format!("{error:?}"))?;
                host.stack.udp_close(&socket);
                return Ok(file);
            }
        }
    }
}

/// To itself the machine needs no card.
fn at_home(host: &mut Host) -> Outcome {
    let (one, two) = (host.bind(0)?, host.bind(7)?);
    let frames = host.stack.stats.get(Counter::FramesOut);
    for to in [Ipv4Addr::LOCALHOST, OURS] {
        let to = Some(SocketAddrV4::new(to, 7));
        let sent = host.call(|stack, now_ns, card| stack.udp_send(&one, to, b"home", now_ns, card));
        ensure!(sent == Ok(4), "{sent:?}");
        let got = two.recv(&mut [0; 9]).map(|got| got.len);
        ensure!(got == Ok(4), "{got:?}");
    }
    let nobody = SocketAddrV4::new(Ipv4Addr::LOCALHOST, 9);
    let connected = host.stack.udp_connect(&one, nobody);
    ensure!(connected.is_ok(), "{connected:?}");
    let sent = host.call(|stack, now_ns, card| stack.udp_send(&one, None, b"", now_ns, card));
    let error = one.recv(&mut []).err();
    ensure!(error == Some(UdpError::Refused), "{sent:?}, then {error:?}");
    let after = host.stack.stats.get(Counter::FramesOut);
    ensure!(after == frames, "{} frames to itself", after - frames);
    Ok(())
}

/// The file that the harness has made: what follows from its length. What is heard of it is how it was.
fn net_stack() -> Outcome {
    let mut host = Host::start()?;
    lease(&mut host)?;
    let again = echoes(&mut host, param("rounds", 60))?;
    let file = fetch(&mut host, "file")?;
    let sum = file.iter().fold(0u64, |sum, &byte| {
        sum.wrapping_mul(31).wrapping_add(u64::from(byte))
    });
    at_home(&mut host)?;
    let dropped = |counter| host.stack.stats.get(counter);
    for counter in [
        Counter::Ipv4Malformed,
        Counter::Ipv4Checksum,
        Counter::IcmpMalformed,
        Counter::UdpMalformed,
        Counter::UdpChecksum,
    ] {
        ensure!(dropped(counter) == 0, "{} of {counter:?}", dropped(counter));
    }
    figure!("again", again);
    figure!("file_bytes", file.len() as u64);
    figure!("file_sum", sum & 0xffff_ffff);
    figure!("frames", dropped(Counter::FramesIn));
    Ok(())
}
