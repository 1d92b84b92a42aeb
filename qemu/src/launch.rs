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
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::mpsc::{self, Receiver};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use crate::console::{self, Sink};
use crate::disk::Attached;
use crate::exit::{self, Death};
use crate::failure::Doing;
use crate::lines::{Lines, Side};
use crate::names::Names;
use crate::net::Wired;
use crate::observe::{Observer, Place, Shared};
use crate::progress::Progress;
use crate::qemu_args::{self, Descriptors};
use crate::qmp::Monitor;
use crate::runtime::{self, Listed};
use crate::say::{say, to_stderr};
use crate::streams::{Begun, Streams, Told};
use crate::symbols::Symbols;
use crate::watch::{Seen, watch};
use crate::{Accel, Failure, Forward, Input, Machine, Net, Outcome, Output, Result, Root};
use crate::{accel, boot_module, fault_log, install, sys};

/// A booted machine.
pub struct Running {
    /// QEMU; its `wait` is not used, so that its processor time can be asked for.
    pub child: Child,
    /// QEMU's monitor.
    pub monitor: Monitor,
    /// Where its memory is.
    pub place: Option<Place>,
    observer: Option<Observer>,
    /// Until it is gone.
    listed: Option<Listed>,
    /// What the observer wants to know.
    pub shared: Shared,
    /// What the threads tell.
    pub told: Receiver<Told>,
    readers: Vec<JoinHandle<()>>,
    /// When QEMU was started.
    pub started: Instant,
    stdout: Sink,
    /// Where the two stand.
    lines: Lines,
    stderr: Sink,
    qemu_words: Option<JoinHandle<String>>,
    /// Names of the kernel's addresses.
    pub symbols: Arc<Symbols>,
    booting: Arc<Progress>,
    disk: Option<Attached>,
    /// What its card is connected to.
    pub net: Net,
    /// Ports that are forwarded.
    pub forwards: Vec<Forward>,
    /// Scripts read along.
    json: bool,
}

impl Running {
    /// A line of the runner's own, not inside one of the console's or of the machine's diagnostics if that comes to an end soon.
    pub fn say(&mut self, line: &str) {
        self.lines
            .say(|| drop(self.stderr.write_all(line.as_bytes())));
    }

    /// That a port is forwarded, as soon as it is: with `--json` for scripts as well, which wait for it.
    pub fn tell(&mut self, forward: &Forward) {
        self.say(&forward.line());
        if self.json {
            let line = format!("{}\n", forward.event());
            let to = &mut self.stdout;
            drop(
                self.lines
                    .write(Side::Console, line.as_bytes(), |piece| to.write_all(piece)),
            )
        }
    }
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
    let symbols = Symbols::shared(&machine.kernel, root.path())?;
    let gdb_port = if machine.gdb {
        Some(free_port()?)
    } else {
        None
    };
    let mut running = start(machine, &qemu, accel, gdb_port, symbols)?;
    if let Some(port) = gdb_port {
        say("waiting for a debugger; paste this into another terminal:");
        let kernel = machine.kernel.display();
        to_stderr(&format!(
            "  gdb {kernel} -ex 'target remote 127.0.0.1:{port}'\n"
        ));
    }
    let seen = watch(machine, &mut running);
    finish(machine, accel, running, seen)
}

fn free_port() -> Result<u16> {
    let listener = TcpListener::bind("127.0.0.1:0").doing("find a free port")?;
    Ok(listener.local_addr().doing("find a free port")?.port())
}

/// Starts QEMU and the threads that read from it.
fn start(
    machine: &Machine,
    qemu: &Path,
    accel: Accel,
    gdb_port: Option<u16>,
    symbols: Arc<Symbols>,
) -> Result<Running> {
    let module = sys::memory_file(&boot_module::pack(machine)?).doing("make the boot module")?;
    let (control_out, control_in) = io::pipe().doing("make a pipe")?;
    let (ours, theirs) = UnixStream::pair().doing("make a socket")?;
    let ram = sys::memory_file(&[]).doing("make the machine's memory")?;
    let disk = Attached::new(machine, &symbols)?;
    let net = Wired::new(machine, &symbols)?;
    let fds = Descriptors {
        boot_module: module.as_raw_fd(),
        control: control_in.as_raw_fd(),
        monitor: theirs.as_raw_fd(),
        ram: ram.as_raw_fd(),
    };
    let mut command = Command::new(qemu);
    command.args(qemu_args::arguments(machine, accel, &fds, gdb_port));
    let mut keep = vec![fds.boot_module, fds.control, fds.monitor, fds.ram];
    if let Some(disk) = &disk {
        command.args(disk.arguments()).args(disk.count_arguments());
        keep.extend(disk.descriptors());
    }
    command.args(net.arguments());
    keep.extend(net.descriptors());
    command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    sys::tie(&mut command, &keep);
    let show = machine.output == Output::PassThrough && !machine.gdb;
    let booting = Arc::new(Progress::start(show, "booting"));
    let started = Instant::now();
    let child = command.spawn().doing("start QEMU")?;
    // Relaxed: a number, of which nothing else follows.
    machine.process.store(child.id(), Relaxed);
    // QEMU's ends must not stay open here, or no stream would ever end.
    drop((control_in, theirs, command));
    let net = net.net;
    let (tell, told) = mpsc::channel();
    let for_monitor = tell.clone();
    let monitor = Monitor::start(ours, move |event| {
        drop(for_monitor.send(Told::Monitor(event)));
    })
    .doing("talk to QEMU")?;
    let shared = Shared::default();
    let place = Place::new(machine, &symbols, ram);
    let observer = match &place {
        Some(place) => {
            let place = place.try_clone().doing("share the machine's memory")?;
            Some(Observer::start(
                machine,
                place,
                child.id(),
                shared.clone(),
                tell.clone(),
            )?)
        }
        None => None,
    };
    let listed = place
        .as_ref()
        .and_then(|place| runtime::list(machine, place, child.id()));
    let stdout = Sink::stdout(machine.output, &machine.console).doing("use stdout")?;
    let stderr = Sink::stderr(machine.output).doing("use stderr")?;
    let mut running = Running {
        listed,
        child,
        monitor,
        place,
        observer,
        shared: shared.clone(),
        told,
        readers: Vec::new(),
        started,
        lines: Lines::new(stdout.is_same_place(&stderr)),
        stdout,
        stderr,
        qemu_words: None,
        symbols: symbols.clone(),
        booting: booting.clone(),
        disk,
        net,
        forwards: machine.forwards.clone(),
        json: machine.json,
    };
    for forward in &machine.forwards {
        running.tell(forward)
    }
    let streams = Streams {
        lines: running.lines.clone(),
        begun: Begun::default(),
        tell,
        names: Arc::new(Names::new(symbols, &machine.user_programs)),
        booting,
        blocked: shared.blocked,
    };
    attach(machine, &mut running, streams, control_out);
    Ok(running)
}

/// Starts a thread for each stream.
fn attach(machine: &Machine, running: &mut Running, streams: Streams, control: PipeReader) {
    if let Some(from) = running.child.stdout.take() {
        let (streams, sink) = (streams.clone(), running.stdout.clone());
        let reader = thread::spawn(move || streams.pass_console(from, sink));
        running.readers.push(reader);
    }
    let begun = streams.begun.clone();
    let sink = running.stderr.clone();
    let reader = thread::spawn(move || streams.pass_control(control, sink));
    running.readers.push(reader);
    running.qemu_words = running.child.stderr.take().map(|from| {
        thread::spawn(move || {
            let mut words = Vec::new();
            console::pump(from, |bytes| words.extend_from_slice(bytes));
            String::from_utf8_lossy(&words).into_owned()
        })
    });
    if let Some(to) = running.child.stdin.take() {
        // Input comes at the host's pleasure, which a seeded run must not depend on.
        let input = match machine.seed {
            Some(_) => Input::Nothing,
            None => machine.input.clone(),
        };
        thread::spawn(move || {
            begun.wait();
            console::feed(&input, to)
        });
    }
}

/// Waits until QEMU is gone and puts together what is known.
fn finish(machine: &Machine, accel: Accel, running: Running, mut seen: Seen) -> Result<Outcome> {
    running.booting.clear();
    let deadline = Instant::now() + Duration::from_secs(5);
    let (status, cpu_time) = sys::wait(running.child, Some(deadline)).doing("wait for QEMU")?;
    for reader in running.readers {
        drop(reader.join());
    }
    let wall = running.started.elapsed();
    drop(running.listed);
    let traced = running.observer.and_then(Observer::finish);
    // What was told at last may have been told after QEMU was gone.
    while let Ok(last) = running.told.try_recv() {
        match last {
            Told::Event(when, event) => seen.note(running.started, when, event),
            Told::OutputGone(error) => seen.output_gone(&error),
            _ => {}
        }
    }
    let words = running.qemu_words.and_then(|words| words.join().ok());
    let words = words.unwrap_or_default();
    // QEMU may greet before it finds out what it cannot do; then it says so and ends with status 1.
    let gave_up = status.code() == Some(1)
        && seen.boot_to_main.is_none()
        && seen.death.is_none()
        && words.lines().any(is_worth_showing);
    if !seen.up || gave_up && !seen.output_gone {
        return Err(refused(&words));
    }
    if seen.output_gone {
        return Err(Failure::silent(1));
    }
    let verdict = exit::verdict(status, seen.death.as_ref(), &seen.events);
    if seen.death == Some(Death::TripleFault) && machine.explain_triple_fault {
        let text = fault_log::explain(machine, accel, wall, &running.symbols);
        seen.post_mortem.get_or_insert_default().push_str(&text);
    }
    let own = words.lines().filter(|line| is_worth_showing(line));
    let mut about: String = own
        .chain(verdict.line.as_deref())
        .flat_map(|line| [line, "\n"])
        .collect();
    about.push_str(seen.post_mortem.as_deref().unwrap_or(""));
    let (stdout, mut stderr) = (running.stdout, running.stderr);
    if !about.is_empty() && running.lines.end_within() {
        about.insert(0, '\n');
    }
    drop(stderr.write_all(about.as_bytes()));
    Ok(Outcome {
        exit: verdict.exit,
        qemu_status: status.code(),
        stdout: stdout.text(),
        cut_line: running.lines.ended_within(Side::Console),
        stderr: stderr.text(),
        events: seen.events,
        boot_to_main: seen.boot_to_main,
        wall,
        cpu_time,
        disk: running.disk.and_then(Attached::counts),
        net: (running.net != Net::None).then_some(running.net),
        post_mortem: seen.post_mortem,
        traced,
    })
}

/// QEMU ended before it was up: the fault of what it was asked for.
fn refused(words: &str) -> Failure {
    let line = words
        .lines()
        .rfind(|line| is_worth_showing(line))
        .unwrap_or("it gave no reason");
    let line = line.strip_prefix("qemu-system-x86_64: ").unwrap_or(line);
    // The user knows nothing of QEMU's options.
    let line = match line.strip_prefix("-netdev ") {
        Some(line) => line.split_once(": ").map_or(line, |(_, why)| why),
        None => line,
    };
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
    fn what_qemu_refuses() {
        let words = "qemu-system-x86_64: warning: TCG doesn't support requested feature: x\n\
                     qemu-system-x86_64: cannot set up guest memory 'ram': Cannot allocate memory\n";
        let line = "QEMU did not start: cannot set up guest memory 'ram': Cannot allocate memory";
        assert_eq!(refused(words).line, line);
        let words = "qemu-system-x86_64: -netdev tap,id=net,ifname=t0: could not configure /dev/net/tun (t0): busy\n";
        let line = "QEMU did not start: could not configure /dev/net/tun (t0): busy";
        assert_eq!(refused(words).line, line);
        assert_eq!(refused("").line, "QEMU did not start: it gave no reason");
    }
}
