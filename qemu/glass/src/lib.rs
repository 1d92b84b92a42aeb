//! Looking into a running machine from outside. Its memory is a file; the kernel's header ([`trace::glass`]) tells where what
//! lies. Nothing here talks to the machine, and the machine notices nothing.
//!
//! | file | idea |
//! |---|---|
//! | `ram` | the memory: physical and, by the machine's page tables, virtual addresses |
//! | `view` | what each M and P does at an instant, queues, all Gs |
//! | `drain` `merge` | events out of the rings while the machine runs, in one order for all CPUs |
//! | `check` `idle_rule` | the invariants that every list of events keeps |
//! | `closing` | the same list against the memory that the machine leaves behind |

mod check;
mod closing;
mod drain;
mod idle_rule;
mod merge;
mod ram;
mod view;

pub use check::{Checker, Rule, Rules, Violation};
pub use closing::closing_check;
pub use drain::{Batch, Drain};
pub use merge::{Merged, Merger};
pub use ram::{Ram, Space, Table};
pub use trace::{Event, Kind};
pub use view::{CpuView, GState, GView, Glass, PView, QueueView, Snapshot};
