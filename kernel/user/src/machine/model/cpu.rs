//! The threads of the model.

use super::{Tables, USER_END, frame_bytes};
use crate::machine::PAGE;
use arch::UserExit;
use std::sync::atomic::{AtomicU32, Ordering::SeqCst};

/// Instructions: the first of six words.
pub mod op {
    /// A system call: number, four arguments.
    pub const CALL: u64 = 1;
    /// A store: address, value.
    pub const STORE: u64 = 2;
    /// Endless loop.
    pub const SPIN: u64 = 3;
    /// An exception: vector, error code, address.
    pub const RAISE: u64 = 4;
    /// A jump: address.
    pub const JUMP: u64 = 5;
    /// A jump if the last answer is another: answer, address.
    pub const JUMP_UNLESS: u64 = 6;
    /// Stores the last answer: address.
    pub const STORE_ANSWER: u64 = 7;
    /// Stores RDI as it was at the start: address.
    pub const STORE_ARG: u64 = 8;
    /// Bytes of an instruction.
    pub const BYTES: u64 = 48;
}

/// Registers of a thread in ring 3.
pub struct UserContext {
    rip: u64,
    rsp: u64,
    arg: u64,
    number: u64,
    args: [u64; 6],
    answer: i64,
    answers: [Option<u64>; abi::QUICK_CALLS as usize],
}

/// Runs a thread until something happens.
pub fn run(ctx: &mut UserContext, tables: &Tables, stop: &AtomicU32) -> UserExit {
    loop {
        if stop.load(SeqCst) != 0 {
            return UserExit::Stopped;
        }
        if let Err(exit) = ctx.step(tables) {
            return exit;
        }
    }
}

impl UserContext {
    /// A thread that begins at `entry`.
    pub fn new(entry: u64, stack_top: u64, args: [u64; 2]) -> UserContext {
        UserContext {
            rip: entry,
            rsp: stack_top,
            arg: args[0],
            number: 0,
            args: [0; 6],
            answer: 0,
            answers: [None; abi::QUICK_CALLS as usize],
        }
    }

    /// Quick call `number` is answered so from here on.
    pub fn set_answer(&mut self, number: u64, answer: u64) {
        self.answers[number as usize] = Some(answer)
    }
    /// Number of the system call.
    pub fn number(&self) -> u64 {
        self.number
    }
    /// Its arguments.
    pub fn args(&self) -> [u64; 6] {
        self.args
    }
    /// Its answer.
    pub fn set_result(&mut self, answer: i64) {
        self.answer = answer
    }
    /// Where it is.
    pub fn rip(&self) -> u64 {
        self.rip
    }
    /// Its stack pointer.
    pub fn rsp(&self) -> u64 {
        self.rsp
    }

    fn step(&mut self, tables: &Tables) -> Result<(), UserExit> {
        let mut w = [0; 6];
        for (i, word) in w.iter_mut().enumerate() {
            *word = load(tables, self.rip + 8 * i as u64)?;
        }
        let mut next = self.rip + op::BYTES;
        match w[0] {
            op::CALL => {
                self.rip = next;
                (self.number, self.args) = (w[1], [w[2], w[3], w[4], w[5], 0, 0]);
                if w[1] >= abi::QUICK_CALLS {
                    return Err(UserExit::Syscall);
                }
                self.answer = match self.answers[w[1] as usize] {
                    Some(answer) => answer as i64,
                    None => crate::thread::answer_quick(w[1]),
                }
            }
            op::STORE => store(tables, w[1], w[2])?,
            op::STORE_ANSWER => store(tables, w[1], self.answer as u64)?,
            op::STORE_ARG => store(tables, w[1], self.arg)?,
            op::SPIN => {
                sched::yield_now();
                next = self.rip
            }
            op::RAISE => return Err(exception(w[1] as u8, w[2], w[3])),
            op::JUMP => next = w[1],
            op::JUMP_UNLESS if self.answer as u64 != w[1] => next = w[2],
            op::JUMP_UNLESS => {}
            _ => return Err(exception(6, 0, 0)),
        }
        self.rip = next;
        Ok(())
    }
}

fn exception(vector: u8, error_code: u64, address: u64) -> UserExit {
    UserExit::Exception {
        vector,
        error_code,
        address,
    }
}

/// Where a word lies, or the fault.
fn word(tables: &Tables, address: u64, write: bool) -> Result<*mut u64, UserExit> {
    if !address.is_multiple_of(8) {
        return Err(exception(17, 0, 0));
    }
    let code = 4 | if write { 2 } else { 0 };
    if address >= USER_END {
        return Err(exception(14, code, address));
    }
    match tables.lookup(address / PAGE * PAGE) {
        Some((_, access)) if write && !access.write => Err(exception(14, code | 1, address)),
        Some((frame, _)) => Ok(frame_bytes(frame + address % PAGE).cast()),
        None => Err(exception(14, code, address)),
    }
}

fn load(tables: &Tables, address: u64) -> Result<u64, UserExit> {
    // SAFETY: a mapped frame, and tests unmap no memory that a thread reads meanwhile.
    Ok(unsafe { word(tables, address, false)?.read_volatile() })
}

fn store(tables: &Tables, address: u64, value: u64) -> Result<(), UserExit> {
    // SAFETY: as in `load`.
    unsafe { word(tables, address, true)?.write_volatile(value) };
    Ok(())
}

/// Every CPU looks at the stop words of what it runs; here it does so by itself.
pub fn interrupt_busy() {}
