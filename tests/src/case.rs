//! A machine to boot, and what is to become of it.

mod judge;
mod run;

pub use judge::figure;
pub use run::Beside;

use crate::peer::Wire;
use crate::{DEFAULT, Mode, image, trial};
use libtest_mimic::Trial;
use ringo_runner::{Board, Machine, Outcome};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

/// Time limit of a case that names none.
const LIMIT: Duration = Duration::from_secs(150);

type Judge = Arc<dyn Fn(&Outcome) -> Result<(), String> + Send + Sync>;
type Kernel = Arc<dyn Fn() -> Result<PathBuf, String> + Send + Sync>;
type Change = Arc<dyn Fn(&mut Machine) + Send + Sync>;

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

    /// So many tries for what the events have to show, where they show nothing at all: for a planted bug that the checker reports only if
    /// the end comes at a moment at which it can be sure. A case without such a bug has one try.
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
    /// The arguments of a program that is no test of the image.
    pub fn arguments<const N: usize>(mut self, args: [&str; N]) -> Case {
        const { assert!(N > 0) };
        (self.test, self.args) = (
            args[0].into(),
            args[1..].iter().map(ToString::to_string).collect(),
        );
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
    /// With a network card on a tap interface, with one queue or several, in a network of its own ([`netns`](crate::netns)): the machine has
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
}

/// A test with an argument of its own, for [`Case::several`].
pub fn sized(test: &str, key: &str, value: u64) -> String {
    format!("{test}:{key}={value}")
}
