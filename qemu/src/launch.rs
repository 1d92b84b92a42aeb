//! Boots a machine and stays with it until its end.
//!
//! ```text
//!  console  <- pipe --- QEMU's stdout      one thread each reads and passes on;
//!  control  <- pipe --- debugcon           this thread waits for what they tell,
//!  monitor  <- socket - QMP                or for the time limit
//!  stdin    -- pipe --> QEMU's stdin
//! ```

use std::io::{self, PipeReader, Write};
use std::net::TcpListener;
use std::os::fd::AsRawFd;
use std::os::unix::net::UnixStream;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::console::{self, Sink};
use crate::control::ControlSplitter;
use crate::exit::{self, Death};
use crate::failure::Doing;
use crate::progress::Progress;
use crate::qemu_args::{self, Descriptors};
use crate::qmp::{Monitor, MonitorEvent};
use crate::symbols::Symbols;
use crate::{Accel, Failure, Input, Machine, Outcome, Output, Result, Root};
use crate::{accel, boot_module, fault_log, install, postmortem, sys};

/// What the threads tell the one that waits.
enum Told {
    Event(Instant, Value),
    Monitor(MonitorEvent),
    /// Nobody reads the program's output any more.
    OutputGone,
}

/// A booted machine.
struct Running {
    child: Child,
    monitor: Monitor,
    told: Receiver<Told>,
    readers: Vec<JoinHandle<()>>,
    started: Instant,
    stdout: Sink,
    stderr: Sink,
    qemu_words: JoinHandle<String>,
    symbols: Arc<Symbols>,
    booting: Arc<Progress>,
}

/// What waiting for it has found out.
#[derive(Default)]
struct Seen {
    up: bool,
    events: Vec<Value>,
    boot_to_main: Option<Duration>,
    death: Option<Death>,
    post_mortem: Option<String>,
    output_gone: bool,
}

/// Runs `machine` to its end.
pub fn launch(machine: &Machine) -> Result<Outcome> {
    let qemu = install::prepare()?;
    let accel = if machine.seed.is_some() {
        Accel::Tcg
    } else {
        accel::choose(&qemu, machine.accel)?
    };
    let root = Root::find()?;
    let symbols = Arc::new(Symbols::read(&machine.kernel, root.path())?);
    let gdb_port = if machine.gdb {
        Some(free_port()?)
    } else {
        None
    };
    let mut running = start(machine, &qemu, accel, gdb_port, symbols)?;
    if let Some(port) = gdb_port {
        eprintln!("ringo: waiting for a debugger; paste this into another terminal:");
        eprintln!(
            "  gdb {} -ex 'target remote 127.0.0.1:{port}'",
            machine.kernel.display()
        );
    }
    let seen = watch(machine, &mut running);
    finish(machine, accel, running, seen)
}

fn free_port() -> Result<u16> {
    let listener = TcpListener::bind("127.0.0.1:0").doing("find a free port")?;
    Ok(listener.local_addr().doing("find a free port")?.port())
}

fn start(
    machine: &Machine,
    qemu: &std::path::Path,
    accel: Accel,
    gdb_port: Option<u16>,
    symbols: Arc<Symbols>,
) -> Result<Running> {
    let module = sys::memory_file(&boot_module::pack(machine)?).doing("make the boot module")?;
    let (control_out, control_in) = io::pipe().doing("make a pipe")?;
    let (ours, theirs) = UnixStream::pair().doing("make a socket")?;
    let fds = Descriptors {
        boot_module: module.as_raw_fd(),
        control: control_in.as_raw_fd(),
        monitor: theirs.as_raw_fd(),
    };
    let mut command = Command::new(qemu);
    command.args(qemu_args::arguments(machine, accel, &fds, gdb_port));
    command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    sys::tie(&mut command, &[fds.boot_module, fds.control, fds.monitor]);
    let stdout = Sink::stdout(machine.output).doing("use stdout")?;
    let stderr = Sink::stderr(machine.output).doing("use stderr")?;
    // Gone before the first byte of output is passed on.
    let show = machine.output == Output::PassThrough && !machine.gdb;
    let booting = Arc::new(Progress::start(show, "booting"));
    let started = Instant::now();
    let mut child = command.spawn().doing("start QEMU")?;
    // QEMU's ends must not stay open here, or no stream would ever end.
    drop((control_in, theirs, command));
    let (tell, told) = mpsc::channel();
    let for_monitor = tell.clone();
    let monitor = Monitor::start(ours, move |event| {
        drop(for_monitor.send(Told::Monitor(event)));
    })
    .doing("talk to QEMU")?;
    let watcher = Watcher {
        tell,
        symbols: symbols.clone(),
        booting: booting.clone(),
    };
    let mut readers = Vec::new();
    if let Some(from) = child.stdout.take() {
        let (watcher, sink) = (watcher.clone(), stdout.clone());
        readers.push(thread::spawn(move || watcher.pass_console(from, sink)));
    }
    let sink = stderr.clone();
    readers.push(thread::spawn(move || {
        watcher.pass_control(control_out, sink);
    }));
    let qemu_err = child.stderr.take();
    let qemu_words = thread::spawn(move || {
        let mut words = Vec::new();
        if let Some(from) = qemu_err {
            console::pump(from, |bytes| words.extend_from_slice(bytes));
        }
        String::from_utf8_lossy(&words).into_owned()
    });
    if let Some(to) = child.stdin.take() {
        let input = if machine.seed.is_some() {
            Input::Nothing
        } else {
            machine.input.clone()
        };
        thread::spawn(move || console::feed(&input, to));
    }
    Ok(Running {
        child,
        monitor,
        told,
        readers,
        started,
        stdout,
        stderr,
        qemu_words,
        symbols,
        booting,
    })
}

/// What the threads that read the machine's streams share.
#[derive(Clone)]
struct Watcher {
    tell: Sender<Told>,
    symbols: Arc<Symbols>,
    booting: Arc<Progress>,
}

impl Watcher {
    fn pass_console(self, from: impl io::Read, sink: Sink) {
        let mut sink = console::naming(sink, self.symbols);
        let mut gone = false;
        console::pump(from, |bytes| {
            self.booting.clear();
            // A machine that nobody listens to is still emptied, so that it never waits for its console.
            if !gone && sink.feed(bytes).is_err() {
                gone = true;
                drop(self.tell.send(Told::OutputGone));
            }
        });
    }

    fn pass_control(self, from: PipeReader, sink: Sink) {
        let mut splitter = ControlSplitter::default();
        let mut sink = console::naming(sink, self.symbols);
        console::pump(from, |bytes| {
            let now = Instant::now();
            self.booting.clear();
            let event = |value| drop(self.tell.send(Told::Event(now, value)));
            splitter.feed(bytes, |text| drop(sink.feed(text)), event);
        });
        if let Some(rest) = splitter.rest() {
            drop(sink.feed(&rest));
        }
    }
}

/// Waits for the machine's end.
fn watch(machine: &Machine, running: &mut Running) -> Seen {
    let mut seen = Seen::default();
    let limit = machine
        .timeout
        .filter(|_| !machine.gdb)
        .and_then(|limit| running.started.checked_add(limit));
    loop {
        let told = match limit {
            // Once it is dead, only its last words are waited for.
            Some(limit) if seen.death.is_none() => running
                .told
                .recv_timeout(limit.saturating_duration_since(Instant::now())),
            _ => running.told.recv_timeout(Duration::from_secs(3600)),
        };
        match told {
            Ok(Told::Event(when, event)) => note(&mut seen, running.started, when, event),
            Ok(Told::OutputGone) => {
                seen.output_gone = true;
                running.monitor.execute("quit", json!({}));
            }
            Ok(Told::Monitor(MonitorEvent::Greeting)) => {
                seen.up = true;
                running.monitor.execute("qmp_capabilities", json!({}));
            }
            Ok(Told::Monitor(MonitorEvent::Event(event))) => {
                if seen.death.is_none()
                    && let Some(death) = death(&event, || is_internal_error(&mut running.monitor))
                {
                    bury(running, &mut seen, death);
                }
            }
            Ok(Told::Monitor(MonitorEvent::Closed)) | Err(RecvTimeoutError::Disconnected) => {
                return seen;
            }
            Err(RecvTimeoutError::Timeout) if limit.is_some() && seen.death.is_none() => {
                running.monitor.execute("stop", json!({}));
                bury(running, &mut seen, Death::TimeLimit);
            }
            Err(RecvTimeoutError::Timeout) => {}
        }
    }
}

fn note(seen: &mut Seen, started: Instant, when: Instant, event: Value) {
    if event["event"] == "main" && seen.boot_to_main.is_none() {
        seen.boot_to_main = Some(when.saturating_duration_since(started));
    }
    seen.events.push(event);
}

/// What an event of QEMU says about the machine's end.
fn death(event: &Value, internal_error: impl FnOnce() -> bool) -> Option<Death> {
    match (event["event"].as_str()?, event["data"]["reason"].as_str()) {
        ("SHUTDOWN", Some("guest-reset")) => Some(Death::TripleFault),
        ("SHUTDOWN", Some("guest-shutdown" | "guest-panic")) => Some(Death::PowerOff),
        // A debugger stops the machine too.
        ("STOP", _) => internal_error().then_some(Death::InternalError),
        _ => None,
    }
}

/// KVM stops a machine that it cannot go on with, and says so only when asked.
fn is_internal_error(monitor: &mut Monitor) -> bool {
    monitor
        .execute("query-status", json!({}))
        .is_some_and(|answer| answer["status"] == "internal-error")
}

/// Asks the stopped machine what can be asked, then ends QEMU.
fn bury(running: &mut Running, seen: &mut Seen, death: Death) {
    seen.post_mortem = postmortem::examine(&mut running.monitor, &running.symbols);
    seen.death = Some(death);
    if running.monitor.execute("quit", json!({})).is_none() {
        // It does not answer; the status is not asked for.
        drop(running.child.kill());
    }
}

fn finish(machine: &Machine, accel: Accel, running: Running, mut seen: Seen) -> Result<Outcome> {
    running.booting.clear();
    let Running {
        child,
        monitor,
        told,
        readers,
        started,
        stdout,
        mut stderr,
        qemu_words,
        symbols,
        booting: _,
    } = running;
    let (status, cpu_time) =
        sys::wait(child, Instant::now() + Duration::from_secs(5)).doing("wait for QEMU")?;
    for reader in readers {
        drop(reader.join());
    }
    let wall = started.elapsed();
    drop(monitor);
    while let Ok(last) = told.try_recv() {
        if let Told::Event(when, event) = last {
            note(&mut seen, started, when, event);
        }
    }
    let words = qemu_words.join().unwrap_or_default();
    if !seen.up {
        return Err(refused(&words));
    }
    if seen.output_gone {
        return Err(Failure::silent(1));
    }
    let verdict = exit::verdict(status, seen.death.as_ref(), &seen.events);
    let mut about = String::new();
    for line in words.lines().filter(|line| is_worth_showing(line)) {
        about.push_str(&format!("{line}\n"));
    }
    if let Some(line) = &verdict.line {
        about.push_str(&format!("{line}\n"));
    }
    if let Some(text) = &seen.post_mortem {
        about.push_str(text);
    }
    if seen.death == Some(Death::TripleFault) && machine.explain_triple_fault {
        let text = fault_log::explain(machine, accel, wall, &symbols);
        about.push_str(&text);
        seen.post_mortem.get_or_insert_default().push_str(&text);
    }
    drop(stderr.write_all(about.as_bytes()));
    Ok(Outcome {
        exit: verdict.exit,
        qemu_status: status.code(),
        stdout: stdout.text(),
        stderr: stderr.text(),
        events: seen.events,
        boot_to_main: seen.boot_to_main,
        wall,
        cpu_time,
        post_mortem: seen.post_mortem,
    })
}

/// QEMU ended before it was up: the fault of what it was asked for.
fn refused(words: &str) -> Failure {
    let line = words
        .lines()
        .rfind(|line| is_worth_showing(line))
        .unwrap_or("it gave no reason");
    let line = line.strip_prefix("qemu-system-x86_64: ").unwrap_or(line);
    Failure::new(format!("QEMU did not start: {line}"))
}

/// TCG warns about each feature of a CPU model that it lacks.
fn is_worth_showing(line: &str) -> bool {
    !line.trim().is_empty() && !line.contains("TCG doesn't support requested feature")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn deaths() {
        let shutdown = |reason: &str| {
            death(
                &json!({"event": "SHUTDOWN", "data": {"guest": true, "reason": reason}}),
                || false,
            )
        };
        assert_eq!(shutdown("guest-reset"), Some(Death::TripleFault));
        assert_eq!(shutdown("guest-shutdown"), Some(Death::PowerOff));
        assert_eq!(shutdown("host-qmp-quit"), None);
        assert_eq!(death(&json!({"event": "STOP"}), || false), None);
        assert_eq!(
            death(&json!({"event": "STOP"}), || true),
            Some(Death::InternalError)
        );
    }

    #[test]
    fn what_qemu_refuses() {
        let words = "qemu-system-x86_64: warning: TCG doesn't support requested feature: x\n\
                     qemu-system-x86_64: cannot set up guest memory 'ram': Cannot allocate memory\n";
        let line = "QEMU did not start: cannot set up guest memory 'ram': Cannot allocate memory";
        assert_eq!(refused(words).line, line);
        assert_eq!(refused("").line, "QEMU did not start: it gave no reason");
    }
}
