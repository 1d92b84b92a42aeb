//! The calls on handles, one function each. A call's arguments are any numbers; its answer is a number, or an error.

use crate::account::Account;
use crate::handles::Handles;
use crate::memory::UserMemory;
use crate::wait::Waits;
use alloc::sync::Arc;

/// Who calls.
pub struct Ctx<'a> {
    /// The memory of the process.
    pub memory: &'a dyn UserMemory,
    /// Its handles.
    pub handles: &'a Handles,
    /// What it may use.
    pub account: &'a Arc<Account>,
    /// The thread, as one that waits.
    pub waits: &'a Waits,
}
