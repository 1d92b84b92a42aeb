//! Python's HTTP against ours: its client asks our server, our client asks its server, and both servers get the same bytes.

use crate::site::site;
use core::time::Duration;
use embedded_io::{ErrorKind, ErrorType, Read, Write};
use net::http::{Limits, Side, Stream, get};
use std::io::{BufRead, BufReader, Read as _, Write as _};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::process::{Child, Command, Stdio};

struct Tcp(TcpStream);

fn kind(error: std::io::Error) -> ErrorKind {
    match error.kind() {
        std::io::ErrorKind::WouldBlock | std::io::ErrorKind::TimedOut => ErrorKind::TimedOut,
        std::io::ErrorKind::Interrupted => ErrorKind::Interrupted,
        std::io::ErrorKind::ConnectionReset => ErrorKind::ConnectionReset,
        _ => ErrorKind::Other,
    }
}

impl ErrorType for Tcp {
    type Error = ErrorKind;
}

impl Read for Tcp {
    fn read(&mut self, buf: &mut [u8]) -> Result<usize, ErrorKind> {
        self.0.read(buf).map_err(kind)
    }
}

impl Write for Tcp {
    fn write(&mut self, buf: &[u8]) -> Result<usize, ErrorKind> {
        self.0.write(buf).map_err(kind)
    }

    fn flush(&mut self) -> Result<(), ErrorKind> {
        Ok(())
    }
}

impl Stream for Tcp {
    fn deadline(&mut self, side: Side, within: Option<Duration>) {
        let set = match side {
            Side::Read => self.0.set_read_timeout(within),
            Side::Write => self.0.set_write_timeout(within),
        };
        set.unwrap();
    }

    fn close_write(&mut self) {
        let _ = self.0.shutdown(Shutdown::Write);
    }
}

/// Serves on a port of the host, for as long as the test program runs.
fn our_server() -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    std::thread::spawn(move || {
        let server = &site();
        std::thread::scope(|scope| {
            for stream in listener.incoming() {
                let stream = stream.unwrap();
                scope.spawn(move || {
                    let peer = stream.peer_addr().unwrap();
                    server.serve_connection(&mut Tcp(stream), peer, &|| false);
                });
            }
        });
    });
    address
}

/// Python with a script, unless there is none; then it says so, loudly.
fn python(script: &str, argument: &str) -> Option<Child> {
    let child = Command::new("python3")
        .args(["-c", script, argument])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn();
    match child {
        Ok(child) => Some(child),
        Err(error) => {
            eprintln!(
                "\n*** NOT COMPARED WITH PYTHON'S HTTP: python3 cannot be started: {error} ***\n"
            );
            None
        }
    }
}

const CLIENT: &str = r#"
import http.client, sys
c = http.client.HTTPConnection("127.0.0.1", int(sys.argv[1]), timeout=60)
def ask(method, path, body=None, headers={}, **more):
    c.request(method, path, body, headers, **more)
    r = c.getresponse()
    data = r.read()
    text = data.decode() if len(data) < 100 else "%d bytes" % len(data)
    print(method, path, r.status, r.reason, r.getheader("Allow"), repr(text), "closes" if r.will_close else "stays")
ask("GET", "/hello")
ask("HEAD", "/hello")
ask("GET", "/users/7/a/b?q=2")
ask("POST", "/echo", b"some bytes")
ask("POST", "/echo", iter([b"in ", b"three ", b"chunks"]), encode_chunked=True)
ask("PUT", "/echo", b"x" * 500000)
ask("GET", "/chunks")
ask("GET", "/large")
ask("GET", "/empty")
ask("DELETE", "/empty")
ask("GET", "/nowhere")
ask("POST", "/hello", b"not read by anybody")
ask("GET", "/teapot")
ask("GET", "/hello", headers={"Connection": "close"})
ask("GET", "/hello")
ask("BREW", "/hello")
ask("GET", "/hello")
"#;

#[test]
fn pythons_client_asks_our_server() {
    let port = our_server().port().to_string();
    let Some(child) = python(CLIENT, &port) else {
        return;
    };
    let out = child.wait_with_output().unwrap();
    let out = String::from_utf8(out.stdout).unwrap();
    let want = [
        r"GET /hello 200 OK None 'hello\n' stays",
        r"HEAD /hello 200 OK None '' stays",
        &format!("GET /users/7/a/b?q=2 200 OK None '7 a/b 2 127.0.0.1:{port} PORT' stays"),
        r"POST /echo 200 OK None 'some bytes' stays",
        r"POST /echo 200 OK None 'in three chunks' stays",
        r"PUT /echo 201 Created None '500000 bytes' stays",
        r"GET /chunks 200 OK None '20013 bytes' stays",
        r"GET /large 200 OK None '20000 bytes' stays",
        r"GET /empty 200 OK None '' stays",
        r"DELETE /empty 204 No Content None '' stays",
        r"GET /nowhere 404 Not Found None 'Not Found\n' stays",
        r"POST /hello 405 Method Not Allowed GET, HEAD 'Method Not Allowed\n' stays",
        r"GET /teapot 418  None '\n' stays",
        r"GET /hello 200 OK None 'hello\n' closes",
        r"GET /hello 200 OK None 'hello\n' stays",
        r"BREW /hello 501 Not Implemented None 'methods are GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS\n' closes",
        r"GET /hello 200 OK None 'hello\n' stays",
    ];
    let lines: Vec<&str> = out.lines().collect();
    assert_eq!(lines.len(), want.len(), "{out}");
    for (line, want) in lines.iter().zip(want) {
        // The client's own port is whatever it got.
        let want: Vec<&str> = want.split("PORT").collect();
        let fits = line.starts_with(want[0]) && line.ends_with(want[want.len() - 1]);
        assert!(fits, "{line}\nis not\n{want:?}");
    }
}

const SERVER: &str = r#"
import http.server, sys, threading
class Site(http.server.BaseHTTPRequestHandler):
    protocol_version = sys.argv[1]
    def log_message(self, *_): pass
    def do_HEAD(self): self.do_GET()
    def do_GET(self):
        body = {"/hello": b"hello\n", "/empty": b""}.get(self.path)
        if self.path in ("/chunks", "/end"):
            self.send_response(200)
            if self.path == "/chunks": self.send_header("Transfer-Encoding", "chunked")
            else: self.close_connection = True
            self.end_headers()
            for piece in [b"one ", b"two ", b"three" + b"x" * 20000]:
                self.wfile.write(b"%x\r\n%s\r\n" % (len(piece), piece) if self.path == "/chunks" else piece)
            if self.path == "/chunks": self.wfile.write(b"0\r\n\r\n")
            return
        self.send_response(200 if body is not None else 404)
        self.send_header("Content-Length", len(body or b""))
        self.end_headers()
        if self.command != "HEAD": self.wfile.write(body or b"")
    def do_POST(self):
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        self.send_response(200)
        self.send_header("Content-Length", len(body))
        self.end_headers()
        self.wfile.write(body)
server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Site)
print(server.server_address[1], flush=True)
threading.Thread(target=server.serve_forever, daemon=True).start()
sys.stdin.read()
"#;

/// Python's server, which ends when its standard input does.
fn their_server(version: &str) -> Option<(Child, SocketAddr)> {
    let mut child = python(SERVER, version)?;
    let mut line = String::new();
    BufReader::new(child.stdout.take().unwrap())
        .read_line(&mut line)
        .unwrap();
    let port: u16 = line.trim().parse().unwrap();
    Some((child, SocketAddr::from(([127, 0, 0, 1], port))))
}

fn end(mut child: Child) {
    drop(child.stdin.take());
    child.wait().unwrap();
}

#[test]
fn our_client_asks_pythons_server() {
    for version in ["HTTP/1.0", "HTTP/1.1"] {
        let Some((child, address)) = their_server(version) else {
            return;
        };
        let long = 13 + 20_000;
        // Chunks are not for HTTP/1.0, and our client says so.
        let chunks = (version == "HTTP/1.1").then_some((200, long));
        for (path, want) in [
            ("/hello", Some((200, 6))),
            ("/empty", Some((200, 0))),
            ("/end", Some((200, long))),
            ("/nowhere", Some((404, 0))),
            ("/chunks", chunks),
        ] {
            let mut stream = Tcp(TcpStream::connect(address).unwrap());
            let reply = get(&mut stream, &address.to_string(), path, &Limits::default());
            let got = reply.and_then(|mut reply| Ok((reply.status(), reply.read_to_end()?.len())));
            assert_eq!(got.ok(), want, "{version} {path}");
        }
        end(child);
    }
}

/// Statuses and what follows the last head, of all that a server says to these bytes.
fn told(address: SocketAddr, bytes: &str) -> (Vec<String>, bool) {
    let mut stream = TcpStream::connect(address).unwrap();
    stream
        .set_read_timeout(Some(Duration::from_secs(60)))
        .unwrap();
    // A server that has heard enough may have closed already.
    let _ = stream.write_all(bytes.as_bytes());
    let _ = stream.shutdown(Shutdown::Write);
    let mut all = Vec::new();
    // A reset behind the answer is an end too.
    let _ = stream.read_to_end(&mut all);
    let text = String::from_utf8_lossy(&all);
    // Python's answers without head to what it takes for HTTP/0.9, with the status in the page.
    let marks = match text.starts_with("<!DOCTYPE") {
        true => "Error code: ",
        false => "HTTP/1.1 ",
    };
    let codes = text.split(marks).skip(1).filter_map(|rest| rest.get(..3));
    let statuses = codes
        .filter(|code| code.parse::<u16>().is_ok())
        .map(str::to_string);
    (statuses.collect(), text.ends_with("hello\n"))
}

#[test]
fn both_servers_get_the_same() {
    let Some((child, theirs)) = their_server("HTTP/1.1") else {
        return;
    };
    let ours = our_server();
    let h = "\r\nHost: h\r\n";
    let get = format!("GET /hello HTTP/1.1{h}\r\n");
    let (long, fields) = ("a".repeat(66_000), "X: y\r\n".repeat(150));
    let same = [
        get.clone(),
        get.repeat(3),
        format!("HEAD /hello HTTP/1.1{h}\r\n{get}"),
        format!("POST /echo HTTP/1.1{h}Content-Length: 6\r\n\r\nhello\n"),
        format!("POST /echo HTTP/1.1{h}Content-Length: 0\r\n\r\n{get}"),
        "GET /hello HTTP/1.0\r\n\r\n".into(),
        format!("GET /hello HTTP/1.0\r\nConnection: keep-alive\r\n\r\n{get}"),
        format!("GET /hello HTTP/1.1{h}Connection: close\r\n\r\n{get}"),
        format!("GET /nowhere HTTP/1.1{h}\r\n{get}"),
        format!("BREW /hello HTTP/1.1{h}Connection: close\r\n\r\n"),
        format!("GET /hello HTTP/2.0{h}\r\n"),
        format!("GET /hello HTTP/x{h}\r\n"),
        format!("GET /a b HTTP/1.1{h}\r\n"),
        format!("GET /{long} HTTP/1.1{h}\r\n"),
        format!("GET /hello HTTP/1.1{h}{fields}\r\n"),
        format!("GET /hello HTTP/1.1{h}X: {long}\r\n\r\n"),
        String::new(),
    ];
    for bytes in &same {
        let show = &bytes[..bytes.len().min(100)];
        assert_eq!(
            told(ours, bytes),
            told(theirs, bytes),
            "ours and Python's, to {show:?}"
        );
    }
    // Where we differ, and mean it: Python's server takes what can be read in two ways, and bodies that are cut off.
    let strict = [
        (
            format!("POST /echo HTTP/1.1{h}Content-Length: 6\r\nExpect: 100-continue\r\n\r\n"),
            "100",
        ),
        ("GET /hello HTTP/1.1\r\n\r\n".into(), "400"),
        (get.replace("\r\n", "\n"), "400"),
        (format!("GET /hello HTTP/1.1{h}Host: i\r\n\r\n"), "400"),
        (format!("GET /hello HTTP/1.1{h}X : y\r\n\r\n"), "400"),
        (
            format!("POST /echo HTTP/1.1{h}Content-Length: 6\r\nContent-Length: 6\r\n\r\nhello\n"),
            "400",
        ),
        (
            format!("POST /echo HTTP/1.1{h}Content-Length: +6\r\n\r\nhello\n"),
            "400",
        ),
        (format!("GET /hello HTTP/1.1{h}Expect: x\r\n\r\n"), "417"),
    ];
    for (bytes, status) in &strict {
        assert_eq!(told(ours, bytes).0, [*status], "{bytes:?}");
        assert_ne!(told(theirs, bytes).0, [*status], "{bytes:?}");
    }
    end(child);
}
