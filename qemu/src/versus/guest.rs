//! Linux with the Go program as its only process, on the same machine under QEMU as ours.

use std::io::{BufRead, BufReader, Read};
use std::os::fd::AsRawFd;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::thread;
use std::time::{Duration, Instant};

use super::{Boot, lines};
use crate::bench_table::Row;
use crate::failure::Doing;
use crate::{Failure, Machine, Result, busy, qemu_args, sys};

/// What the program says when its first goroutine runs, and when all went well.
const FIRST: &str = "FIRST_GOROUTINE";
const ENDED: &str = "ENDED";
const WARNING: &str = "WARNING ";
/// Linux at its best: without these words it takes the HPET for its clock, which costs 2 µs a look, and guards against attacks that
/// nobody makes here.
const AT_ITS_BEST: &str = "mitigations=off tsc=reliable";
/// Linux powers the machine off when the program has ended.
const POWER_OFF: Duration = Duration::from_secs(10);

/// What is booted.
pub struct Guest<'a> {
    /// The machine, as ours but for the kernel, which is Linux.
    pub machine: &'a Machine,
    /// QEMU.
    pub qemu: &'a Path,
    /// The first file system.
    pub initrd: &'a [u8],
    /// Arguments of the Go program.
    pub args: &'a [String],
    /// It is ended after so long.
    pub limit: Duration,
}

impl Guest<'_> {
    /// Boots it and waits for its end.
    ///
    /// # Errors
    ///
    /// QEMU does not start; Linux does not end, or ends before the program; a line of figures cannot be read.
    pub fn boot(&self) -> Result<Boot> {
        let initrd = sys::memory_file(self.initrd).doing("make the guest's file system")?;
        let ram = sys::memory_file(&[]).doing("make the guest's memory")?;
        let mut command = Command::new(self.qemu);
        command.args(qemu_args::hardware(
            self.machine,
            self.machine.accel,
            ram.as_raw_fd(),
        ));
        command.args(self.arguments(initrd.as_raw_fd()));
        command
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        sys::tie(&mut command, &[initrd.as_raw_fd(), ram.as_raw_fd()]);
        let (busy, began) = (busy::host_busy(), Instant::now());
        let mut child = command.spawn().doing("start QEMU")?;
        let said = listen(&mut child);
        let heard = Heard::listen(&said, began, self.limit);
        let end = Instant::now()
            + if heard.hung {
                Duration::ZERO
            } else {
                POWER_OFF
            };
        let (_, cpu_time) = sys::wait(child, Some(end)).doing("wait for QEMU")?;
        let wall = began.elapsed();
        heard.boot(busy::others(busy, busy::host_busy(), cpu_time, wall))
    }

    fn arguments(&self, initrd: i32) -> Vec<String> {
        let kernel = self.machine.kernel.display().to_string();
        let append = format!(
            "console=ttyS0 quiet panic=-1 {AT_ITS_BEST} bench={}",
            self.args.join("|")
        );
        let words = [
            "-kernel",
            &kernel,
            "-initrd",
            &format!("/proc/self/fd/{initrd}"),
            "-append",
            &append,
            "-chardev",
            "stdio,id=console,signal=off",
            "-serial",
            "chardev:console",
            "-no-reboot",
        ];
        words.map(str::to_string).to_vec()
    }
}

/// Lines as they come, of the console and of QEMU itself, each with its time.
fn listen(child: &mut Child) -> Receiver<(Instant, String)> {
    let (tell, told) = mpsc::channel();
    let pass = |from: Box<dyn Read + Send>| {
        let tell = tell.clone();
        thread::spawn(move || {
            for line in BufReader::new(from)
                .split(b'\n')
                .map_while(std::result::Result::ok)
            {
                let line = String::from_utf8_lossy(&line).trim().to_string();
                if tell.send((Instant::now(), line)).is_err() {
                    break;
                }
            }
        });
    };
    child
        .stdout
        .take()
        .into_iter()
        .for_each(|out| pass(Box::new(out)));
    child
        .stderr
        .take()
        .into_iter()
        .for_each(|err| pass(Box::new(err)));
    told
}

/// What a guest has said.
#[derive(Debug, Default)]
struct Heard {
    first_goroutine: Option<Duration>,
    rows: Vec<Row>,
    /// A line that cannot be read, or a warning of the program's.
    wrong: Option<Failure>,
    ended: bool,
    hung: bool,
    /// Its last words.
    last: String,
}

impl Heard {
    /// Until nobody says anything more, or `limit` after `began`.
    fn listen(said: &Receiver<(Instant, String)>, began: Instant, limit: Duration) -> Heard {
        let mut heard = Heard::default();
        loop {
            match said.recv_timeout((began + limit).saturating_duration_since(Instant::now())) {
                Ok((when, line)) => heard.line(when.saturating_duration_since(began), &line),
                Err(RecvTimeoutError::Disconnected) => return heard,
                Err(RecvTimeoutError::Timeout) => {
                    heard.hung = true;
                    return heard;
                }
            }
        }
    }

    fn line(&mut self, when: Duration, line: &str) {
        match lines::row(line) {
            Ok(Some(row)) => self.rows.push(row),
            Err(failure) => drop(self.wrong.get_or_insert(failure)),
            Ok(None) if line.ends_with(FIRST) => {
                self.first_goroutine.get_or_insert(when);
            }
            Ok(None) if line == ENDED => self.ended = true,
            Ok(None) if line.starts_with(WARNING) => {
                let says = format!("the Go program in the guest: {}", &line[WARNING.len()..]);
                self.wrong.get_or_insert(Failure::new(says));
            }
            Ok(None) if !line.is_empty() => self.last = line.to_string(),
            Ok(None) => {}
        }
    }

    fn boot(self, others_cores: Option<f64>) -> Result<Boot> {
        if let Some(failure) = self.wrong {
            return Err(failure);
        }
        let how = match (self.hung, self.ended) {
            (true, _) => "did not end in time",
            (false, false) => "ended before its benchmarks",
            (false, true) => {
                return Ok(Boot {
                    first_goroutine: self.first_goroutine,
                    rows: self.rows,
                    others_cores,
                });
            }
        };
        let last = if self.last.is_empty() {
            "nothing"
        } else {
            &self.last
        };
        Err(Failure::new(format!(
            "the guest with Linux and Go {how}; it said at last: {last}"
        )))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn heard(lines: &[&str], limit: Duration) -> Heard {
        let (tell, told) = mpsc::channel();
        let began = Instant::now();
        for (n, line) in lines.iter().enumerate() {
            tell.send((began + Duration::from_millis(n as u64), line.to_string()))
                .unwrap();
        }
        // Whoever hangs keeps its end.
        let _keep = (limit == Duration::ZERO).then_some(tell);
        Heard::listen(&told, began, limit)
    }

    const LONG: Duration = Duration::from_secs(60);

    #[test]
    fn a_boot() {
        let figures = r#"{"bench":"yield2","procs":1,"unit":"ns/op","med":2}"#;
        let said = [
            "",
            "[    1.0] FIRST_GOROUTINE",
            "[    1.1] something",
            figures,
            "ENDED",
            "reboot: Power down",
        ];
        let boot = heard(&said, LONG).boot(Some(0.25)).unwrap();
        assert_eq!(boot.first_goroutine, Some(Duration::from_millis(1)));
        assert_eq!(boot.rows.len(), 1);
        assert_eq!(boot.others_cores, Some(0.25));
    }

    #[test]
    fn guests_that_fail() {
        let line = |said: &[&str], limit| heard(said, limit).boot(None).unwrap_err().line;
        assert_eq!(
            line(
                &["FIRST_GOROUTINE", "Kernel panic - not syncing: x", ""],
                LONG
            ),
            "the guest with Linux and Go ended before its benchmarks; it said at last: Kernel panic - not syncing: x"
        );
        assert_eq!(
            line(&[], Duration::ZERO),
            "the guest with Linux and Go did not end in time; it said at last: nothing"
        );
        assert_eq!(
            line(&["WARNING mount /sys no such device", "ENDED"], LONG),
            "the Go program in the guest: mount /sys no such device"
        );
        assert!(line(&["{\"bench\":", "ENDED"], LONG).starts_with("a figure cannot be read"));
    }

    #[test]
    fn the_same_machine_and_linux_at_its_best() {
        let machine = Machine::new("/t/vmlinuz".into(), "go");
        let args = ["-run=yield2".to_string(), "-reps=3".to_string()];
        let guest = Guest {
            machine: &machine,
            qemu: Path::new("q"),
            initrd: &[],
            args: &args,
            limit: LONG,
        };
        let line = guest.arguments(5).join(" ");
        for part in [
            "-kernel /t/vmlinuz -initrd /proc/self/fd/5",
            "mitigations=off tsc=reliable bench=-run=yield2|-reps=3 ",
        ] {
            assert!(line.contains(part), "{part} in {line}");
        }
    }
}
