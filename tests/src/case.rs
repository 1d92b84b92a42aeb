//! A machine to boot, and what is to become of it.

use crate::peer::{Listener, Wire};
use crate::{DEFAULT, Mode, host_image, image, netns, patience, table, trial};
use libtest_mimic::Trial;
use ringo_runner::{Board, HostMachine, Machine, Net, Outcome};
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::Duration;

/// Time limit of a case that names none.
const LIMIT: Duration = Duration::from_secs(150);

type Judge = Arc<dyn Fn(&Outcome) -> Result<(), String> + Send + Sync>;
type Kernel = Arc<dyn Fn() -> Result<PathBuf, String> + Send + Sync>;
type Change = Arc<dyn Fn(&mut Machine) + Send + Sync>;

/// What runs beside the machine, and knows when that has ended.
#[derive(Default)]
pub struct Beside {
    ended: AtomicBool,
}

impl Beside {
    /// Whether the machine has ended: nothing comes from it any more.
    pub fn has_ended(&self) -> bool {
        self.ended.load(Relaxed)
    }
}

/// The machine has ended, however its part of the test ends: the script must not wait for it for ever.
struct Ends<'a>(&'a Beside);

impl Drop for Ends<'_> {
    fn drop(&mut self) {
        self.0.ended.store(true, Relaxed)
    }
}

type PeerScript = dyn Fn(Wire) -> Result<(), String> + Send + Sync;
type ClientScript = dyn Fn(&Beside) -> Result<(), String> + Send + Sync;

/// A part of the test that runs here, beside the machine.
#[derive(Clone)]
enum Script {
    /// At the other end of its cable.
    Peer(Arc<PeerScript>),
    /// Anywhere.
    Client(Arc<ClientScript>),
}

/// How a case has to end.
#[derive(Clone, Debug)]
pub enum Expect {
    /// Exit status of the runner.
    Exit(u8),
    /// Anything but success: for mutants.
    Failure,
}

/// One boot and its judgement.
#[derive(Clone)]
pub struct Case {
    area: &'static str,
    test: String,
    /// `test`, or a name for several.
    title: String,
    on_host: bool,
    own_kernel: bool,
    suffix: String,
    args: Vec<String>,
    smp: u32,
    mode: Mode,
    words: Vec<String>,
    limit: Duration,
    expect: Expect,
    said: Vec<String>,
    not_said: Vec<String>,
    judges: Vec<Judge>,
    kernel: Kernel,
    changes: Vec<Change>,
    script: Option<Script>,
    /// A tap interface, and whether it has several queues.
    tap: Option<bool>,
    boots: u32,
    /// So many tries, of which one has to succeed.
    tries: u32,
    events: bool,
    violation: Option<String>,
}

impl Case {
    /// `test` of the image, on 2 CPUs, to end with status 0.
    pub fn new(area: &'static str, test: &str) -> Case {
        Case {
            area,
            test: test.into(),
            title: test.into(),
            on_host: false,
            own_kernel: false,
            suffix: String::new(),
            args: Vec::new(),
            smp: 2,
            mode: DEFAULT,
            words: Vec::new(),
            limit: LIMIT,
            expect: Expect::Exit(0),
            said: Vec::new(),
            not_said: Vec::new(),
            judges: Vec::new(),
            kernel: Arc::new(image),
            changes: Vec::new(),
            script: None,
            tap: None,
            boots: 1,
            tries: 1,
            events: true,
            violation: None,
        }
    }

    /// Several tests of the image, one after the other in one boot; behind a name may stand arguments of that test alone
    /// ([`sized`]).
    pub fn several(area: &'static str, title: &str, tests: &[impl AsRef<str>]) -> Case {
        let tests: Vec<&str> = tests.iter().map(AsRef::as_ref).collect();
        Case {
            title: title.into(),
            ..Case::new(area, &tests.join(","))
        }
    }

    /// One of so many tries has to succeed: for a planted bug that the checker reports only if the end comes at a moment at which it
    /// can be sure. Never for what the machine must do each time.
    pub fn one_of(mut self, tries: u32) -> Case {
        self.tries = tries;
        self
    }

    /// On threads of the host, as many as it would have CPUs. Nobody is preempted there.
    pub fn host(mut self) -> Case {
        self.on_host = true;
        self
    }
    /// Something for the name, to tell it from others of the same test.
    pub fn named(mut self, suffix: &str) -> Case {
        self.suffix = format!(" {suffix}");
        self
    }
    /// Number of CPUs.
    pub fn smp(mut self, smp: u32) -> Case {
        self.smp = smp;
        self
    }
    /// Mode of the scheduler.
    pub fn mode(mut self, mode: Mode) -> Case {
        self.mode = mode;
        self
    }
    /// A `key=number` argument of the test.
    pub fn arg(mut self, key: &str, value: u64) -> Case {
        self.args.push(format!("{key}={value}"));
        self
    }
    /// A further word of the kernel's command line.
    pub fn word(mut self, word: &str) -> Case {
        self.words.push(word.into());
        self
    }
    /// Time limit in seconds, on a machine that has nothing else to do many times over.
    pub fn limit(mut self, seconds: u64) -> Case {
        self.limit = Duration::from_secs(seconds);
        self
    }
    /// Has to end so.
    pub fn expect(mut self, expect: Expect) -> Case {
        self.expect = expect;
        self
    }
    /// Has to end with this status.
    pub fn exit(self, status: u8) -> Case {
        self.expect(Expect::Exit(status))
    }
    /// Has to print this somewhere.
    pub fn says(mut self, text: &str) -> Case {
        self.said.push(text.into());
        self
    }
    /// Must not print this anywhere.
    pub fn never_says(mut self, text: &str) -> Case {
        self.not_said.push(text.into());
        self
    }
    /// Has to satisfy this.
    pub fn judge(
        mut self,
        judge: impl Fn(&Outcome) -> Result<(), String> + Send + Sync + 'static,
    ) -> Case {
        self.judges.push(Arc::new(judge));
        self
    }
    /// Boots another kernel.
    pub fn kernel(
        mut self,
        kernel: impl Fn() -> Result<PathBuf, String> + Send + Sync + 'static,
    ) -> Case {
        self.kernel = Arc::new(kernel);
        self.own_kernel = true;
        self
    }
    /// Whether it boots something else than most cases, which has to be built first.
    pub fn waits_for_a_build(&self) -> bool {
        self.own_kernel || self.on_host
    }
    /// Changes the machine before it is booted.
    pub fn machine(mut self, change: impl Fn(&mut Machine) + Send + Sync + 'static) -> Case {
        self.changes.push(Arc::new(change));
        self
    }
    /// With a network card, at the other end of whose cable `script` is, on a thread of its own. Its error fails the case. It is to
    /// end the machine by what it sends, or to stay until the machine ends by itself.
    pub fn peer(
        mut self,
        script: impl Fn(Wire) -> Result<(), String> + Send + Sync + 'static,
    ) -> Case {
        self.script = Some(Script::Peer(Arc::new(script)));
        self
    }
    /// Beside the machine `script` runs, on a thread of its own. Its error fails the case.
    pub fn client(
        mut self,
        script: impl Fn(&Beside) -> Result<(), String> + Send + Sync + 'static,
    ) -> Case {
        self.script = Some(Script::Client(Arc::new(script)));
        self
    }
    /// With a network card on a tap interface, with one queue or several, in a network of its own ([`netns`]): the machine has
    /// 10.0.2.15 there, the script 10.0.2.2. Where that cannot be had, the case is not run, and the table says so.
    pub fn tap(mut self, several_queues: bool) -> Case {
        self.tap = Some(several_queues);
        self
    }
    /// The check of its events has to find this.
    pub fn violates(mut self, text: &str) -> Case {
        self.violation = Some(text.into());
        self
    }
    /// Without following and checking the scheduler's events: for runs that measure.
    pub fn no_events(mut self) -> Case {
        self.events = false;
        self
    }
    /// Boots so many times in a row.
    pub fn boots(mut self, boots: u32) -> Case {
        self.boots = boots;
        self
    }

    /// Q35, as for a user, for two CPUs with everything on, where a boot runs many tests or ends by force; for all other kinds microvm,
    /// which boots in half the time.
    fn board(&self) -> Board {
        let ends_well = matches!(self.expect, Expect::Exit(0));
        if self.smp == 2 && self.mode == DEFAULT && (self.test.contains(',') || !ends_well) {
            Board::Q35
        } else {
            Board::Microvm
        }
    }

    fn name(&self) -> String {
        let mode = if self.mode == DEFAULT {
            String::new()
        } else {
            format!(" [{}]", self.mode.name)
        };
        let host = if self.on_host { " host" } else { "" };
        format!(
            "{}::{}{}{host} smp={}{mode}",
            self.area, self.title, self.suffix, self.smp
        )
    }

    /// The case as a test of the harness.
    pub fn trial(self) -> Trial {
        trial(self.name(), move || self.run())
    }

    fn run(&self) -> Result<(), String> {
        for _ in 1..self.tries {
            if self.run_once().is_ok() {
                return Ok(());
            }
        }
        self.run_once()
    }

    fn run_once(&self) -> Result<(), String> {
        for _ in 0..self.boots {
            let (outcome, said) = match self.tap {
                None => self.run_beside()?,
                Some(queues) => {
                    let within = || self.run_beside();
                    match netns::within_or_note(&self.name(), queues, within) {
                        Some(result) => result?,
                        None => return Ok(()),
                    }
                }
            };
            let judged = self.judge_all(&outcome);
            let judged = match (judged, said) {
                (judged, Ok(())) => judged,
                (Ok(()), Err(said)) => Err(format!("the script beside it: {said}")),
                (Err(why), Err(said)) => Err(format!("{why}; the script beside it: {said}")),
            };
            table::record(
                self.area,
                &self.name(),
                self.mode.name,
                &outcome,
                figures(&outcome),
                judged.is_ok(),
            );
            judged.map_err(|why| report(&why, &outcome))?;
        }
        Ok(())
    }

    /// The machine and its script: how the one ended, what the other said.
    fn run_beside(&self) -> Result<(Outcome, Result<(), String>), String> {
        let beside = Beside::default();
        // Before the script's clock runs: a build takes what it takes.
        let kernel = match self.on_host {
            true => None,
            false => Some((self.kernel)()?),
        };
        let listener = match &self.script {
            Some(Script::Peer(_)) => Some(Listener::new().map_err(|e| e.to_string())?),
            _ => None,
        };
        let net = match (&listener, self.tap) {
            (Some(listener), _) => Some(Net::Stream(listener.path().into())),
            (None, Some(_)) => Some(Net::Tap(netns::TAP.into())),
            (None, None) => None,
        };
        let run = |script: &Script| match (script, &listener) {
            (Script::Peer(script), Some(listener)) => {
                script(listener.accept(|| beside.has_ended())?)
            }
            (Script::Peer(_), None) => Err("there is no cable".into()),
            (Script::Client(script), _) => script(&beside),
        };
        std::thread::scope(|scope| {
            let (script, run) = (self.script.as_ref(), &run);
            let script = script.map(|script| scope.spawn(move || run(script)));
            let ends = Ends(&beside);
            let outcome = match kernel {
                Some(kernel) => self.boot(kernel, net),
                None => self.run_on_host(),
            };
            drop(ends);
            let said = script.map_or(Ok(()), |thread| {
                let said = thread.join();
                said.unwrap_or_else(|_| Err("it panicked".into()))
            });
            match (outcome, said) {
                (Ok(outcome), said) => Ok((outcome, said)),
                (Err(why), _) => Err(why),
            }
        })
    }

    fn all_words(&self) -> Vec<String> {
        let of_mode = self.mode.words.iter().map(ToString::to_string);
        of_mode.chain(self.words.iter().cloned()).collect()
    }

    fn all_args(&self) -> Vec<String> {
        let test = std::iter::once(self.test.clone());
        test.chain(self.args.iter().cloned()).collect()
    }

    fn boot(&self, kernel: PathBuf, net: Option<Net>) -> Result<Outcome, String> {
        let mut machine = Machine::new(kernel, &self.title);
        machine.smp = self.smp;
        machine.board = self.board();
        machine.words = self.all_words();
        machine.args = self.all_args();
        machine.timeout = Some(self.limit * patience() as u32);
        machine.explain_triple_fault = false;
        machine.check_events = self.events;
        machine.net = net.unwrap_or(Net::None);
        self.changes.iter().for_each(|change| change(&mut machine));
        machine.run().map_err(|e| e.to_string())
    }

    fn run_on_host(&self) -> Result<Outcome, String> {
        let mut machine = HostMachine::new(host_image()?, &self.title);
        machine.smp = self.smp;
        machine.words = self.all_words();
        machine.args = self.all_args();
        machine.timeout = Some(self.limit * patience() as u32);
        machine.run().map_err(|e| e.to_string())
    }

    fn judge_all(&self, outcome: &Outcome) -> Result<(), String> {
        match self.expect {
            Expect::Exit(status) if outcome.exit != status => {
                return Err(format!("exit status {} instead of {status}", outcome.exit));
            }
            Expect::Failure if outcome.exit == 0 => return Err("it passed, but should not".into()),
            _ => {}
        }
        let says = |text: &str| outcome.stdout.contains(text) || outcome.stderr.contains(text);
        if let Some(missing) = self.said.iter().find(|text| !says(text)) {
            return Err(format!("it did not say \"{missing}\""));
        }
        if let Some(wrong) = self.not_said.iter().find(|text| says(text)) {
            return Err(format!("it said \"{wrong}\""));
        }
        if let Some(traced) = &outcome.traced {
            table::record_events(traced);
            let wrong = &traced.violations;
            if let Some(text) = &self.violation {
                return match wrong.iter().any(|line| line.contains(text)) {
                    true => Ok(()),
                    false => Err(format!("its events do not show \"{text}\": {wrong:?}")),
                };
            }
            // A build with a planted bug fails by it, one way or another.
            if !wrong.is_empty() && !matches!(self.expect, Expect::Failure) {
                return Err(format!("its events are wrong:\n  {}", wrong.join("\n  ")));
            }
        }
        self.judges.iter().try_for_each(|judge| judge(outcome))
    }
}

/// A test with an argument of its own, for [`Case::several`].
pub fn sized(test: &str, key: &str, value: u64) -> String {
    format!("{test}:{key}={value}")
}

/// `= name number` lines.
pub(crate) fn figures(outcome: &Outcome) -> BTreeMap<String, String> {
    let words = outcome
        .stdout
        .lines()
        .filter_map(|line| line.trim_end().strip_prefix("= ")?.split_once(' '));
    words
        .map(|(name, value)| (name.to_string(), value.to_string()))
        .collect()
}

/// A figure that the test printed, as a whole number.
pub fn figure(outcome: &Outcome, name: &str) -> Option<u64> {
    figures(outcome).get(name)?.parse().ok()
}

fn report(why: &str, outcome: &Outcome) -> String {
    let tail = |text: &str| {
        let lines: Vec<&str> = text.lines().collect();
        lines[lines.len().saturating_sub(60)..].join("\n")
    };
    format!(
        "{why}\nstatus {} after {:.1} s (QEMU: {:?})\n--- stdout\n{}\n--- stderr\n{}\n---",
        outcome.exit,
        outcome.wall.as_secs_f64(),
        outcome.qemu_status,
        tail(&outcome.stdout),
        tail(&outcome.stderr)
    )
}
