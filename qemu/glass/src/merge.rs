//! One order for the events of all CPUs: by time, then by CPU.
//!
//! Batches come CPU by CPU while the machine runs. An event may be handed on only when none with an earlier stamp can still
//! come:
//!
//! ```text
//!   round k - 1:  newest stamp that was read = T
//!   round k:      each CPU is read. Who was not just recording has given all that it stamped before T was stamped, since
//!                 that was before this round began. Who was recording may come with anything after its own last stamp.
//!   hand on what lies before T and before the last stamp of each CPU that was recording
//! ```

use crate::drain::Batch;
use std::collections::VecDeque;
use trace::Event;

/// What comes out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Merged {
    /// The next event of all.
    Event(Event),
    /// A CPU recorded so many events that nobody could read, not before this place and not after `until_ns`.
    Lost {
        /// The CPU.
        cpu: u8,
        /// How many.
        count: u64,
        /// Stamp of its next event that was read.
        until_ns: u64,
    },
}

/// See above.
#[derive(Debug, Default)]
pub struct Merger {
    queues: Vec<VecDeque<(u64, Merged)>>,
    last_ns: Vec<u64>,
    newest_ns: u64,
    handed_ns: u64,
}

impl Merger {
    /// Takes the batches of one round, and calls `each` with what is certain now.
    pub fn feed(&mut self, batches: Vec<Batch>, mut each: impl FnMut(Merged)) {
        let mut certain_ns = self.newest_ns;
        self.queues.resize(batches.len(), VecDeque::new());
        self.last_ns.resize(batches.len(), 0);
        for (cpu, batch) in batches.into_iter().enumerate() {
            if batch.lost != 0 {
                // Nothing that was handed on is later than what was lost: see above.
                let from_ns = self.last_ns[cpu].max(self.handed_ns);
                let until_ns = batch.events.first().map_or(from_ns, |event| event.ns);
                let lost = Merged::Lost {
                    cpu: cpu as u8,
                    count: batch.lost,
                    until_ns,
                };
                self.queues[cpu].push_back((from_ns, lost));
            }
            if let Some(last) = batch.events.last() {
                self.last_ns[cpu] = last.ns;
                self.newest_ns = self.newest_ns.max(last.ns);
            }
            if batch.writing {
                certain_ns = certain_ns.min(self.last_ns[cpu]);
            }
            let events = batch.events.into_iter();
            self.queues[cpu].extend(events.map(|e| (e.ns, Merged::Event(e))));
        }
        self.hand_on(certain_ns, &mut each);
    }

    /// The machine has ended: the rest.
    pub fn finish(&mut self, mut each: impl FnMut(Merged)) {
        self.hand_on(u64::MAX, &mut each);
    }

    fn hand_on(&mut self, before_ns: u64, each: &mut impl FnMut(Merged)) {
        loop {
            let heads = self.queues.iter().enumerate();
            let first = heads
                .filter_map(|(cpu, queue)| Some((queue.front()?.0, cpu)))
                .min();
            match first {
                Some((ns, cpu)) if ns < before_ns => {
                    self.handed_ns = self.handed_ns.max(ns);
                    if let Some((_, item)) = self.queues[cpu].pop_front() {
                        each(item)
                    }
                }
                _ => return,
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use trace::Kind;

    fn event(cpu: u8, ns: u64) -> Event {
        Event {
            ns,
            kind: Kind::User,
            cpu,
            goid: 0,
            arg: 0,
            seq: 0,
        }
    }

    fn batch(cpu: u8, stamps: &[u64]) -> Batch {
        Batch {
            events: stamps.iter().map(|&ns| event(cpu, ns)).collect(),
            ..Batch::default()
        }
    }

    fn stamps(merger: &mut Merger, batches: Vec<Batch>) -> Vec<u64> {
        let mut out = Vec::new();
        merger.feed(batches, |item| match item {
            Merged::Event(e) => out.push(e.ns),
            Merged::Lost { count, .. } => out.push(1000 + count),
        });
        out
    }

    #[test]
    fn nothing_is_handed_on_before_it_is_certain() {
        let mut m = Merger::default();
        assert_eq!(
            stamps(&mut m, vec![batch(0, &[1, 5]), batch(1, &[2, 9])]),
            []
        );
        // CPU 0 had not shown 6 and 7 yet when 9 was read.
        assert_eq!(
            stamps(&mut m, vec![batch(0, &[6, 7, 20]), batch(1, &[])]),
            [1, 2, 5, 6, 7]
        );
        // CPU 1 is recording: it may come with anything after 9.
        let writing = Batch {
            writing: true,
            ..Batch::default()
        };
        assert_eq!(stamps(&mut m, vec![batch(0, &[30]), writing]), []);
        assert_eq!(
            stamps(&mut m, vec![batch(0, &[]), batch(1, &[11])]),
            [9, 11, 20]
        );
        let mut rest = 0;
        m.finish(|_| rest += 1);
        assert_eq!(rest, 1);
    }

    #[test]
    fn a_loss_stands_where_it_began() {
        let mut m = Merger::default();
        stamps(&mut m, vec![batch(0, &[1, 5]), batch(1, &[2, 9])]);
        let lossy = Batch {
            lost: 3,
            ..batch(0, &[20])
        };
        assert_eq!(
            stamps(&mut m, vec![lossy, batch(1, &[12, 25])]),
            [1, 2, 5, 1003]
        );
        assert_eq!(
            stamps(&mut m, vec![batch(0, &[]), batch(1, &[])]),
            [9, 12, 20]
        );
    }

    #[test]
    fn equal_stamps_go_by_cpu() {
        let mut m = Merger::default();
        stamps(&mut m, vec![batch(0, &[4]), batch(1, &[4])]);
        let mut cpus = Vec::new();
        m.finish(|item| {
            if let Merged::Event(e) = item {
                cpus.push(e.cpu)
            }
        });
        assert_eq!(cpus, [0, 1]);
    }
}
