//! QEMU's monitor: JSON over a socket that both ends have from birth, so nobody listens, waits or connects.

use std::io::{self, BufRead, BufReader, Write};
use std::os::unix::net::UnixStream;
use std::sync::mpsc::{self, Receiver, Sender};
use std::thread;
use std::time::Duration;

use serde_json::{Value, json};

/// How long an answer may take. QEMU's main loop can be busy, but not for this long.
const ANSWER_LIMIT: Duration = Duration::from_secs(5);

/// What the monitor says unasked.
#[derive(Debug)]
pub enum MonitorEvent {
    /// QEMU is up: its greeting.
    Greeting,
    /// An event of the machine, such as `SHUTDOWN`.
    Event(Value),
    /// QEMU has ended.
    Closed,
}

/// The monitor of one machine.
pub struct Monitor {
    stream: UnixStream,
    answers: Receiver<Value>,
}

impl Monitor {
    /// Takes this process's end of the socket; `tell` gets what comes unasked, on a thread of its own.
    pub fn start(
        stream: UnixStream,
        mut tell: impl FnMut(MonitorEvent) + Send + 'static,
    ) -> io::Result<Monitor> {
        let reader = stream.try_clone()?;
        let (sender, answers) = mpsc::channel();
        thread::spawn(move || {
            read(BufReader::new(reader), &sender, &mut tell);
            tell(MonitorEvent::Closed);
        });
        Ok(Monitor { stream, answers })
    }

    /// Executes a command of QMP; `None` if QEMU does not answer or refuses.
    pub fn execute(&mut self, command: &str, arguments: Value) -> Option<Value> {
        let mut line = json!({ "execute": command, "arguments": arguments }).to_string();
        line.push('\n');
        self.stream.write_all(line.as_bytes()).ok()?;
        let mut answer = self.answers.recv_timeout(ANSWER_LIMIT).ok()?;
        answer.get_mut("return").map(Value::take)
    }

    /// Executes a command of the monitor for humans, as seen from a CPU; its text.
    pub fn human(&mut self, command: &str, cpu: usize) -> Option<String> {
        let arguments = json!({ "command-line": command, "cpu-index": cpu });
        let answer = self.execute("human-monitor-command", arguments)?;
        Some(answer.as_str()?.replace('\r', ""))
    }
}

fn read(reader: impl BufRead, answers: &Sender<Value>, tell: &mut impl FnMut(MonitorEvent)) {
    for line in reader.lines().map_while(Result::ok) {
        let Ok(value) = serde_json::from_str::<Value>(&line) else {
            continue;
        };
        if value.get("event").is_some() {
            tell(MonitorEvent::Event(value));
        } else if value.get("QMP").is_some() {
            tell(MonitorEvent::Greeting);
        } else if answers.send(value).is_err() {
            return;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_and_events_are_told_apart() {
        let (ours, theirs) = UnixStream::pair().unwrap();
        let (sender, events) = mpsc::channel();
        let mut monitor = Monitor::start(ours, move |event| drop(sender.send(event))).unwrap();
        let qemu = thread::spawn(move || {
            let mut out = theirs.try_clone().unwrap();
            out.write_all(b"{\"QMP\": {}}\r\n{\"event\": \"STOP\"}\r\n")
                .unwrap();
            let mut asked = String::new();
            BufReader::new(theirs).read_line(&mut asked).unwrap();
            out.write_all(b"{\"return\": \"CPU#0\\r\\nRIP=1\\r\\n\"}\r\n")
                .unwrap();
            asked
        });
        assert_eq!(
            monitor.human("info registers -a", 0).as_deref(),
            Some("CPU#0\nRIP=1\n")
        );
        assert!(
            qemu.join()
                .unwrap()
                .contains("\"command-line\":\"info registers -a\"")
        );
        assert!(matches!(events.recv(), Ok(MonitorEvent::Greeting)));
        assert!(
            matches!(events.recv(), Ok(MonitorEvent::Event(event)) if event["event"] == "STOP")
        );
        assert!(matches!(events.recv(), Ok(MonitorEvent::Closed)));
    }
}
