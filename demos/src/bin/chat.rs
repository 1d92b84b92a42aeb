//! A chat at port 4000, shown on the console as well: `nc localhost 4000` in several terminals; a name, then lines, `/who`, `/bye`.
//! `-- N`: ends when N guests have come and gone.
//!
//! ```text
//!  a guest: one goroutine reads ──Join, Say, Leave──► the room ──lines──► another goroutine writes
//! ```
//! The list of guests belongs to one goroutine, the room. Others send it events; so there is no lock. And the room never waits:
//! each guest has a channel with place for some lines, and whose channel is full is too slow for this company, and is shown
//! out. Who does not read costs memory for `LINES` lines, and nobody else a moment. Who talks too much is slowed down by TCP:
//! lines are read no faster than one each `PAUSE`.
#![no_std]
#![no_main]
extern crate alloc;
use alloc::collections::BTreeMap;
use ringo::net::{Error, Result};
use ringo::prelude::*;
ringo::main!(main);

/// Lines that may wait for a guest.
const LINES: usize = 256;
/// Longer ones are cut in two.
const LINE_BYTES: usize = 400;
const NAME_CHARS: usize = 20;
const GUESTS: usize = 1000;
const PAUSE: Duration = Duration::from_millis(10);
/// Time for a name.
const SHY: Duration = Duration::from_secs(60);
/// After so long a silence a guest's computer is asked whether it is still there.
const ASK: Duration = Duration::from_secs(30);

type Line = Arc<str>;

/// What guests tell the room, each with its name.
enum Event {
    /// Answered by whether the name was free.
    Join(String, Arc<Guest>, Sender<bool>),
    Say(String, String),
    Who(String),
    Leave(String),
}

/// How to reach a guest.
struct Guest {
    lines: Sender<Line>,
    stream: TcpStream,
}

impl Guest {
    fn tell(&self, line: Line) {
        // Too slow: without a connection both its goroutines end, and one of them says that it leaves.
        if self.lines.try_send(line).is_err() {
            self.stream.close()
        }
    }
}

#[derive(Default)]
struct Room(BTreeMap<String, Arc<Guest>>);

impl Room {
    fn live(mut self, events: Receiver<Event>) {
        for event in events {
            match event {
                Event::Join(name, guest, answer) => {
                    let free = !self.0.contains_key(&name);
                    if free {
                        self.0.insert(name.clone(), guest);
                    }
                    // Nobody waits for it who is gone.
                    let _ = answer.send(free);
                    if free {
                        self.tell_all("", format!("* {name} is here\n"))
                    }
                }
                Event::Say(name, text) => self.tell_all(&name, format!("{name}: {text}\n")),
                Event::Who(name) => {
                    let names: Vec<&str> = self.0.keys().map(String::as_str).collect();
                    let line = format!("* here: {}\n", names.join(", "));
                    self.0
                        .get(&name)
                        .into_iter()
                        .for_each(|g| g.tell(line.as_str().into()))
                }
                Event::Leave(name) => {
                    self.0.remove(&name);
                    self.tell_all("", format!("* {name} has left\n"))
                }
            }
        }
    }

    /// Everybody but who says it, who has typed it.
    fn tell_all(&self, from: &str, line: String) {
        print!("{line}");
        let line: Line = line.into();
        let others = self.0.iter().filter(|(name, _)| *name != from);
        others.for_each(|(_, guest)| guest.tell(line.clone()))
    }
}

/// Text as it comes from a guest, line by line.
struct Lines<'a> {
    stream: &'a TcpStream,
    bytes: Vec<u8>,
}

impl Lines<'_> {
    /// The next one, without its end and without what could move a terminal's cursor. None: there are no more.
    fn next(&mut self) -> Result<Option<String>> {
        loop {
            let end = self.bytes.iter().position(|b| *b == b'\n').map(|at| at + 1);
            let full = self.bytes.len().min(LINE_BYTES);
            let end = end.unwrap_or(usize::MAX).min(full);
            if end == LINE_BYTES || self.bytes[..end].ends_with(b"\n") {
                return Ok(Some(self.take(end)));
            }
            let mut more = [0; LINE_BYTES];
            match self.stream.read(&mut more)? {
                0 if self.bytes.is_empty() => return Ok(None),
                0 => return Ok(Some(self.take(end))),
                n => self.bytes.extend_from_slice(&more[..n]),
            }
        }
    }

    fn take(&mut self, n: usize) -> String {
        let line: Vec<u8> = self.bytes.drain(..n).collect();
        let line = String::from_utf8_lossy(&line);
        line.chars().filter(|c| !c.is_control()).collect()
    }
}

/// Asks for a name until one is free. None: the guest has gone.
fn introduce(
    lines: &mut Lines,
    guest: &Arc<Guest>,
    room: &Sender<Event>,
) -> Result<Option<String>> {
    guest.stream.set_read_deadline(Some(Instant::now() + SHY));
    loop {
        guest.tell("your name? ".into());
        let Some(name) = lines.next()? else {
            return Ok(None);
        };
        let fits = (1..=NAME_CHARS).contains(&name.chars().count());
        // What begins with a slash is a command, and may be for people of that name.
        if !fits || name.starts_with('/') || name.contains(char::is_whitespace) {
            let rule = "a name is one word without / in front, of up to";
            guest.tell(format!("{rule} {NAME_CHARS} characters\n").into());
            continue;
        }
        let (answer, free) = chan(1);
        let _ = room.send(Event::Join(name.clone(), guest.clone(), answer));
        if free.recv() == Some(true) {
            guest.stream.set_read_deadline(None);
            return Ok(Some(name));
        }
        guest.tell(format!("somebody is called {name} already\n").into())
    }
}

/// Passes on what a guest says.
fn listen(lines: &mut Lines, guest: &Guest, name: &str, room: &Sender<Event>) -> Result<()> {
    while let Some(line) = lines.next()? {
        let name = name.to_string();
        let event = match line.trim() {
            "" => continue,
            "/bye" => break,
            "/who" => Event::Who(name),
            text if text.starts_with('/') => {
                guest.tell("* there are /who and /bye\n".into());
                continue;
            }
            text => Event::Say(name, text.to_string()),
        };
        let _ = room.send(event);
        sleep(PAUSE)
    }
    Ok(())
}

/// A connection, until it ends.
fn serve(stream: TcpStream, room: &Sender<Event>) -> Result<()> {
    stream.set_keepalive(Some(ASK))?;
    let (lines, to_write) = chan::<Line>(LINES);
    let mut out = stream.try_clone()?;
    // Ends when nobody is left who could send it a line, after the last one is written.
    go(move || {
        for line in to_write {
            if out.write_all(line.as_bytes()).is_err() {
                return out.close();
            }
        }
    });
    let guest = Arc::new(Guest { lines, stream });
    let mut lines = Lines {
        stream: &guest.stream,
        bytes: Vec::new(),
    };
    if let Some(name) = introduce(&mut lines, &guest, room)? {
        // A connection that breaks is one that ends.
        let _ = listen(&mut lines, &guest, &name, room);
        let _ = room.send(Event::Leave(name));
    }
    // What is still to be written has its time; then the writer goes, whatever the guest does.
    guest.stream.set_write_deadline(Some(Instant::now() + ASK));
    Ok(())
}

fn main() -> core::result::Result<(), Error> {
    let guests = args().next().and_then(|n| n.parse().ok());
    let listener = TcpListener::bind("0.0.0.0:4000")?;
    let (room, events) = chan(0);
    let open = spawn(|| Room::default().live(events));
    println!("a chat, at port 4000 of this machine");
    let (places, served) = (Arc::new(Semaphore::new(GUESTS)), WaitGroup::new());
    let incoming = listener.incoming().flatten();
    for mut stream in incoming.take(guests.unwrap_or(usize::MAX)) {
        if !places.try_acquire() {
            let _ = stream.write_all(b"* there is no place left\n");
            continue;
        }
        let (room, places) = (room.clone(), places.clone());
        served.go(move || {
            // A connection that breaks concerns nobody else.
            let _ = serve(stream, &room);
            places.release()
        })
    }
    served.wait();
    // The room has heard that the last one leaves; it has still to say so.
    drop(room);
    open.join();
    Ok(())
}
