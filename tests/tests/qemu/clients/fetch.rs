//! What others serve, fetched by the machine or through it.

use super::{hung, text};
use nix::sys::socket as raw;
use std::io::{ErrorKind, Read, Write};
use std::net::{Ipv4Addr, Shutdown, TcpListener, TcpStream};
use std::os::fd::{AsRawFd, OwnedFd};
use std::thread;
use tests::{Live, run_runner};

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
        // Nobody listens from here on: a child that another test starts now holds a copy of the socket until its `exec`.
        raw::shutdown(listener.as_raw_fd(), raw::Shutdown::Read).map_err(|e| e.to_string())
    };
    Ok((port, thread::spawn(serves)))
}

/// A port of this computer that nobody listens at, and that nobody else gets while the socket lives.
fn nobody() -> nix::Result<(u16, OwnedFd)> {
    let (kind, flags) = (raw::SockType::Stream, raw::SockFlag::SOCK_CLOEXEC);
    let socket = raw::socket(raw::AddressFamily::Inet, kind, flags, None)?;
    raw::bind(socket.as_raw_fd(), &raw::SockaddrIn::new(127, 0, 0, 1, 0))?;
    let at: raw::SockaddrIn = raw::getsockname(socket.as_raw_fd())?;
    Ok((at.port(), socket))
}

/// Each end is passed on alone, in both directions; 500,000 bytes each way.
pub fn proxy() -> Result<(), String> {
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

/// Each with a line that says what would be right.
pub fn no_proxy() -> Result<(), String> {
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

/// Every way of telling where a body ends, redirections, and all that can go wrong.
pub fn wget() -> Result<(), String> {
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
    let (refused, _kept) = nobody().map_err(|e| e.to_string())?;
    let refused = format!("10.0.2.2:{refused}");
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
        at(9, "nothing came in time"),
        format!("wget: {refused}: nobody listens there\n"),
        "wget: https://10.0.2.2/: https:// is not there, only http://\n".into(),
        "wget: http://10.0.2.2:0/: 0 is no port, from 1 to 65535\n".into(),
        "wget: http://:80/: it has no host: http://HOST/PATH\n".into(),
        "wget: http://a@b/: a host is a name or an IPv4 address\n".into(),
        // Its answer depends on the name server of this computer.
        "wget: nobody.invalid: ".into(),
    ] {
        let line = line.trim_end();
        if !run.stderr.to_lowercase().contains(&line.to_lowercase()) {
            return Err(format!("no {line:?} in {}", run.stderr));
        }
    }
    run.ended(1, "")?;
    server.join().map_err(|_| "the server here panicked")?
}
