//! Servers of ring 3, with clients in the machine and outside of it; programs on the disk.

use ringo_runner::{Disk, Forward, Net};
use std::io::{Read, Write};
use std::net::{Ipv4Addr, Shutdown, TcpListener, TcpStream};
use std::path::PathBuf;
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicU16, Ordering::Relaxed};
use std::time::Duration;
use tests::ring3::program;
use tests::{Beside, Case, hung, tools};

/// Ports of the machine: `echo`, `httpd`, and the one that ends it.
const GUEST: [u16; 3] = [7, 80, 9];
/// Connections side by side.
const CONNECTIONS: usize = 100;

fn text(e: impl ToString) -> String {
    e.to_string()
}

fn connect(port: u16) -> Result<TcpStream, String> {
    connect_for(port, hung())
}

/// A connection on which an answer may take so long.
fn connect_for(port: u16, answer: Duration) -> Result<TcpStream, String> {
    let stream = TcpStream::connect((Ipv4Addr::LOCALHOST, port)).map_err(text)?;
    stream.set_read_timeout(Some(answer)).map_err(text)?;
    Ok(stream)
}

/// A word there and back.
fn ask(stream: &mut TcpStream, word: &[u8]) -> Result<(), String> {
    stream.write_all(word).map_err(text)?;
    let mut back = vec![0; word.len()];
    stream.read_exact(&mut back).map_err(text)?;
    (back == word)
        .then_some(())
        .ok_or_else(|| format!("{back:?} came back"))
}

/// All stand at once, each asks several times, and says that it is done before it has heard everything.
fn echoed(port: u16) -> Result<(), String> {
    let mut all = Vec::new();
    for _ in 0..CONNECTIONS {
        // It stands before the next one comes: a machine that refuses one for want of room is asked again by QEMU after seconds.
        let mut stream = connect(port)?;
        ask(&mut stream, b"first")?;
        all.push(stream);
    }
    for round in 0..3 {
        for (i, stream) in all.iter_mut().enumerate() {
            ask(
                stream,
                format!("round {round} of connection {i}").as_bytes(),
            )?;
        }
    }
    for mut stream in all {
        stream.write_all(b"the last word").map_err(text)?;
        stream.shutdown(Shutdown::Write).map_err(text)?;
        let mut rest = Vec::new();
        stream.read_to_end(&mut rest).map_err(text)?;
        if rest != b"the last word" {
            return Err(format!("{rest:?} was the last word"));
        }
    }
    Ok(())
}

/// Two requests on one connection of `curl`'s, where there is one.
fn browsed(port: u16) -> Result<(), String> {
    let Some(curl) = tools::or_note("curl against httpd of ring 3", tools::curl()) else {
        return Ok(());
    };
    let url = |path: &str| format!("http://localhost:{port}{path}");
    let mut command = Command::new(curl);
    command.args(["-s", "-m", "60", "-w", "<%{http_code} %{num_connects}>\n"]);
    command.args([url("/hello"), url("/nowhere")]);
    command.env("no_proxy", "*").env("HOME", "/nonexistent");
    let output = command.output().map_err(text)?;
    let said = String::from_utf8_lossy(&output.stdout);
    let right = said.starts_with("hello from goroutine ")
        && said.contains("<200 1>")
        && said.ends_with("404 Not Found\n<404 0>\n");
    right
        .then_some(())
        .ok_or_else(|| format!("curl got {said:?}"))
}

/// By forwarded ports, as a user reaches them.
fn outside(smp: u32) -> Case {
    // Chosen when the machine starts.
    let ports: Arc<[AtomicU16; 3]> = Arc::default();
    let chosen = ports.clone();
    let case = Case::new("ring3_net", "ring3_net_outside").smp(smp);
    let case = case.machine(move |machine| {
        machine.net = Net::User;
        let forward = |(host, guest): (&AtomicU16, u16)| {
            host.store(free_port(), Relaxed);
            Forward {
                udp: false,
                host: host.load(Relaxed),
                guest,
            }
        };
        machine.forwards = chosen.iter().zip(GUEST).map(forward).collect()
    });
    case.client(move |machine| {
        let port = |i: usize| match ports[i].load(Relaxed) {
            0 => Err("the machine has not started".to_string()),
            port => Ok(port),
        };
        listens(machine, || port(0))?;
        listens_http(machine, || port(1))?;
        let result = echoed(port(0)?).and_then(|()| browsed(port(1)?));
        // It ends whatever was found.
        machine.keep_trying(|| connect(port(2)?).map(drop))?;
        result
    })
}

/// A connection of before the machine has its address is asked for again by QEMU after seconds: a new one is sooner there.
const PROBE: Duration = Duration::from_millis(300);

fn listens(machine: &Beside, port: impl Fn() -> Result<u16, String>) -> Result<(), String> {
    machine.keep_trying(|| ask(&mut connect_for(port()?, PROBE)?, b"are you there?"))
}

fn listens_http(machine: &Beside, port: impl Fn() -> Result<u16, String>) -> Result<(), String> {
    machine.keep_trying(|| {
        let mut stream = connect_for(port()?, PROBE)?;
        stream.write_all(b"HEAD / HTTP/1.0\r\n\r\n").map_err(text)?;
        let mut said = String::new();
        stream.read_to_string(&mut said).map_err(text)?;
        let right = said.starts_with("HTTP/1.1 200 OK\r\n") && said.ends_with("\r\n\r\n");
        right
            .then_some(())
            .ok_or_else(|| format!("{said:?} was the answer"))
    })
}

/// A port of the host's that nobody has at this moment.
fn free_port() -> u16 {
    let free = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).and_then(|l| l.local_addr());
    free.map_or(28_090, |at| at.port())
}

/// A file that goes with its case.
struct File(PathBuf);

impl Drop for File {
    fn drop(&mut self) {
        drop(std::fs::remove_file(&self.0));
    }
}

/// An archive of a good program, of files that are none, and of headers that promise too much.
fn damaged() -> Result<Vec<u8>, String> {
    let elf = std::fs::read(program("null")?).map_err(text)?;
    let garbage: Vec<u8> = (0..3000_u32).map(|i| ((i * i) >> 3) as u8).collect();
    let mut archive = tar::Builder::new(Vec::new());
    let mut add = |name: &str, says: u64, bytes: &[u8]| {
        let mut header = tar::Header::new_ustar();
        header.set_size(says);
        header.set_mode(0o644);
        header.set_path(format!("bin/{name}")).map_err(text)?;
        header.set_cksum();
        archive.append(&header, bytes).map_err(text)
    };
    let all = [
        ("elsewhere", &elf[..]),
        ("garbage", &garbage),
        ("short", &elf[..elf.len() / 3]),
        ("empty", &[]),
    ];
    for (name, bytes) in all {
        add(name, bytes.len() as u64, bytes)?
    }
    // What it is said to have does not come any more; whatever is behind it is not found.
    add("huge", 8 << 20, b"not much")?;
    add("behind", elf.len() as u64, &elf)?;
    archive.into_inner().map_err(text)
}

fn disk(smp: u32) -> Case {
    let name = format!("ringo-damaged-{}-{smp}.tar", std::process::id());
    let file = File(std::env::temp_dir().join(name));
    Case::new("ring3_net", "ring3_disk")
        .smp(smp)
        .machine(move |machine| {
            // One that cannot be written fails its case: the machine finds no programs.
            drop(damaged().and_then(|bytes| std::fs::write(&file.0, bytes).map_err(text)));
            machine.disk_requests_per_s = None;
            machine.disk = Disk::File(file.0.clone())
        })
}

pub fn cases() -> Vec<Case> {
    let inside = |smp| Case::new("ring3_net", "ring3_net_inside").smp(smp);
    let mut all: Vec<Case> = [1, 2, 4].map(inside).into();
    all.extend([1, 2].map(outside));
    all.extend([1, 2, 4].map(disk));
    all
}
