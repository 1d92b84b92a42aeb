//! The network's demos, started as a user starts them, and the clients that a user has: `curl`, `nc`, `wrk`; and where these cannot
//! show it, a chat over a cable of our own.

use libtest_mimic::Trial;
use std::io::{ErrorKind, Read, Write};
use std::net::{Ipv4Addr, Shutdown, SocketAddrV4, TcpListener, TcpStream};
use std::path::PathBuf;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};
use tests::peer::{Peer, Setup, SocketHandle, Wire};
use tests::{Case, Live, demo, note, patience, run_runner, tools};

/// What a client may wait before its server is hung.
fn hung() -> Duration {
    Duration::from_secs(60 * patience())
}

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
        trial("nc talks in the chat", chat),
        trial("proxy", proxy),
        trial("proxy is told nonsense", no_proxy),
        trial("wget", wget),
    ]
}

pub fn cases() -> Vec<Case> {
    vec![slow_reader().smp(1), slow_reader().smp(2)]
}

/// Runs a client to its end, with something to read: what it prints. `hung` bounds it.
fn client(program: &PathBuf, words: &[&str], input: &[u8]) -> Result<String, String> {
    let mut child = spawn(program, words)?;
    let mut stdin = child.stdin.take().ok_or("no stdin")?;
    let input = input.to_vec();
    // It may be answered before it has sent everything.
    let feeds = thread::spawn(move || drop(stdin.write_all(&input)));
    let reads = child.stdout.take().map(|out| read_all(out));
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
    let line = server.until("its count", |said| {
        let line = said.lines().find(|line| line.ends_with(" requests served"));
        line?.split(' ').next()?.parse::<u64>().ok()
    })?;
    match server.ended()? {
        Some(0) if line >= served => Ok(()),
        status => Err(format!("{line} served of {served}, and status {status:?}")),
    }
}

/// Every kind of request that `curl` makes; how many of them greet.
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
        &["goroutines ", "CPU 2", "served 4", "<200 1>"],
    )?;
    Ok(4)
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

fn chat() -> Result<(), String> {
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
    for (name, answer) in [
        ("ann", "somebody is called ann already\nyour name? "),
        (
            "two words",
            "a name is one word of up to 20 characters\nyour name? ",
        ),
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
            loop {
                let heard = line(&mut peer, talkers[other], &mut seen[other])?;
                if heard == format!("{name}: {said}") {
                    break;
                }
                if heard != "* sloth has left" {
                    return Err(format!("instead of line {lines}: {heard}"));
                }
                break 'talk;
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

fn slow_reader() -> Case {
    let case = Case::new("clients", "chat").named("slow reader");
    let case = case.kernel(|| demo("chat"));
    let case = case.machine(|machine| machine.args = vec!["3".into()]);
    case.peer(converse).says("* sloth has left")
}

/// A server of this process's own for one connection after another, which the machine reaches at 10.0.2.2.
fn serve(
    each: impl Fn(usize, TcpStream) -> std::io::Result<()> + Send + 'static,
    connections: usize,
) -> Result<(u16, thread::JoinHandle<Result<(), String>>), String> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).map_err(text)?;
    let port = listener.local_addr().map_err(text)?.port();
    let serves = move || {
        for i in 0..connections {
            let (stream, _) = listener.accept().map_err(text)?;
            stream.set_read_timeout(Some(hung())).map_err(text)?;
            each(i, stream).map_err(|e| format!("connection {i} of the server here: {e}"))?
        }
        Ok(())
    };
    Ok((port, thread::spawn(serves)))
}

/// Each end is passed on alone, in both directions; 500,000 bytes each way.
fn proxy() -> Result<(), String> {
    let data: Vec<u8> = (0..500_000u32)
        .map(|i| (i.wrapping_mul(i) >> 7) as u8)
        .collect();
    let there = data.clone();
    let each = move |i, mut stream: TcpStream| {
        let mut got = Vec::new();
        if i == 0 {
            // Answers when the client has ended.
            stream.read_to_end(&mut got)?;
            stream.write_all(&got)
        } else {
            // Ends first, and hears the client then.
            stream.write_all(&there)?;
            stream.shutdown(Shutdown::Write)?;
            stream.read_to_end(&mut got)?;
            (got == there)
                .then_some(())
                .ok_or(ErrorKind::InvalidData.into())
        }
    };
    let (port, server) = serve(each, 2)?;
    let target = format!("10.0.2.2:{port}");
    let mut proxy = Live::start("proxy", &["--smp", "2", "--", &target])?;
    let port = proxy.port("port", 8000)?;
    let connect = || -> Result<TcpStream, String> {
        let stream = TcpStream::connect((Ipv4Addr::LOCALHOST, port)).map_err(text)?;
        stream.set_read_timeout(Some(hung())).map_err(text)?;
        Ok(stream)
    };
    let mut got = Vec::new();
    let mut stream = connect()?;
    stream.write_all(&data).map_err(text)?;
    stream.shutdown(Shutdown::Write).map_err(text)?;
    stream.read_to_end(&mut got).map_err(text)?;
    if got != data {
        return Err(format!("{} of {} bytes came back", got.len(), data.len()));
    }
    proxy.says(": 500000 bytes there, 500000 back")?;
    got.clear();
    let mut stream = connect()?;
    stream.read_to_end(&mut got).map_err(text)?;
    if got != data {
        return Err(format!("{} of {} bytes came", got.len(), data.len()));
    }
    stream.write_all(&data).map_err(text)?;
    drop(stream);
    server.join().map_err(|_| "the server here panicked")??;
    // The server has gone.
    got.clear();
    drop(connect()?.read_to_end(&mut got));
    proxy.says(&format!(" to {target}: nobody listens there\n"))
}

fn no_proxy() -> Result<(), String> {
    for (words, says) in [
        (
            &[][..],
            "proxy: it takes one argument, HOST:PORT, such as 10.0.2.2:8080\n",
        ),
        (
            &["nonsense"],
            "proxy: nonsense is not HOST:PORT, such as example.org:80",
        ),
    ] {
        let words = [&["proxy", "--smp", "1", "--"], words].concat();
        run_runner("clients", "proxy", &words, |c| c)?.ended(1, says)?
    }
    Ok(())
}

/// What the server here answers, connection by connection; the last one keeps silent.
const ANSWERS: &[&str] = &[
    "HTTP/1.1 200 OK\r\nContent-Length: 7\r\nX-Odd: ä\r\n\r\nlength\n",
    "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nchun\r\n3\r\nks\n\r\n0\r\n\r\n",
    "HTTP/1.0 200 OK\r\n\r\nto the end\n",
    "HTTP/1.1 302 Found\r\nLocation: other?x=1#y\r\nContent-Length: 5\r\n\r\nnever",
    "HTTP/1.1 301 Moved\r\nLocation: /third\r\nContent-Length: 0\r\n\r\n",
    "HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\nthere\n",
    "HTTP/1.1 302 Found\r\nLocation: https://example.org/\r\nContent-Length: 0\r\n\r\n",
    "HTTP/1.1 404 Not Found\r\nContent-Length: 8\r\n\r\nnowhere\n",
    "HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nfar too short\n",
    "SSH-2.0-not_http\r\n\r\n",
];
/// What is asked for then.
const PATHS: &[&str] = &[
    "/length",
    "/chunks",
    "/end",
    "/a/b?c",
    "/a/other?x=1",
    "/third",
    "/tls",
    "/404",
    "/short",
    "/ssh",
];
/// A loop: so many requests, of which each leads to the next.
const ROUND: usize = 11;

fn wget() -> Result<(), String> {
    let each = |i, mut stream: TcpStream| {
        let mut head = Vec::new();
        while !head.ends_with(b"\r\n\r\n") {
            let mut byte = [0];
            stream.read_exact(&mut byte)?;
            head.push(byte[0])
        }
        let path = PATHS.get(i).unwrap_or(&"/round");
        let line = format!("GET {path} HTTP/1.1\r\n");
        if !head.starts_with(line.as_bytes()) {
            let got = String::from_utf8_lossy(&head).into_owned();
            return Err(std::io::Error::other(format!("not {line:?} but {got:?}")));
        }
        if i == PATHS.len() + ROUND {
            // Silent, until the client has had enough.
            return stream.read(&mut [0]).map(drop);
        }
        let round = &"HTTP/1.1 307 Round\r\nLocation: /round\r\nContent-Length: 0\r\n\r\n";
        stream.write_all(ANSWERS.get(i).unwrap_or(round).as_bytes())
    };
    let (port, server) = serve(each, PATHS.len() + ROUND + 1)?;
    let refused = {
        let closed = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).map_err(text)?;
        format!("10.0.2.2:{}", closed.local_addr().map_err(text)?.port())
    };
    let asked: Vec<String> = [
        "length", "chunks", "end", "a/b?c", "tls", "404", "short", "ssh",
    ]
    .into_iter()
    .chain(["round", "round"])
    .map(|path| format!("http://10.0.2.2:{port}/{path}"))
    .collect();
    let wrong = [
        "https://10.0.2.2/",
        "http://10.0.2.2:0/",
        "http://:80/",
        "http://a@b/",
        "nobody.invalid",
    ];
    let mut words = vec!["wget", "--smp", "2", "--timeout", "300", "--"];
    words.extend(asked.iter().map(String::as_str));
    words.push(&refused);
    words.extend(wrong);
    let run = run_runner("clients", "wget", &words, |c| c)?;
    // Its own word counts only where the client's is right: a wrong request ends the server here.
    let bodies = "length\nchunks\nto the end\nthere\nnowhere\nfar too short\n";
    if run.stdout != bodies {
        return Err(format!(
            "{:?} instead of {bodies:?}; {}",
            run.stdout, run.stderr
        ));
    }
    let at = |i: usize, why: &str| format!("wget: {}: {why}\n", asked[i]);
    for line in [
        "HTTP/1.1 404\n".into(),
        "x-odd: \\xc3\\xa4\n".to_string(),
        at(4, "https:// is not there, only http://"),
        at(5, "the server answers 404"),
        at(6, "the response was cut off"),
        at(7, "the response is not HTTP/1.1"),
        at(8, "more than 10 redirections"),
        at(9, "nothing came for 10s"),
        format!("wget: {refused}: {refused}: nobody listens there\n"),
        "wget: https://10.0.2.2/: https:// is not there, only http://\n".into(),
        "wget: http://10.0.2.2:0/: 0 is no port, from 1 to 65535\n".into(),
        "wget: http://:80/: it has no host: http://HOST/PATH\n".into(),
        "wget: http://a@b/: a host is a name or an IPv4 address\n".into(),
        // Its answer depends on the name server of this computer.
        "wget: nobody.invalid: nobody.invalid: ".into(),
    ] {
        let line = line.trim_end();
        if !run.stderr.to_lowercase().contains(&line.to_lowercase()) {
            return Err(format!("no {line:?} in {}", run.stderr));
        }
    }
    run.ended(1, "")?;
    server.join().map_err(|_| "the server here panicked")?
}
