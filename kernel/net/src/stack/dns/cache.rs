//! What servers have said, for as long as they said it holds, within bounds.

use super::Answer;
use crate::stack::common::SECOND_NS;
use alloc::boxed::Box;
use alloc::collections::BTreeMap;

/// Names at most.
const MOST: usize = 256;
/// Nothing is believed for longer than an hour.
const SECONDS_MOST: u32 = 3600;
struct Entry {
    answer: Answer,
    end_ns: u64,
}

pub(super) struct Cache(BTreeMap<Box<[u8]>, Entry>);

impl Cache {
    pub const fn new() -> Cache {
        Cache(BTreeMap::new())
    }

    pub fn get(&mut self, name: &[u8], now_ns: u64) -> Option<Answer> {
        let entry = self.0.get(name)?;
        if entry.end_ns <= now_ns {
            self.0.remove(name);
            return None;
        }
        Some(entry.answer.clone())
    }

    /// What holds for no time is not kept.
    pub fn put(&mut self, name: &[u8], answer: &Answer, seconds: u32, now_ns: u64) {
        if seconds == 0 {
            self.0.remove(name);
            return;
        }
        if self.0.len() >= MOST && !self.0.contains_key(name) {
            // The one that would be forgotten first.
            let first = self.0.iter().min_by_key(|(_, entry)| entry.end_ns);
            let first = first.map(|(name, _)| name.clone());
            first.and_then(|name| self.0.remove(&name));
        }
        let entry = Entry {
            answer: answer.clone(),
            end_ns: now_ns.saturating_add(u64::from(seconds.min(SECONDS_MOST)) * SECOND_NS),
        };
        self.0.insert(name.into(), entry);
    }

    #[cfg(test)]
    pub fn len(&self) -> usize {
        self.0.len()
    }
}
