//! A web server, HTTP/1.1 with keep-alive, a thread for each connection. `httpd [PORT]`: 80 if not said.
#![no_std]
#![no_main]
use core::sync::atomic::{AtomicU64, Ordering::Relaxed};
use httparse::{EMPTY_HEADER, Request, Status};
use rt::machine::{cpu, process_id, thread_id};
use rt::net::{TcpListener, TcpStream};
use rt::prelude::*;
use rt::thread::Builder;
rt::main!(main);

/// Longest head of a request.
const HEAD_MAX_BYTES: usize = 4096;
/// Most header fields of a request.
const FIELDS: usize = 32;

static SERVED: AtomicU64 = AtomicU64::new(0);

/// What a request asks for.
struct Asked {
    /// Bytes of its head and body.
    bytes: usize,
    status: &'static str,
    body: String,
    keep_alive: bool,
    /// Whether the body is sent, not only its length.
    with_body: bool,
}

/// The first request of `bytes`; `None`: there is more to come.
fn asked(bytes: &[u8]) -> Option<Asked> {
    let mut fields = [EMPTY_HEADER; FIELDS];
    let mut request = Request::new(&mut fields);
    let head = match request.parse(bytes) {
        Ok(Status::Complete(head)) => head,
        Ok(Status::Partial) if bytes.len() < HEAD_MAX_BYTES => return None,
        _ => return Some(refused("400 Bad Request")),
    };
    let field = |name: &str| {
        let found = request
            .headers
            .iter()
            .find(|f| f.name.eq_ignore_ascii_case(name));
        found.map(|f| core::str::from_utf8(f.value).unwrap_or(""))
    };
    // No request that is served here has a body; one that says so would be read as the next request.
    if field("transfer-encoding").is_some() || field("content-length").is_some_and(|n| n != "0") {
        return Some(refused("413 Content Too Large"));
    }
    let keep_alive = match field("connection") {
        Some(word) if word.eq_ignore_ascii_case("close") => false,
        Some(word) if word.eq_ignore_ascii_case("keep-alive") => true,
        _ => request.version == Some(1),
    };
    let path = request.path.unwrap_or("/").split('?').next().unwrap_or("/");
    let method = request.method.unwrap_or("");
    let (status, body) = match (method, path) {
        ("GET" | "HEAD", "/") => ("200 OK", state()),
        ("GET" | "HEAD", "/hello") => ("200 OK", hello()),
        ("GET" | "HEAD", _) => ("404 Not Found", "404 Not Found\n".to_string()),
        _ => (
            "405 Method Not Allowed",
            "405 Method Not Allowed\n".to_string(),
        ),
    };
    Some(Asked {
        bytes: head,
        status,
        body,
        keep_alive,
        with_body: method != "HEAD",
    })
}

/// What is answered where the connection cannot be read any further.
fn refused(status: &'static str) -> Asked {
    let body = format!("{status}\n");
    Asked {
        bytes: 0,
        status,
        body,
        keep_alive: false,
        with_body: true,
    }
}

fn state() -> String {
    format!(
        "process {}\nserved {}\n",
        process_id(),
        SERVED.load(Relaxed)
    )
}

fn hello() -> String {
    format!(
        "hello from goroutine {} of process {} on CPU {}\n",
        thread_id(),
        process_id(),
        cpu()
    )
}

fn answer(asked: &Asked) -> String {
    let Asked { status, body, .. } = asked;
    let connection = if asked.keep_alive {
        "keep-alive"
    } else {
        "close"
    };
    let length = body.len();
    let body = if asked.with_body { body } else { "" };
    format!(
        "HTTP/1.1 {status}\r\nContent-Type: text/plain\r\nContent-Length: {length}\r\nConnection: {connection}\r\n\r\n{body}"
    )
}

/// Answers requests until the other side is done.
fn serve(stream: TcpStream) -> rt::Result<()> {
    let mut buffer = vec![0; HEAD_MAX_BYTES];
    let mut filled = 0;
    loop {
        match stream.read(&mut buffer[filled..])? {
            0 => return Ok(()),
            n => filled += n,
        }
        while let Some(asked) = asked(&buffer[..filled]) {
            stream.write_all(answer(&asked).as_bytes())?;
            SERVED.fetch_add(1, Relaxed);
            if !asked.keep_alive {
                return Ok(());
            }
            buffer.copy_within(asked.bytes..filled, 0);
            filled -= asked.bytes;
        }
    }
}

fn main() -> rt::Result<()> {
    let port = rt::args::number(0, "port", 80, 0..=65_535) as u16;
    let listener = TcpListener::bind(port)?;
    println!("a web server, at port {} of this machine", listener.port()?);
    loop {
        match listener.accept() {
            // A connection that breaks, or that there is no thread for, concerns nobody else.
            Ok(stream) => _ = Builder::new().go(|| _ = serve(stream)),
            // As many as there may be: some will end.
            Err(rt::Error::Limit | rt::Error::OutOfMemory) => sleep(Duration::from_millis(10)),
            Err(e) => return Err(e),
        }
    }
}
