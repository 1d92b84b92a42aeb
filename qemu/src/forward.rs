//! Forwarded ports: connections to a port of this system, from this system alone, reach one of the machine's.
//!
//! Without `--forward` the runner forwards by itself what a program on QEMU's own network listens on: the kernel tells of
//! each listener (`{"event":"listen","proto":"tcp","port":80}` on the control channel), the monitor adds the rule.

use std::fmt;
use std::io::ErrorKind;
use std::net::{Ipv4Addr, TcpListener, UdpSocket};

use serde_json::{Value, json};

use crate::qmp::Monitor;
use crate::{Failure, Result};

/// Ports that are looked at for one that is free.
const LOOKS: u16 = 20;
/// What only root may listen on here begins so much higher.
const PRIVILEGED: u16 = 1024;
const RAISE: u16 = 8000;

/// A forwarded port.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Forward {
    /// UDP, not TCP.
    pub udp: bool,
    /// The port of this system.
    pub host: u16,
    /// The port of the machine.
    pub guest: u16,
}

/// What became of a listener of the machine's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Followed {
    /// The event is none of a listener, or the port is forwarded already.
    Nothing,
    /// It is forwarded from now on.
    Forwarded(Forward),
    /// No port of this system is to be had for it; the first that was tried.
    NoPort(Forward),
}

impl Followed {
    /// For people, if there is something to say.
    pub fn line(&self) -> Option<String> {
        match self {
            Followed::Nothing => None,
            Followed::Forwarded(forward) => Some(forward.line()),
            Followed::NoPort(wanted) => Some(wanted.no_port()),
        }
    }
}

/// As it is given.
impl fmt::Display for Forward {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let proto = if self.udp { "udp:" } else { "" };
        write!(f, "{proto}{}:{}", self.host, self.guest)
    }
}

impl Forward {
    /// `[udp:|tcp:]HOST:GUEST`.
    ///
    /// # Errors
    /// It is something else.
    pub fn parse(text: &str) -> Result<Forward> {
        let (udp, ports) = match text.split_once(':') {
            Some(("udp", ports)) => (true, ports),
            Some(("tcp", ports)) => (false, ports),
            _ => (false, text),
        };
        let port = |text: &str| {
            text.parse()
                .ok()
                .filter(|port| *port != 0 && !text.starts_with('+'))
        };
        let ports = ports.split_once(':');
        let ports = ports.and_then(|(host, guest)| Some((port(host)?, port(guest)?)));
        let (host, guest) = ports.ok_or_else(|| {
            Failure::new(format!(
                "--forward {text}: it is HOST:GUEST or udp:HOST:GUEST, two ports from 1 to 65535, such as 8080:80"
            ))
        })?;
        Ok(Forward { udp, host, guest })
    }

    /// Several of them.
    ///
    /// # Errors
    /// As [`Forward::parse`], or a port of this system stands there twice.
    pub fn parse_all(texts: &[String]) -> Result<Vec<Forward>> {
        let mut all: Vec<Forward> = Vec::new();
        for text in texts {
            let next = Forward::parse(text)?;
            if let Some(same) = all
                .iter()
                .find(|f| (f.udp, f.host) == (next.udp, next.host))
            {
                return Err(Failure::new(format!(
                    "--forward {next}: port {} goes to port {} already; each port of this system goes to one",
                    next.host, same.guest
                )));
            }
            all.push(next)
        }
        Ok(all)
    }

    fn bind(&self) -> std::io::Result<()> {
        let at = (Ipv4Addr::LOCALHOST, self.host);
        if self.udp {
            UdpSocket::bind(at).map(drop)
        } else {
            TcpListener::bind(at).map(drop)
        }
    }

    /// Whether the port of this system is free: QEMU's own word for it is hard to read.
    ///
    /// # Errors
    /// It is not, or not for this user.
    pub fn check_free(&self) -> Result<()> {
        let Err(error) = self.bind() else {
            return Ok(());
        };
        let port = self.host;
        let cure = match error.kind() {
            ErrorKind::AddrInUse => "is taken",
            ErrorKind::PermissionDenied => "is root's",
            _ => {
                return Err(Failure::new(format!(
                    "--forward {self}: port {port}: {error}"
                )));
            }
        };
        let other = Forward {
            host: default_host(self.guest),
            ..*self
        };
        let other = other.free_from();
        let other = other.map_or(String::new(), |other| {
            format!(", such as --forward {other}")
        });
        Err(Failure::new(format!(
            "--forward {self}: port {port} of this system {cure}; take another{other}"
        )))
    }

    /// This one, or the next whose port here is free.
    fn free_from(self) -> Option<Forward> {
        self.all_free_from().next()
    }

    fn all_free_from(self) -> impl Iterator<Item = Forward> {
        let ports = (0..LOOKS).filter_map(move |i| self.host.checked_add(i));
        let all = ports.map(move |host| Forward { host, ..self });
        all.filter(|forward| forward.bind().is_ok())
    }

    /// In QEMU's spelling.
    pub fn rule(&self) -> String {
        let proto = if self.udp { "udp" } else { "tcp" };
        format!("{proto}:127.0.0.1:{}-:{}", self.host, self.guest)
    }

    /// For people.
    pub fn line(&self) -> String {
        let proto = if self.udp { "UDP port" } else { "port" };
        format!(
            "ringo: localhost:{} is forwarded to {proto} {}\n",
            self.host, self.guest
        )
    }

    /// For scripts.
    pub fn event(&self) -> Value {
        let proto = if self.udp { "udp" } else { "tcp" };
        json!({"event": "forward", "proto": proto, "host": self.host, "guest": self.guest})
    }

    /// Forwards what the machine has begun to listen on.
    pub fn follow(event: &Value, known: &[Forward], monitor: &mut Monitor) -> Followed {
        let Some(wanted) = Forward::of_event(event) else {
            return Followed::Nothing;
        };
        let same = |f: &Forward| (f.udp, f.guest) == (wanted.udp, wanted.guest);
        if known.iter().any(same) {
            return Followed::Nothing;
        }
        // Another machine may take a port between the look and the rule: then the next.
        let done = wanted.all_free_from().find(|forward| {
            let said = monitor.human(&format!("hostfwd_add net {}", forward.rule()), 0);
            said.is_some_and(|said| said.trim().is_empty())
        });
        done.map_or(Followed::NoPort(wanted), Followed::Forwarded)
    }

    /// For people: what the machine listens on, and nobody can reach.
    fn no_port(&self) -> String {
        let proto = if self.udp { "UDP port" } else { "port" };
        let last = self.host.saturating_add(LOOKS - 1);
        let udp = if self.udp { "udp:" } else { "" };
        format!(
            "ringo: the program listens on {proto} {guest}, and none of the ports {first} to {last} of this system can be forwarded to it; give another, such as --forward {udp}{other}:{guest}\n",
            guest = self.guest,
            first = self.host,
            other = last.saturating_add(1),
        )
    }

    fn of_event(event: &Value) -> Option<Forward> {
        if event["event"] != "listen" {
            return None;
        }
        let guest = u16::try_from(event["port"].as_u64()?).ok()?;
        (guest != 0).then(|| Forward {
            udp: event["proto"] == "udp",
            host: default_host(guest),
            guest,
        })
    }
}

/// The port here for one of the machine: 8080 for 80.
fn default_host(guest: u16) -> u16 {
    if guest < PRIVILEGED {
        guest + RAISE
    } else {
        guest
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_said_of_a_listener() {
        let wanted = Forward {
            udp: true,
            host: 8053,
            guest: 53,
        };
        assert_eq!(Followed::Nothing.line(), None);
        assert_eq!(Followed::Forwarded(wanted).line(), Some(wanted.line()));
        assert_eq!(
            Followed::NoPort(wanted).line().unwrap(),
            "ringo: the program listens on UDP port 53, and none of the ports 8053 to 8072 of this system can be forwarded to it; give another, such as --forward udp:8073:53\n"
        );
    }

    fn line(text: &str) -> String {
        Forward::parse(text).unwrap_err().line
    }

    #[test]
    fn forms() {
        let tcp = Forward {
            udp: false,
            host: 8080,
            guest: 80,
        };
        assert_eq!(Forward::parse("8080:80").unwrap(), tcp);
        assert_eq!(Forward::parse("tcp:8080:80").unwrap(), tcp);
        assert_eq!(tcp.rule(), "tcp:127.0.0.1:8080-:80");
        assert_eq!(
            tcp.line(),
            "ringo: localhost:8080 is forwarded to port 80\n"
        );
        let udp = Forward::parse("udp:9000:7").unwrap();
        assert_eq!(
            (udp.rule().as_str(), udp.to_string().as_str()),
            ("udp:127.0.0.1:9000-:7", "udp:9000:7")
        );
        assert_eq!(
            udp.line(),
            "ringo: localhost:9000 is forwarded to UDP port 7\n"
        );
        assert_eq!(
            udp.event(),
            json!({"event": "forward", "proto": "udp", "host": 9000, "guest": 7})
        );
        for bad in [
            "", "80", "80:", ":80", "0:80", "80:0", "80:65536", "a:b", "1:2:3", "sctp:1:2", "-1:80",
        ] {
            assert!(line(bad).contains("HOST:GUEST or udp:HOST:GUEST"), "{bad}");
        }
    }

    #[test]
    fn several() {
        let parse = |texts: &[&str]| {
            Forward::parse_all(&texts.iter().map(|t| t.to_string()).collect::<Vec<_>>())
        };
        assert_eq!(
            parse(&["8080:80", "udp:8080:80", "8081:80"]).unwrap().len(),
            3
        );
        let line = parse(&["8080:80", "8080:81"]).unwrap_err().line;
        assert!(
            line.starts_with("--forward 8080:81: port 8080 goes to port 80 already"),
            "{line}"
        );
    }

    #[test]
    fn taken() {
        let holder = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let host = holder.local_addr().unwrap().port();
        let forward = Forward {
            udp: false,
            host,
            guest: 80,
        };
        let line = forward.check_free().unwrap_err().line;
        assert!(
            line.starts_with(&format!(
                "--forward {host}:80: port {host} of this system is taken; take another"
            )),
            "{line}"
        );
        assert_ne!(forward.free_from().map(|f| f.host), Some(host));
    }

    #[test]
    fn of_listeners() {
        let of = |event: Value| Forward::of_event(&event);
        let forward = of(json!({"event": "listen", "proto": "tcp", "port": 80})).unwrap();
        assert_eq!(
            forward,
            Forward {
                udp: false,
                host: 8080,
                guest: 80
            }
        );
        let forward = of(json!({"event": "listen", "proto": "udp", "port": 5000})).unwrap();
        assert_eq!(
            forward,
            Forward {
                udp: true,
                host: 5000,
                guest: 5000
            }
        );
        for bad in [
            json!({"event": "main"}),
            json!({"event": "listen"}),
            json!({"event": "listen", "port": 70000}),
            json!({"event": "listen", "port": 0}),
        ] {
            assert_eq!(of(bad), None);
        }
    }
}
