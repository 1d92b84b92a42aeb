//! How a case is run: machine and script side by side, as often as it says.

use super::judge::{figures, report};
use super::{Case, Script};
use crate::peer::Listener;
use crate::{host_image, hung, netns, patience, ring3, table};
use ringo_runner::{HostMachine, Machine, Net, Outcome};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering::Relaxed};
use std::time::{Duration, Instant};

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

    /// Tries again and again, as long as the machine is there: until its server is, QEMU takes connections and breaks them off.
    ///
    /// # Errors
    /// Those of the last try.
    pub fn keep_trying<T>(&self, try_it: impl Fn() -> Result<T, String>) -> Result<T, String> {
        let begin = Instant::now();
        loop {
            let tried = try_it();
            if tried.is_ok() || self.has_ended() || begin.elapsed() > hung() {
                return tried;
            }
            std::thread::sleep(Duration::from_millis(20))
        }
    }
}

/// The machine has ended, however its part of the test ends: the script must not wait for it for ever.
struct Ends<'a>(&'a Beside);

impl Drop for Ends<'_> {
    fn drop(&mut self) {
        self.0.ended.store(true, Relaxed)
    }
}

impl Case {
    pub(super) fn run(&self) -> Result<(), String> {
        (0..self.boots).try_for_each(|_| self.run_once(self.tries))
    }

    fn run_once(&self, tries: u32) -> Result<(), String> {
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
        if tries > 1 && said.is_ok() && self.shows_nothing(&outcome) {
            return self.run_once(tries - 1);
        }
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
        judged.map_err(|why| report(&why, &outcome))
    }

    /// The machine and its script: how the one ended, what the other said.
    fn run_beside(&self) -> Result<(Outcome, Result<(), String>), String> {
        let beside = Beside::default();
        // Before the script's clock runs: a build takes what it takes.
        let kernel = match self.on_host {
            true => None,
            false => {
                let kernel = (self.kernel)()?;
                Some((ring3::programs_for(&kernel)?, kernel))
            }
        };
        let process = Arc::new(AtomicU32::new(0));
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
                let mut wire = listener.accept(|| beside.has_ended())?;
                wire.leads_to(process.clone());
                script(wire)
            }
            (Script::Peer(_), None) => Err("there is no cable".into()),
            (Script::Client(script), _) => script(&beside),
        };
        std::thread::scope(|scope| {
            let (script, run) = (self.script.as_ref(), &run);
            let script = script.map(|script| scope.spawn(move || run(script)));
            let ends = Ends(&beside);
            let outcome = match kernel {
                Some((programs, kernel)) => self.boot(kernel, programs, net, process.clone()),
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

    fn boot(
        &self,
        kernel: PathBuf,
        programs: Vec<(String, PathBuf)>,
        net: Option<Net>,
        process: Arc<AtomicU32>,
    ) -> Result<Outcome, String> {
        let mut machine = Machine::new(kernel, &self.title);
        machine.user_programs = programs;
        machine.smp = self.smp;
        machine.board = self.board();
        machine.words = self.all_words();
        machine.args = self.all_args();
        machine.timeout = Some(self.limit * patience() as u32);
        machine.explain_triple_fault = false;
        machine.check_events = self.events;
        machine.net = net.unwrap_or(Net::None);
        machine.process = process;
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
}
