//! Fetches from the web: `cargo run -- wget -- http://10.0.2.2:8000/file`; bodies to stdout, what else there is to say to stderr.
//!
//! Names are looked up over QEMU's network, at the name server of the computer that QEMU runs on; this computer is 10.0.2.2. Each
//! wait has its limit, so that it ends whatever the other side does: for the connection, for the head of the response, and for
//! each piece of the body. Several URLs are fetched one after another; the exit status is 1 if one of them failed.
#![no_std]
#![no_main]
use ringo::net::ToSocketAddrs;
use ringo::net::http::{Limits, get};
use ringo::prelude::*;
ringo::main!(main);

const REDIRECTS: u32 = 10;
/// So long may the other side keep silent.
const SILENCE: Duration = Duration::from_secs(10);
const PIECE_BYTES: usize = 1024;

/// What is asked for, and whom.
struct Url {
    /// As it stands in the URL, HOST or HOST:PORT.
    host: String,
    /// Begins with a slash.
    path: String,
}

impl Url {
    /// `[http://]HOST[:PORT][/PATH][?QUERY]`
    fn parse(text: &str) -> Result<Url, String> {
        let text = text.split('#').next().unwrap_or_default();
        let rest = match text.split_once("://") {
            None => text,
            Some((scheme, rest)) if scheme.eq_ignore_ascii_case("http") => rest,
            Some((scheme, _)) => return Err(format!("{scheme}:// is not there, only http://")),
        };
        let (host, path) = rest.split_at(rest.find(['/', '?']).unwrap_or(rest.len()));
        let url = Url {
            host: host.to_string(),
            path: path.to_string(),
        };
        let port = url.address().1;
        match port.parse::<u16>() {
            _ if url.address().0.is_empty() => Err("it has no host: http://HOST/PATH".to_string()),
            _ if host.contains(['@', '[']) => {
                Err("a host is a name or an IPv4 address".to_string())
            }
            Err(_) | Ok(0) => Err(format!("{port} is no port, from 1 to 65535")),
            Ok(_) if path.starts_with('/') => Ok(url),
            Ok(_) => Ok(Url {
                path: format!("/{path}"),
                ..url
            }),
        }
    }

    /// Host and port.
    fn address(&self) -> (&str, &str) {
        self.host.rsplit_once(':').unwrap_or((&self.host, "80"))
    }

    /// Where this leads to from here.
    fn join(&self, location: &str) -> Result<Url, String> {
        let Url { host, path } = self;
        let path = path.split('?').next().unwrap_or_default();
        let folder = path.rfind('/').map_or("/", |at| &path[..=at]);
        match location {
            _ if location.contains("://") => Url::parse(location),
            _ if location.starts_with("//") => Url::parse(&location[2..]),
            _ if location.starts_with('/') => Url::parse(&format!("{host}{location}")),
            _ if location.starts_with('?') => Url::parse(&format!("{host}{path}{location}")),
            _ => Url::parse(&format!("{host}{folder}{location}")),
        }
    }
}

fn connect(url: &Url) -> Result<TcpStream, String> {
    let (name, port) = url.address();
    let port: u16 = port.parse().unwrap_or_default();
    let found = (name, port).to_socket_addrs();
    let found = found.map_err(|error| error.to_string())?;
    let mut why = String::new();
    for at in found {
        match TcpStream::connect_timeout(at, SILENCE) {
            Ok(stream) => return Ok(stream),
            // An address stands in the URL already.
            Err(error) if name.parse() == Ok(*at.ip()) => why = error.to_string(),
            Err(error) => why = format!("{at}: {error}"),
        }
    }
    Err(why)
}

/// One request. Some: it is elsewhere.
fn ask(url: &Url) -> Result<Option<Url>, String> {
    let stream = connect(url)?;
    let limit = || stream.set_read_deadline(Some(Instant::now() + SILENCE));
    stream.set_write_deadline(Some(Instant::now() + SILENCE));
    let limits = Limits {
        body_bytes: usize::MAX,
        ..Limits::default()
    };
    limit();
    let mut wire = &stream;
    let mut reply =
        get(&mut wire, &url.host, &url.path, &limits).map_err(|error| error.to_string())?;
    let status = reply.status();
    eprintln!("HTTP/1.1 {status}");
    for (name, value) in reply.fields().iter() {
        eprintln!("{name}: {}", value.escape_ascii())
    }
    let location = reply.fields().get("location");
    let location = location.and_then(|value| core::str::from_utf8(value).ok());
    if let (301 | 302 | 303 | 307 | 308, Some(location)) = (status, location) {
        return url.join(location).map(Some);
    }
    let mut piece = [0; PIECE_BYTES];
    loop {
        limit();
        match reply.read(&mut piece).map_err(|error| error.to_string())? {
            0 => break,
            n => ringo::print::bytes_to_console(&piece[..n]),
        }
    }
    match status {
        400.. => Err(format!("the server answers {status}")),
        _ => Ok(None),
    }
}

fn fetch(url: &str) -> Result<(), String> {
    // Once it has led elsewhere, errors are about what nobody has typed.
    let (mut url, mut named) = (Url::parse(url)?, true);
    for _ in 0..=REDIRECTS {
        let place = |why| match named {
            true => why,
            false => format!("{}: {why}", url.host),
        };
        match ask(&url).map_err(place)? {
            Some(next) => (url, named) = (next, false),
            None => return Ok(()),
        }
    }
    Err(format!("more than {REDIRECTS} redirections"))
}

fn main() {
    if args().len() == 0 {
        eprintln!("wget: it takes URLs, such as http://10.0.2.2:8000/file");
        exit(1)
    }
    let mut failed = 0;
    for url in args() {
        if let Err(why) = fetch(&url) {
            eprintln!("wget: {url}: {why}");
            failed = 1
        }
    }
    exit(failed)
}
