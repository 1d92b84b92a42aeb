//! The kernel's configuration: the `key=value` words of its command line.
//!
//! One parser for both sides: the runner checks `--set` before it boots, the kernel parses the same words again at
//! start-up. Nothing here allocates, so it runs before there is a heap.
//!
//! A new key is a line in [`KEYS`], a field with its default in [`Config::DEFAULT`], and a line in `Config::store`.

mod choices;
mod error;
mod keys;
#[cfg(test)]
mod tests;
mod word;

pub use choices::{Clock, LogLevel, Netpoll, Policy, Preempt, Queue, Steal};
pub use error::ConfigError;
pub use keys::{KEYS, Key};
pub use word::Word;

use keys::parse_number;

/// What the command line says; a key that it does not name has its default.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Config {
    /// Number of Ps, Go's `GOMAXPROCS`; `None`: as many as CPUs came.
    pub procs: Option<u32>,
    /// Whether a running G is made to give way.
    pub preempt: Preempt,
    /// Time slice of a G in microseconds.
    pub slice_us: u32,
    /// Whether a wake-up that finds no idle P preempts a running G.
    pub wakeup: bool,
    /// Microseconds that a G runs at least before a wake-up preempts it.
    pub min_run_us: u32,
    /// How much a thief takes.
    pub steal: Steal,
    /// Where runnable Gs wait.
    pub queue: Queue,
    /// Whether a readied G goes to its P's `runnext` slot.
    pub runnext: bool,
    /// Whether sysmon runs.
    pub sysmon: bool,
    /// Whether the P of a G that occupies its CPU in a blocking call is handed on.
    pub handoff: bool,
    /// Whether an M looks for work for a while before it halts its CPU.
    pub spin: bool,
    /// Whether each CPU keeps free heap objects and page frames at hand.
    pub mcache: bool,
    /// How a G waits for the network.
    pub netpoll: Netpoll,
    /// TCP connections at most; `None`: as many as half of the memory holds.
    pub connections: Option<u32>,
    /// Who decides where a G goes.
    pub policy: Policy,
    /// Virtual size of a G's stack slot in KiB.
    pub stack_kib: u32,
    /// Which clock timers follow.
    pub clock: Clock,
    /// Fixes the scheduler's random choices; `None`: seeded by the machine.
    pub seed: Option<u64>,
    /// Milliseconds between two lines about the scheduler's state; 0: none.
    pub schedtrace: u32,
    /// Whether those lines name each G, M and P.
    pub scheddetail: bool,
    /// A fault point and what it does, `NAME:ACTION`.
    pub point: Option<Word>,
    /// What the kernel's log lets through.
    pub log: LogLevel,
    /// Whether figures are wanted as events on the control channel.
    pub json: bool,
    /// Whether somebody sits at the console.
    pub tty: bool,
    /// Events of the scheduler that each CPU keeps, a power of two; 0: none are recorded.
    pub events: u32,
    /// Whether time is counted instructions, and so the machine's alone.
    pub icount: bool,
    /// Threads of the host machine; `None` on the bare machine, which counts its CPUs itself.
    pub smp: Option<u32>,
    /// The program's name.
    pub program: Word,
}

impl Default for Config {
    fn default() -> Config {
        Config::DEFAULT
    }
}

impl Config {
    /// What an empty command line means.
    pub const DEFAULT: Config = Config {
        procs: None,
        preempt: Preempt::Async,
        slice_us: 10_000,
        wakeup: true,
        min_run_us: 100,
        steal: Steal::Half,
        queue: Queue::Local,
        runnext: true,
        sysmon: true,
        handoff: true,
        spin: true,
        mcache: true,
        netpoll: Netpoll::Park,
        connections: None,
        policy: Policy::Go,
        stack_kib: 256,
        clock: Clock::Real,
        seed: None,
        schedtrace: 0,
        scheddetail: false,
        point: None,
        log: LogLevel::Warn,
        json: false,
        tty: false,
        events: 0,
        icount: false,
        smp: None,
        program: Word::EMPTY,
    };

    /// Reads `key=value` words separated by white space. Of a key named twice the last one holds.
    ///
    /// # Errors
    ///
    /// The first word that is wrong, as a line that lists what would be right.
    pub fn parse(words: &str) -> Result<Config, ConfigError> {
        let mut config = Config::DEFAULT;
        for word in words.split_ascii_whitespace() {
            config.set(word)?;
        }
        if config.clock == Clock::Virtual && config.netpoll != Netpoll::Park {
            return Err(ConfigError::VirtualClockWithoutPark);
        }
        match (config.procs, config.smp) {
            (Some(procs), Some(smp)) if procs > smp => {
                Err(ConfigError::MoreProcsThanCpus { procs, smp })
            }
            _ => Ok(config),
        }
    }

    /// Applies one `key=value` word.
    ///
    /// # Errors
    ///
    /// What is wrong with it; the configuration is then as it was.
    pub fn set(&mut self, word: &str) -> Result<(), ConfigError> {
        let Some((name, value)) = word.split_once('=') else {
            return Err(ConfigError::NoValue {
                word: Word::new(word),
            });
        };
        let Some(key) = KEYS.iter().find(|key| key.name == name) else {
            return Err(ConfigError::UnknownKey {
                key: Word::new(name),
            });
        };
        if !key.values.allow(value) {
            return Err(ConfigError::BadValue {
                key,
                value: Word::new(value),
            });
        }
        self.store(key.name, value).ok_or(ConfigError::BadValue {
            key,
            value: Word::new(value),
        })
    }

    /// Stores a value that its key allows. `None` only where [`KEYS`] allows more than the field's type holds.
    fn store(&mut self, name: &'static str, value: &str) -> Option<()> {
        match name {
            "procs" => self.procs = Some(small(value)?),
            "preempt" => self.preempt = Preempt::from_word(value)?,
            "slice_us" => self.slice_us = small(value)?,
            "wakeup" => self.wakeup = value == "on",
            "min_run_us" => self.min_run_us = small(value)?,
            "steal" => self.steal = Steal::from_word(value)?,
            "queue" => self.queue = Queue::from_word(value)?,
            "runnext" => self.runnext = value == "on",
            "sysmon" => self.sysmon = value == "on",
            "handoff" => self.handoff = value == "on",
            "spin" => self.spin = value == "on",
            "mcache" => self.mcache = value == "on",
            "netpoll" => self.netpoll = Netpoll::from_word(value)?,
            "connections" => self.connections = Some(small(value)?),
            "policy" => self.policy = Policy::from_word(value)?,
            "stack_kib" => self.stack_kib = small(value)?,
            "clock" => self.clock = Clock::from_word(value)?,
            "seed" => self.seed = Some(parse_number(value)?),
            "schedtrace" => self.schedtrace = small(value)?,
            "scheddetail" => self.scheddetail = value == "1",
            "point" => self.point = (value != "none").then(|| Word::new(value)),
            "log" => self.log = LogLevel::from_word(value)?,
            "json" => self.json = value == "1",
            "tty" => self.tty = value == "1",
            "events" => self.events = small(value)?,
            "icount" => self.icount = value == "1",
            "smp" => self.smp = Some(small(value)?),
            "program" => self.program = Word::new(value),
            _ => return None,
        }
        Some(())
    }
}

fn small(text: &str) -> Option<u32> {
    parse_number(text)?.try_into().ok()
}
