//! The table of system calls: for each that is not quick a function. Quick ones never come here (`thread::answer_quick`).
//!
//! What a call is to the scheduler stands in [`Call::cost`]. A function that parks does so in its waits; one that occupies its CPU
//! hands its P on where it does that, in the driver (`sched::blocking`), since it may have to wait for its turn before.

use crate::call;
use crate::memory::Owner;
use crate::object::{Child, Object};
use crate::space::SharedFrames;
use crate::system::Spawn;
use crate::thread::Thread;
use crate::{limits, object};
use abi::{Call, Ended, Ending, Error};
use alloc::sync::Arc;
use alloc::vec::Vec;
use sched::WaitReason;

type Args = [u64; 6];
type Function = fn(&mut Thread, Args) -> Result<u64, Error>;

const TABLE: &[(Call, Function)] = &[
    (Call::Exit, exit),
    (Call::ThreadExit, |t, _| {
        t.asks_to_end = true;
        Ok(0)
    }),
    (Call::Yield, |_, _| {
        sched::yield_now();
        Ok(0)
    }),
    (Call::Sleep, |t, a| call::sleep(&t.ctx(), a[0])),
    (Call::SpawnThread, |t, a| t.spawn_thread(a[0], a[1], a[2])),
    (Call::SpawnProcess, spawn_process),
    (Call::Wait, wait),
    (Call::Kill, kill),
    (Call::Gomaxprocs, |_, a| {
        Ok(sched::set_gomaxprocs(usize::try_from(a[0]).unwrap_or(usize::MAX)) as u64)
    }),
    (Call::Map, |t, a| t.space.map(a[0], may_write(a[1])?)),
    (Call::Unmap, |t, a| t.space.unmap(a[0], a[1]).map(|()| 0)),
    (Call::FutexWait, |t, a| t.futex_wait(a)),
    (Call::FutexWake, |t, a| {
        call::futex_wake(&t.ctx(), a[0], a[1])
    }),
    (Call::Pipe, |t, a| call::pipe(&t.ctx(), a[0])),
    (Call::Shm, |t, a| call::shm(&t.ctx(), a[0])),
    (Call::ShmMap, shm_map),
    (Call::Chan, |t, a| call::chan(&t.ctx(), a[0], a[1])),
    (Call::Send, |t, a| call::send(&t.ctx(), a[0], a[1], a[2])),
    (Call::Recv, |t, a| call::recv(&t.ctx(), a[0], a[1], a[2])),
    (Call::Read, |t, a| call::read(&t.ctx(), a[0], a[1], a[2])),
    (Call::Write, |t, a| call::write(&t.ctx(), a[0], a[1], a[2])),
    (Call::Close, |t, a| call::close(&t.ctx(), a[0])),
    (Call::Open, |t, a| call::open(&t.ctx(), a[0], a[1])),
    (Call::Size, |t, a| call::size(&t.ctx(), a[0])),
    (Call::Listen, |t, a| call::listen(&t.ctx(), a[0])),
    (Call::Accept, |t, a| call::accept(&t.ctx(), a[0])),
    (Call::Connect, |t, a| call::connect(&t.ctx(), a[0], a[1])),
    (Call::Port, |t, a| call::port(&t.ctx(), a[0])),
    (Call::Duplicate, |t, a| call::duplicate(&t.ctx(), a[0])),
    (Call::DiskRead, |t, a| {
        call::disk_read(&t.ctx(), a[0], a[1], a[2])
    }),
];

/// Numbers that may have a function.
const NUMBERS: usize = Call::DiskRead as usize + 1;

/// The same by number.
static BY_NUMBER: [Option<Function>; NUMBERS] = {
    let mut by_number: [Option<Function>; NUMBERS] = [None; NUMBERS];
    let mut i = 0;
    while i < TABLE.len() {
        by_number[TABLE[i].0 as usize] = Some(TABLE[i].1);
        i += 1
    }
    by_number
};

/// What a thread asks for.
///
/// # Errors
/// [`Error::NoSuchCall`], and those of the call.
pub fn call(thread: &mut Thread, number: u64, args: Args) -> Result<u64, Error> {
    let at = usize::try_from(number).unwrap_or(usize::MAX);
    match BY_NUMBER.get(at) {
        Some(Some(function)) => function(thread, args),
        _ => Err(Error::NoSuchCall),
    }
}

fn exit(t: &mut Thread, a: Args) -> Result<u64, Error> {
    t.process.end(Ended {
        how: Ending::Exit as u32,
        code: a[0] as i32, // as C has it: the low half
        ..Ended::default()
    });
    Ok(0)
}

fn may_write(flags: u64) -> Result<bool, Error> {
    match flags {
        0 => Ok(true),
        abi::MAP_READ_ONLY => Ok(false),
        _ => Err(Error::BadArgument),
    }
}

impl SharedFrames for object::shm::Shm {
    fn frames(&self) -> &[u64] {
        self.frames()
    }
    fn owner(&self) -> Owner {
        self.owner()
    }
}

fn shm_map(t: &mut Thread, a: Args) -> Result<u64, Error> {
    let write = may_write(a[1])?;
    match &t.process.handles.get(a[0])?.object {
        Object::Shm(shm) => t.space.map_shared(shm.clone(), write),
        _ => Err(Error::BadHandle),
    }
}

fn child(object: &Object) -> Result<&Arc<dyn Child>, Error> {
    match object {
        Object::Process(child) => Ok(child),
        _ => Err(Error::BadHandle),
    }
}

fn wait(t: &mut Thread, a: Args) -> Result<u64, Error> {
    let entry = t.process.handles.get(a[0])?;
    t.space.check_out(a[1], size_of::<Ended>() as u64)?;
    let wait = t.waits.wait_on(&entry.closing, WaitReason::Join);
    let Ended {
        how,
        code,
        address,
        rip,
    } = child(&entry.object)?.wait(wait)?;
    let mut bytes = [0; size_of::<Ended>()];
    bytes[..4].copy_from_slice(&how.to_le_bytes());
    bytes[4..8].copy_from_slice(&code.to_le_bytes());
    bytes[8..16].copy_from_slice(&address.to_le_bytes());
    bytes[16..].copy_from_slice(&rip.to_le_bytes());
    t.space.copy_out(a[1], &bytes).map(|()| 0)
}

fn kill(t: &mut Thread, a: Args) -> Result<u64, Error> {
    child(&t.process.handles.get(a[0])?.object)?.kill();
    Ok(0)
}

/// `n` bytes of the program's memory.
fn bytes_in(t: &Thread, [address, n]: [u64; 2], most: u64) -> Result<Vec<u8>, Error> {
    if n > most {
        return Err(Error::Limit);
    }
    let mut bytes = Vec::new();
    bytes
        .try_reserve_exact(n as usize)
        .map_err(|_| Error::OutOfMemory)?;
    bytes.resize(n as usize, 0);
    t.space.copy_in(address, &mut bytes)?;
    Ok(bytes)
}

/// What the kernel has of a process that is to begin beside its arguments: its name, numbers of handles and what they stand for.
const SPAWN_BYTES: u64 = 16 << 10;
/// Longest name of a program, in bytes.
const NAME_BYTES: u64 = 256;

fn spawn_process(t: &mut Thread, a: Args) -> Result<u64, Error> {
    let record = bytes_in(t, [a[0], size_of::<abi::Spawn>() as u64], u64::MAX)?;
    let mut words = record
        .chunks_exact(8)
        .map(|b| b.iter().rfold(0, |n, &b| n << 8 | u64::from(b)));
    let mut pair = || [words.next().unwrap_or(0), words.next().unwrap_or(0)];
    let (name, args, handles) = (pair(), pair(), pair());
    if handles[1] > u64::from(limits::HANDLES) {
        return Err(Error::Limit);
    }
    // Many threads may be here at once.
    let _charge = t.process.account.charge(limits::ARGS_BYTES + SPAWN_BYTES)?;
    let name = bytes_in(t, name, NAME_BYTES)?;
    let name = core::str::from_utf8(&name).map_err(|_| Error::NotFound)?;
    let args = bytes_in(t, args, limits::ARGS_BYTES)?;
    if args.last().is_some_and(|&b| b != 0) {
        return Err(Error::BadArgument); // not ended by a NUL
    }
    let numbers = bytes_in(t, [handles[0], handles[1] * 4], u64::MAX)?;
    let numbers = numbers
        .chunks_exact(4)
        .map(|b| b.iter().rfold(0, |n, &b| n << 8 | u32::from(b)));
    let objects = numbers.map(|number| match number {
        abi::NO_HANDLE => Ok(None),
        number => Ok(Some(
            t.process.handles.get(u64::from(number))?.object.clone(),
        )),
    });
    let spawn = Spawn {
        name,
        args: &args,
        handles: objects.collect::<Result<_, Error>>()?,
    };
    let prepared = t.process.system().prepare(t.process.job(), spawn)?;
    let handles = &t.process.handles;
    let [made] = handles.make([Object::Process(prepared.process.clone())])?;
    if let Err(why) = prepared.start() {
        handles.unmake(&made, &t.process.stop);
        return Err(why);
    }
    Ok(u64::from(made.number))
}

#[cfg(test)]
mod tests {
    use super::*;
    use abi::Cost;

    #[test]
    fn each_call_that_is_not_quick_has_one_function() {
        for &call in Call::ALL {
            let n = TABLE.iter().filter(|(c, _)| *c == call).count();
            assert_eq!(n, usize::from(call.cost() != Cost::Quick), "{call:?}");
            let function = BY_NUMBER[call as usize];
            assert_eq!(function.is_some(), n == 1);
        }
    }
}
