//! The machine's network: what its card is connected to, and QEMU's arguments for it.
//!
//! ```text
//!  user          QEMU's own network: 10.0.2.0/24, DHCP, DNS, the way out; in by forwarded ports (`forward.rs`)
//!  stream:PATH   frames over a Unix socket that somebody listens on, each behind its length as 4 bytes, the highest first
//!  tap:IF        a tap interface of this system, with as many queues as there are CPUs if it has several
//! ```

use std::fs;
use std::os::fd::{AsRawFd, RawFd};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{SystemTime, UNIX_EPOCH};

use crate::say::say;
use crate::symbols::Symbols;
use crate::{Failure, Forward, Machine, Output, Result, disk, install};

/// A program that has this symbol drives a network card.
const USED_BY: &str = "RINGO_NET";
/// Bits of an interface's kind (Linux: `if_tun.h`).
const IFF_TAP: u32 = 2;
const IFF_MULTI_QUEUE: u32 = 0x100;
/// Queues of a tap interface that QEMU opens at most.
const QUEUES_MOST: u32 = 8;

/// What the machine's card is connected to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Net {
    /// There is no card.
    None,
    /// [`Net::User`], if the program has a driver and the run is not seeded.
    IfUsed,
    /// QEMU's own network.
    User,
    /// A Unix socket that somebody listens on.
    Stream(PathBuf),
    /// A tap interface.
    Tap(String),
}

impl Net {
    /// What `--net` was given.
    ///
    /// # Errors
    /// It is none of the words.
    pub fn parse(text: &str) -> Result<Net> {
        match text.split_once(':') {
            None if text == "none" => Ok(Net::None),
            None if text == "user" => Ok(Net::User),
            Some(("stream", path)) if !path.is_empty() => Ok(Net::Stream(path.into())),
            Some(("tap", name)) if !name.is_empty() => Ok(Net::Tap(name.into())),
            _ => Err(Failure::new(format!(
                "--net {text} is not possible; it can be user, stream:PATH (a Unix socket), tap:IF (an interface) or none"
            ))),
        }
    }

    /// As it is given.
    pub fn name(&self) -> String {
        match self {
            Net::None => "none".into(),
            Net::IfUsed => "user, where it is used".into(),
            Net::User => "user".into(),
            Net::Stream(path) => format!("stream:{}", path.display()),
            Net::Tap(name) => format!("tap:{name}"),
        }
    }

    /// What it is for this program.
    fn settled(&self, machine: &Machine, symbols: &Symbols) -> Net {
        match self {
            Net::IfUsed if machine.seed.is_some() || symbols.address_of(USED_BY).is_none() => {
                Net::None
            }
            Net::IfUsed => Net::User,
            other => other.clone(),
        }
    }
}

/// Says of a program that uses the network, on the host machine, that there is none.
pub fn say_missed_on_host(executable: &Path) {
    if Symbols::defines(executable, USED_BY) {
        say_missed("--machine host")
    }
}

fn say_missed(why: &str) {
    say(format_args!(
        "this machine has no network ({why}): only 127.0.0.1 can be reached"
    ))
}

/// A network while its machine starts.
pub struct Wired {
    /// What it is.
    pub net: Net,
    arguments: Vec<String>,
    /// QEMU's end of a stream.
    socket: Option<UnixStream>,
}

impl Wired {
    /// The network that `machine` is to have.
    ///
    /// # Errors
    /// It cannot be had, or more is asked of it than it can.
    pub fn new(machine: &Machine, symbols: &Symbols) -> Result<Wired> {
        let net = machine.net.settled(machine, symbols);
        let is_missed = symbols.address_of(USED_BY).is_some();
        if net == Net::None && is_missed && machine.output == Output::PassThrough {
            say_missed(match machine.net {
                Net::None => "--net none",
                _ => "--seed",
            })
        }
        if net == Net::None {
            return match without(machine) {
                Some(option) => Err(Failure::new(format!(
                    "{option}: {} has no network; a program gets one where it uses ringo's, or by --net user",
                    machine.program
                ))),
                None => Ok(Wired {
                    net,
                    arguments: Vec::new(),
                    socket: None,
                }),
            };
        }
        let socket = match &net {
            Net::Stream(path) => Some(connect(path)?),
            _ => None,
        };
        let queues = match &net {
            Net::Tap(name) => queues(tap_flags(name)?, machine.smp),
            _ => 1,
        };
        let forwards = machine.forwards.iter();
        forwards.into_iter().try_for_each(Forward::check_free)?;
        let fd = socket.as_ref().map(AsRawFd::as_raw_fd);
        let mut arguments = vec!["-netdev".to_string(), backend(&net, machine, fd, queues)];
        arguments.extend(["-device".to_string(), card(&net, queues)]);
        if let Some(file) = &machine.capture {
            let file = prepare_capture(file)?;
            let dump = format!("filter-dump,id=capture,netdev=net,file={file}");
            arguments.extend(["-object".to_string(), dump])
        }
        Ok(Wired {
            net,
            arguments,
            socket,
        })
    }

    /// QEMU's arguments.
    pub fn arguments(&self) -> &[String] {
        &self.arguments
    }

    /// What QEMU has to inherit.
    pub fn descriptors(&self) -> impl Iterator<Item = RawFd> {
        self.socket.iter().map(AsRawFd::as_raw_fd)
    }
}

/// The option that a machine without network has no use for.
fn without(machine: &Machine) -> Option<&'static str> {
    let forwards = (!machine.forwards.is_empty()).then_some("--forward");
    forwards.or(machine.capture.as_ref().map(|_| "--capture"))
}

/// A card like the machine's, connected to nothing: where only the guest's way through its start is wanted once more.
pub fn unconnected(machine: &Machine, symbols: &Symbols) -> Vec<String> {
    match machine.net.settled(machine, symbols) {
        Net::None => Vec::new(),
        net => {
            let netdev = "user,id=net,restrict=on".to_string();
            ["-netdev".into(), netdev, "-device".into(), card(&net, 1)].into()
        }
    }
}

fn backend(net: &Net, machine: &Machine, socket: Option<RawFd>, queues: u32) -> String {
    match net {
        Net::Stream(_) => format!(
            "stream,id=net,addr.type=fd,addr.str={}",
            socket.unwrap_or(-1)
        ),
        Net::Tap(name) => {
            let several = if queues > 1 {
                format!(",queues={queues}")
            } else {
                String::new()
            };
            format!("tap,id=net,ifname={name},script=no,downscript=no{several}")
        }
        _ => {
            let forwards = machine.forwards.iter();
            let forwards = forwards.map(|forward| format!(",hostfwd={}", forward.rule()));
            format!("user,id=net{}", forwards.collect::<String>())
        }
    }
}

/// No ROM: nobody boots from the network, and microvm has no place for it.
fn card(net: &Net, queues: u32) -> String {
    let mut card = "virtio-net-pci,netdev=net,disable-legacy=on,romfile=".to_string();
    if queues > 1 {
        // One interrupt for each half of each queue pair, the control queue's, and that of the configuration.
        card += &format!(",mq=on,vectors={}", 2 * queues + 2)
    }
    match net {
        // Alone on its network: QEMU's own address does.
        Net::None | Net::IfUsed | Net::User => card,
        // Others may be there, other machines of ours among them.
        Net::Stream(_) | Net::Tap(_) => card + ",mac=" + &address(),
    }
}

/// An address that no other machine here has: of the range that QEMU uses, by the clock and the process.
fn address() -> String {
    let time = SystemTime::now().duration_since(UNIX_EPOCH);
    let time = time.map_or(0, |time| time.as_nanos() as u64);
    let mixed = base::Rng::new(time ^ u64::from(std::process::id()) << 32).next_u64();
    let [a, b, c, ..] = mixed.to_le_bytes();
    format!("52:54:00:{a:02x}:{b:02x}:{c:02x}")
}

/// QEMU takes a stream on which nobody listens, and says nothing.
fn connect(path: &Path) -> Result<UnixStream> {
    UnixStream::connect(path).map_err(|error| {
        Failure::new(format!(
            "--net stream:{}: {error}; somebody has to listen on this Unix socket",
            path.display()
        ))
    })
}

/// The file of a capture, in QEMU's spelling.
fn prepare_capture(file: &Path) -> Result<String> {
    let wrong = |what: String| {
        let file = file.display();
        Failure::new(format!(
            "--capture {file}: {what}; it takes a regular file that can be written, or the name of a new one"
        ))
    };
    // A device keeps nothing.
    if let Some(what) = disk::no_file_but(file) {
        return Err(wrong(format!("this is {what}")));
    }
    fs::File::create(file).map_err(|error| wrong(error.to_string()))?;
    // A comma would end it.
    Ok(file.display().to_string().replace(',', ",,"))
}

/// Whether there is a tap interface of this name for us; the bits of its kind, as far as they are known.
///
/// # Errors
/// There is none.
pub fn tap_flags(name: &str) -> Result<Option<u32>> {
    let wrong = |what: String| Failure::new(format!("--net tap:{name}: {what}"));
    let make = format!("ip tuntap add dev {name} mode tap");
    let bad = |c: char| c.is_whitespace() || c == '/' || c == ',';
    if name.contains(bad) || name.len() > 15 {
        return Err(wrong(
            "an interface has a name of up to 15 characters, such as tap0".into(),
        ));
    }
    // Of this thread's own network namespace.
    let all = fs::read_to_string("/proc/thread-self/net/dev").unwrap_or_default();
    let mut names = all.lines().filter_map(|line| line.split_once(':'));
    if !names.any(|(known, _)| known.trim() == name) {
        return Err(wrong(format!(
            "there is no such interface; root makes one by: {make}"
        )));
    }
    fs::File::options()
        .read(true)
        .write(true)
        .open("/dev/net/tun")
        .map_err(|error| wrong(format!("/dev/net/tun: {error}")))?;
    if let Some(kind) = kind_by_ip(name) {
        return kind
            .map(Some)
            .map_err(|what| wrong(format!("{what}; a tap is made by: {make}")));
    }
    // Of the namespace that /sys was mounted in, which may be another.
    let known = Path::new("/sys/class/net").join(name);
    let flags = fs::read_to_string(known.join("tun_flags")).ok();
    let flags = flags.and_then(|text| parse_hex(&text));
    match flags {
        None if known.join("mtu").exists() => Err(wrong(format!(
            "this is no tap interface; one is made by: {make}"
        ))),
        Some(flags) if flags & IFF_TAP == 0 => Err(wrong(format!(
            "this is a tun interface; a tap is made by: {make}"
        ))),
        flags => Ok(flags),
    }
}

/// What `ip` knows of an interface, which is of our own namespace; None: there is no `ip` that would know.
fn kind_by_ip(name: &str) -> Option<std::result::Result<u32, &'static str>> {
    let ip = install::find("ip")?;
    let shown = Command::new(ip)
        .args(["-details", "-oneline", "link", "show", "dev", name])
        .output()
        .ok()?;
    kind(&String::from_utf8_lossy(&shown.stdout))
}

fn kind(shown: &str) -> Option<std::result::Result<u32, &'static str>> {
    let words: Vec<&str> = shown.split_whitespace().collect();
    let kind = words.windows(3).find_map(|words| match words {
        ["tun", "type", kind] => Some(*kind),
        _ => None,
    });
    // One that shows no details does not know.
    words.contains(&"promiscuity").then_some(match kind {
        Some("tap") if words.contains(&"multi_queue") => Ok(IFF_TAP | IFF_MULTI_QUEUE),
        Some("tap") => Ok(IFF_TAP),
        Some(_) => Err("this is a tun interface"),
        None => Err("this is no tap interface"),
    })
}

fn parse_hex(text: &str) -> Option<u32> {
    u32::from_str_radix(text.trim().trim_start_matches("0x"), 16).ok()
}

/// An interface with several queues has to be opened as such.
fn queues(flags: Option<u32>, smp: u32) -> u32 {
    if flags.is_some_and(|flags| flags & IFF_MULTI_QUEUE != 0) {
        smp.clamp(2, QUEUES_MOST)
    } else {
        1
    }
}

#[cfg(test)]
#[path = "net_tests.rs"]
mod tests;
