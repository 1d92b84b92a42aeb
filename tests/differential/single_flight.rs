//! A cache that many ask at once: each key is computed once, all others wait for it.
#![no_std]
#![no_main]
extern crate alloc;
use alloc::collections::BTreeMap;
use core::sync::atomic::{AtomicU64, Ordering::Relaxed};
use ringo::prelude::*;
ringo::main!(main);

#[derive(Default)]
struct Cache {
    entries: Mutex<BTreeMap<u64, Arc<OnceLock<u64>>>>,
    computed: AtomicU64,
}

impl Cache {
    fn get(&self, key: u64) -> u64 {
        let entry = self.entries.lock().entry(key).or_default().clone();
        *entry.get_or_init(|| {
            self.computed.fetch_add(1, Relaxed);
            for _ in 0..20 {
                yield_now(); // slow work: the others come meanwhile
            }
            key * key
        })
    }
}

fn main() {
    let (cache, sum) = (Cache::default(), AtomicU64::new(0));
    scope(|s| {
        let (cache, sum) = (&cache, &sum);
        for asker in 0..50 {
            s.go(move || {
                for i in 0..10 {
                    sum.fetch_add(cache.get((asker + i) % 10), Relaxed);
                }
            });
        }
    });
    let (computed, sum) = (cache.computed.into_inner(), sum.into_inner());
    println!("asked 500 times, computed {computed} times, sum {sum}");
}
