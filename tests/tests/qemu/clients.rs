//! The network's demos, started as a user starts them, and the clients that a user has: `curl`, `nc`, `wrk`; and where these cannot
//! show it, a chat over a cable of our own.

mod chat;
mod fetch;
mod named;

use libtest_mimic::Trial;
use std::io::{Read, Write};
use std::net::{Ipv4Addr, TcpStream};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};
use tests::{Case, Live, hung, note, tools};

fn text(error: std::io::Error) -> String {
    error.to_string()
}

pub fn trials() -> Vec<Trial> {
    let trial = |name: &str, run: fn() -> Result<(), String>| {
        Trial::test(format!("clients::{name}"), move || {
            run().map_err(Into::into)
        })
    };
    vec![
        trial("curl, nc and wrk talk to http", web),
        trial("nc talks to echo", echo),
        trial("nc talks in the chat", chat::typed),
        trial("proxy", fetch::proxy),
        trial("proxy is told nonsense", fetch::no_proxy),
        trial("wget", fetch::wget),
    ]
}

pub fn cases() -> Vec<Case> {
    vec![
        chat::slow_reader().smp(1),
        chat::slow_reader().smp(2),
        named::wget(),
    ]
}

/// Runs a client to its end, with something to read: what it prints. `hung` bounds it.
fn client(program: &PathBuf, words: &[&str], input: &[u8]) -> Result<String, String> {
    let mut child = spawn(program, words)?;
    let mut stdin = child.stdin.take().ok_or("no stdin")?;
    let input = input.to_vec();
    // It may be answered before it has sent everything.
    let feeds = thread::spawn(move || drop(stdin.write_all(&input)));
    let reads = child.stdout.take().map(read_all);
    let begin = Instant::now();
    while child.try_wait().map_err(text)?.is_none() {
        if begin.elapsed() > hung() {
            drop(child.kill());
            drop(child.wait());
            return Err(format!("{} {words:?} hangs", program.display()));
        }
        thread::sleep(Duration::from_millis(5))
    }
    drop(feeds.join());
    let out = reads.map(|reads| reads.join().unwrap_or_default());
    Ok(out.unwrap_or_default())
}

fn spawn(program: &PathBuf, words: &[&str]) -> Result<Child, String> {
    let mut command = Command::new(program);
    command.args(words).stdin(Stdio::piped());
    command.stdout(Stdio::piped()).stderr(Stdio::inherit());
    // What a user's proxy and configuration would change.
    command.env("no_proxy", "*").env("HOME", "/nonexistent");
    command
        .spawn()
        .map_err(|e| format!("cannot run {}: {e}", program.display()))
}

fn read_all(mut from: impl Read + Send + 'static) -> thread::JoinHandle<String> {
    thread::spawn(move || {
        let mut bytes = Vec::new();
        drop(from.read_to_end(&mut bytes));
        String::from_utf8_lossy(&bytes).replace('\r', "")
    })
}

/// `got` has each of these in it, in this order.
fn in_order(what: &str, got: &str, wanted: &[&str]) -> Result<(), String> {
    let mut rest = got;
    for one in wanted {
        match rest.split_once(one) {
            Some((_, after)) => rest = after,
            None => {
                return Err(format!(
                    "{what}: no {one:?}, where it should be, in {got:?}"
                ));
            }
        }
    }
    Ok(())
}

/// The web server: what was served is counted there and here.
fn web() -> Result<(), String> {
    let mut server = Live::start("http", &["--smp", "2"])?;
    let port = server.port("port", 80)?;
    let mut served = 0;
    if let Some(curl) = tools::or_note("curl against http", tools::curl()) {
        served += browse(&curl, port)?
    }
    if let Some(nc) = tools::or_note("nc against http", tools::netcat()) {
        let ask = |name, more| format!("GET /hello/{name} HTTP/1.1\r\nHost: x\r\n{more}\r\n");
        let three = [
            ask("a", ""),
            ask("b", ""),
            ask("c", "Connection: close\r\n"),
        ]
        .concat();
        let got = client(&nc, &["localhost", &port.to_string()], three.as_bytes())?;
        let wanted = [
            "200 OK", "hello a,", "200 OK", "hello b,", "200 OK", "hello c,",
        ];
        in_order("pipelined", &got, &wanted)?;
        served += 3
    }
    if let Some(wrk) = tools::or_note("wrk against http", tools::wrk()) {
        load(&wrk, port)?
    } else {
        // The count at the end is known only without it.
        note(format!("clients: {served} requests without wrk"))
    }
    stop(port)?;
    served += 1;
    let line = server.until("its count", |said| {
        let line = said.lines().find(|line| line.ends_with(" requests served"));
        line?.split(' ').next()?.parse::<u64>().ok()
    })?;
    match server.ended()? {
        Some(0) if line >= served => Ok(()),
        status => Err(format!("{line} served of {served}, and status {status:?}")),
    }
}

/// Every kind of request that `curl` makes; how many of them are served, which the one with the large head is not.
fn browse(curl: &PathBuf, port: u16) -> Result<u64, String> {
    let url = |path: &str| format!("http://localhost:{port}{path}");
    let ask = |words: &[&str], urls: &[&str]| {
        let urls: Vec<String> = urls.iter().map(|path| url(path)).collect();
        let urls = urls.iter().map(String::as_str);
        let format = ["-s", "-w", "<%{http_code} %{num_connects}>\n"];
        let words: Vec<&str> = format.iter().chain(words).copied().chain(urls).collect();
        client(curl, &words, b"")
    };
    let two = ask(&[], &["/hello/one", "/hello/two"])?;
    in_order(
        "two on a connection",
        &two,
        &["hello one,", "<200 1>", "hello two,", "<200 0>"],
    )?;
    let head = ask(&["-I"], &["/"])?.to_lowercase();
    in_order(
        "HEAD",
        &head,
        &["http/1.1 200 ok", "content-length: ", "\n\n<200 1>"],
    )?;
    let post = ask(&["-i", "-d", "x=1"], &["/"])?;
    in_order(
        "POST",
        &post,
        &["405 Method Not Allowed", "Allow: ", "GET", "<405 1>"],
    )?;
    in_order("nowhere", &ask(&[], &["/nowhere"])?, &["<404 1>"])?;
    let large = format!("X-Large: {}", "a".repeat(20_000));
    in_order("a large head", &ask(&["-H", &large], &["/"])?, &["<431 1>"])?;
    in_order(
        "HTTP/1.0",
        &ask(&["-0"], &["/hello/old"])?,
        &["hello old,", "<200 1>"],
    )?;
    in_order(
        "state",
        &ask(&[], &["/state"])?,
        &["goroutines ", "CPU 2", "served 7", "<200 1>"],
    )?;
    Ok(7)
}

/// As fast as one connection goes, for a moment.
fn load(wrk: &PathBuf, port: u16) -> Result<(), String> {
    let url = format!("http://localhost:{port}/");
    let got = client(wrk, &["-t1", "-c1", "-d1s", &url], b"")?;
    let rate = got
        .lines()
        .find_map(|line| line.strip_prefix("Requests/sec:"));
    let rate: f64 = rate
        .and_then(|rate| rate.trim().parse().ok())
        .ok_or_else(|| format!("wrk counts nothing: {got}"))?;
    if rate <= 0.0 || got.contains("Socket errors") || got.contains("Non-2xx") {
        return Err(format!("wrk is not content: {got}"));
    }
    note(format!(
        "clients: wrk, 1 connection, a forwarded port: {rate:.0} requests/s"
    ));
    Ok(())
}

/// Ends the web server. The answer may be lost with the machine.
fn stop(port: u16) -> Result<(), String> {
    let mut stream = TcpStream::connect((Ipv4Addr::LOCALHOST, port)).map_err(text)?;
    stream
        .write_all(b"POST /stop HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\n\r\n")
        .map_err(text)?;
    stream.set_read_timeout(Some(hung())).map_err(text)?;
    drop(stream.read(&mut [0; 512]));
    Ok(())
}

fn echo() -> Result<(), String> {
    let Some(nc) = tools::or_note("nc against echo", tools::netcat()) else {
        return Ok(());
    };
    let mut server = Live::start("echo", &["--smp", "2"])?;
    let tcp = server.port("port", 7)?.to_string();
    let long: String = (0..30_000).map(|i| format!("{i}\n")).collect();
    for sent in ["hello\n", &long] {
        let got = client(&nc, &["-N", "localhost", &tcp], sent.as_bytes())?;
        if got != sent {
            return Err(format!("{} bytes, {} came back", sent.len(), got.len()));
        }
    }
    let udp = server.port("UDP port", 7)?.to_string();
    let got = client(&nc, &["-u", "-W", "1", "127.0.0.1", &udp], b"a datagram\n")?;
    match got.as_str() {
        "a datagram\n" => Ok(()),
        other => Err(format!("another datagram came back: {other:?}")),
    }
}
