//! A chat: guests at their terminals, and one who reads nothing.

use super::{hung, spawn, text};
use std::io::{Read, Write};
use std::net::{Ipv4Addr, SocketAddrV4};
use std::path::PathBuf;
use std::process::{Child, ChildStdin};
use std::time::{Duration, Instant};
use tests::peer::{Peer, Setup, SocketHandle, Wire};
use tests::{Case, Live, demo, note, tools};

/// A guest who types what it is told to, and whose screen is read.
struct Guest {
    child: Child,
    types: ChildStdin,
    screen: std::process::ChildStdout,
    seen: String,
}

impl Guest {
    fn new(nc: &PathBuf, port: u16) -> Result<Guest, String> {
        let mut child = spawn(nc, &["-N", "localhost", &port.to_string()])?;
        let types = child.stdin.take().ok_or("no stdin")?;
        let screen = child.stdout.take().ok_or("no stdout")?;
        let seen = String::new();
        Ok(Guest {
            child,
            types,
            screen,
            seen,
        })
    }

    fn types(&mut self, line: &str) -> Result<(), String> {
        writeln!(self.types, "{line}").map_err(text)
    }

    /// Reads until this is there, past what was read before. The runner's time limit ends a wait in vain.
    fn sees(&mut self, wanted: &str) -> Result<(), String> {
        let mut piece = [0; 1024];
        loop {
            if let Some(at) = self.seen.find(wanted) {
                self.seen.drain(..at + wanted.len());
                return Ok(());
            }
            match self.screen.read(&mut piece).map_err(text)? {
                0 => return Err(format!("the end instead of {wanted:?}: {:?}", self.seen)),
                n => self.seen += &String::from_utf8_lossy(&piece[..n]),
            }
        }
    }
}

impl Drop for Guest {
    fn drop(&mut self) {
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

/// Two guests, their names, their lines, their commands.
pub fn typed() -> Result<(), String> {
    let Some(nc) = tools::or_note("nc in the chat", tools::netcat()) else {
        return Ok(());
    };
    let mut server = Live::start("chat", &["--smp", "2", "--timeout", "300", "--", "2"])?;
    let port = server.port("port", 4000)?;
    let mut ann = Guest::new(&nc, port)?;
    ann.sees("your name? ")?;
    ann.types("ann")?;
    ann.sees("* ann is here\n")?;
    let mut bob = Guest::new(&nc, port)?;
    let no_name = "a name is one word without / in front, of up to 20 characters\nyour name? ";
    for (name, answer) in [
        ("ann", "somebody is called ann already\nyour name? "),
        ("two words", no_name),
        ("/who", no_name),
        ("bob", "* bob is here\n"),
    ] {
        bob.types(name)?;
        bob.sees(answer)?
    }
    ann.sees("* bob is here\n")?;
    bob.types("hello \x1b[31mann")?;
    ann.sees("bob: hello [31mann\n")?;
    ann.types(&"x".repeat(500))?;
    bob.sees(&format!(
        "ann: {}\nann: {}\n",
        "x".repeat(400),
        "x".repeat(100)
    ))?;
    bob.types("/who")?;
    bob.sees("* here: ann, bob\n")?;
    bob.types("/what")?;
    bob.sees("* there are /who and /bye\n")?;
    bob.types("/bye")?;
    ann.sees("* bob has left\n")?;
    drop(ann);
    server.says("* ann has left\n")?;
    match server.ended()? {
        Some(0) => Ok(()),
        status => Err(format!("the chat ends with {status:?}")),
    }
}

const CHAT: SocketAddrV4 = SocketAddrV4::new(Ipv4Addr::new(10, 0, 2, 15), 4000);

/// The next whole line that has come to a guest.
fn line(peer: &mut Peer, at: SocketHandle, seen: &mut Vec<u8>) -> Result<String, String> {
    loop {
        if let Some(end) = seen.iter().position(|b| *b == b'\n') {
            let line: Vec<u8> = seen.drain(..=end).collect();
            return Ok(String::from_utf8_lossy(&line).trim_end().to_string());
        }
        match peer.recv_some(at)? {
            more if more.is_empty() => return Err("the chat has closed".into()),
            more => seen.extend_from_slice(&more),
        }
    }
}

fn join(peer: &mut Peer, at: SocketHandle, name: &str) -> Result<(), String> {
    peer.dial_with(at, CHAT)?;
    peer.connected(at)?;
    peer.send_all(at, format!("{name}\n").as_bytes())
}

/// Two talk while a third reads nothing: each line arrives at once, whatever lies before the third; who is shown out in the end.
fn converse(wire: Wire) -> Result<(), String> {
    let mut peer = Peer::new(wire, Setup::default());
    peer.serve_dhcp(*CHAT.ip());
    let begin = Instant::now();
    let sloth = peer.tcp_socket(512, 512);
    // The server listens soon after the machine has its address.
    while let Err(why) = join(&mut peer, sloth, "sloth") {
        let patient = why.contains("refused") && begin.elapsed() < hung();
        patient.then_some(()).ok_or(why)?;
        peer.run_for(Duration::from_millis(5))
    }
    let talkers = [0, 1].map(|_| peer.tcp_socket(64 << 10, 64 << 10));
    let mut seen = [Vec::new(), Vec::new()];
    for (i, name) in ["ann", "bob"].into_iter().enumerate() {
        join(&mut peer, talkers[i], name)?;
        // Whoever is there already is told as well.
        for at in 0..=i {
            let here = format!("* {name} is here");
            while !line(&mut peer, talkers[at], &mut seen[at])?.ends_with(&here) {}
        }
    }
    let filler = "z".repeat(380);
    let mut lines = 0u32;
    'talk: loop {
        for (me, other, name) in [(0, 1, "ann"), (1, 0, "bob")] {
            let said = format!("{lines} {filler}");
            peer.send_all(talkers[me], format!("{said}\n").as_bytes())?;
            lines += 1;
            let heard = line(&mut peer, talkers[other], &mut seen[other])?;
            if heard == "* sloth has left" {
                break 'talk;
            }
            if heard != format!("{name}: {said}") {
                return Err(format!("instead of line {lines}: {heard}"));
            }
        }
        if lines > 5_000 {
            return Err("who does not read is still there".into());
        }
    }
    // The channel alone takes 256.
    if lines < 256 {
        return Err(format!("shown out after {lines} lines"));
    }
    note(format!(
        "clients: who reads nothing in the chat is shown out after {lines} lines"
    ));
    for at in talkers {
        peer.send_all(at, b"/bye\n")?
    }
    peer.run_for(Duration::from_millis(1));
    for at in talkers {
        // The machine ends with its last guest.
        drop(peer.recv_to_end(at))
    }
    Ok(())
}

pub fn slow_reader() -> Case {
    let case = Case::new("clients", "chat").named("slow reader");
    let case = case.kernel(|| demo("chat"));
    let case = case.machine(|machine| machine.args = vec!["3".into()]);
    case.peer(converse).says("* sloth has left")
}
