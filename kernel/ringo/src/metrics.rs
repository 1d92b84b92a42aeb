//! What the scheduler measures about itself (Go: package runtime/metrics).
//!
//! ```no_run
//! let m = ringo::metrics::read();
//! ringo::println!("{} goroutines wait, {} run", m.goroutines.waiting, m.goroutines.running);
//! if let Some(ns) = m.latencies.quantile_ns(990) {
//!     ringo::println!("99 of 100 goroutines ran {ns} ns after they were ready, or sooner");
//! }
//! ```
//!
//! | Go | here |
//! |---|---|
//! | `/sched/gomaxprocs:threads` | `gomaxprocs` |
//! | `/sched/threads/total:threads` | `threads` |
//! | `/sched/goroutines:goroutines` | `goroutines.total()` |
//! | `/sched/goroutines/{running,runnable,waiting,not-in-go}` | `goroutines` |
//! | `/sched/goroutines-created:goroutines` | `created` |
//! | `/sched/latencies:seconds` | `latencies` |
//! | `/sched/pauses/{stopping,total}/…:seconds` | `pauses` |
//! | `/sync/mutex/wait/total:seconds` | `mutex_wait_ns` |
//! | the mutex profile's runtime locks | `lock_waits`, `lock_wait_ns()` |
//! | (none) | `netpoll_waiters`, `netpolls`, `connections`: of the network |
//! | `/cpu/classes/{user,idle,total}:cpu-seconds` | `cpu_user_ns`, `cpu_idle_ns`, `cpu_total_ns()` |

pub use base::{LockWaits, Rank};
pub use sched::histogram::{BUCKETS, Counts, bucket_start_ns};
pub use sched::metrics::{Goroutines, Metrics, PauseMetrics};
pub use sched::netpoll::Connections;

/// All measurements since the start. Walks over all goroutines: some 100 ns for each.
///
/// ```
/// # sched::testing::run(2, 2, || {
/// let before = ringo::metrics::read().created;
/// csp::spawn(|| ()).join();
/// assert_eq!(ringo::metrics::read().created, before + 1);
/// # });
/// ```
pub fn read() -> Metrics {
    sched::this().metrics()
}

#[cfg(ringo_kernel)]
pub(crate) use json::Json;

/// For the runner.
#[cfg(ringo_kernel)]
mod json {
    use super::{Counts, Metrics};
    use core::fmt;
    /// Quantiles that are shown, in thousandths.
    const SHOWN: [(&str, u32); 4] = [("p50", 500), ("p90", 900), ("p99", 990), ("p99_9", 999)];

    /// The measurements as members of a JSON object, without the braces.
    pub(crate) struct Json<'a>(pub &'a Metrics);

    impl fmt::Display for Json<'_> {
        fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            let (m, g) = (self.0, &self.0.goroutines);
            write!(
                f,
                "\"gomaxprocs\":{},\"threads\":{},\"goroutines\":{},\"running\":{},\"runnable\":{},\"waiting\":{},\
             \"not_in_go\":{},\"created\":{},",
                m.gomaxprocs,
                m.threads,
                g.total(),
                g.running,
                g.runnable,
                g.waiting,
                g.not_in_go,
                m.created
            )?;
            write!(f, "\"latency_ns\":{}", JsonTimes(&m.latencies))?;
            for p in &m.pauses {
                let word = p.reason.word();
                write!(
                    f,
                    ",\"pauses_{word}\":{{\"stopping_ns\":{},\"total_ns\":{}}}",
                    JsonTimes(&p.stopping),
                    JsonTimes(&p.total)
                )?;
            }
            f.write_str(",\"lock_waits\":{")?;
            for (i, waits) in m.lock_waits.iter().filter(|w| w.count != 0).enumerate() {
                let comma = if i == 0 { "" } else { "," };
                let (rank, count, ns) = (waits.rank, waits.count, waits.ns);
                write!(f, "{comma}\"{rank:?}\":{{\"count\":{count},\"ns\":{ns}}}")?
            }
            f.write_str("}")?;
            if m.connections != Default::default() {
                let c = &m.connections;
                write!(
                    f,
                    ",\"connections\":{{\"open\":{},\"most\":{},\"turned_away\":{},\"remembered\":{}}}",
                    c.open, c.most, c.turned_away, c.remembered
                )?
            }
            write!(
                f,
                ",\"mutex_wait_ns\":{},\"cpu_user_ns\":{},\"cpu_idle_ns\":{:?},\"cpu_halted_ns\":{:?}",
                m.mutex_wait_ns, m.cpu_user_ns, m.cpu_idle_ns, m.cpu_halted_ns
            )
        }
    }

    /// A histogram as a JSON object: how many values, and upper bounds of some quantiles.
    struct JsonTimes<'a>(&'a Counts);

    impl fmt::Display for JsonTimes<'_> {
        fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            write!(f, "{{\"count\":{}", self.0.total())?;
            for (name, per_mille) in SHOWN {
                if let Some(ns) = self.0.quantile_ns(per_mille) {
                    write!(f, ",\"{name}\":{ns}")?
                }
            }
            f.write_str("}")
        }
    }
}
