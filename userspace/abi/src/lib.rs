//! What the kernel and ring-3 programs agree on: numbers of system calls, errors, records that pass between them.
//!
//! **A call**: `syscall` with the number in RAX, arguments in RDI RSI RDX R10 R8 R9; the answer in RAX, an [`Error`] as its
//! number below 0. RCX and R11 are lost to the instruction. The other registers that a C function may change (RDI RSI RDX R8 R9
//! R10, XMM0 to XMM15, the x87 registers) are not kept; what a C function keeps is kept: RBX RBP RSP R12 to R15, MXCSR and the
//! x87 control word. What interrupts a program at any instruction keeps all.
//!
//! **A start**: RDI points at the arguments, each ended by a NUL; RSI is their length in bytes. RSP is a multiple of 16. The
//! first handles are 0, 1, 2: standard input, output, errors.
#![no_std]

/// What a system call is to the scheduler.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cost {
    /// Answered on the spot, interrupts off, in far less than a microsecond.
    Quick,
    /// Short, or it parks its goroutine: the CPU goes on with others.
    Parks,
    /// It may occupy its CPU for long: the P is handed to others meanwhile (Go: `entersyscall`).
    Blocks,
}

macro_rules! calls {
    ($($(#[$meta:meta])* $name:ident = $number:literal, $cost:ident, $args:literal;)*) => {
        /// A system call's number.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        #[repr(u64)]
        pub enum Call { $($(#[$meta])* $name = $number,)* }

        impl Call {
            /// All of them, in the order of their numbers.
            pub const ALL: &[Call] = &[$(Call::$name,)*];

            /// The call of that number.
            pub fn from_number(number: u64) -> Option<Call> {
                match number { $($number => Some(Call::$name),)* _ => None }
            }

            /// What it is to the scheduler.
            pub fn cost(self) -> Cost {
                match self { $(Call::$name => Cost::$cost,)* }
            }

            /// How many arguments it takes.
            pub fn args(self) -> usize {
                match self { $(Call::$name => $args,)* }
            }

            /// Its name.
            pub fn name(self) -> &'static str {
                match self { $(Call::$name => stringify!($name),)* }
            }
        }
    };
}

/// Numbers below this are [`Cost::Quick`], all others are not.
pub const QUICK_CALLS: u64 = 16;

calls! {
    /// Nothing; 0. For measuring.
    Null = 0, Quick, 0;
    /// Nanoseconds since the machine's start.
    Now = 1, Quick, 0;
    /// Number of the CPU that runs this. It may be another one by the time that the caller looks at it.
    Cpu = 2, Quick, 0;
    /// Number of the calling thread: its goroutine's.
    ThreadId = 3, Quick, 0;
    /// Number of the calling process.
    ProcessId = 4, Quick, 0;
    /// CPUs of the machine.
    NumCpu = 5, Quick, 0;

    /// `(code)`: end the process, all its threads.
    Exit = 16, Parks, 1;
    /// End the calling thread. The last one ends the process, with code 0.
    ThreadExit = 17, Parks, 0;
    /// Let others run (Go: `Gosched`).
    Yield = 18, Parks, 0;
    /// `(ns)`: sleep.
    Sleep = 19, Parks, 1;
    /// `(entry, argument, stack top)`: a new thread, a goroutine of this process; its number. It starts at `entry` with RDI = `argument`
    /// and RSP = `stack top`, which must be a multiple of 16, less 8, as after a call.
    SpawnThread = 20, Parks, 3;
    /// `(&Spawn)`: a new process; a handle to it.
    SpawnProcess = 21, Parks, 1;
    /// `(handle of a process, &mut Ended)`: wait until it has ended.
    Wait = 22, Parks, 2;
    /// `(handle of a process)`: end it.
    Kill = 23, Parks, 1;
    /// `(n)`: set the number of Ps, cut to the CPUs; the number before. 0 only asks (Go: `GOMAXPROCS`).
    Gomaxprocs = 24, Parks, 1;
    /// `(bytes, flags)`: fresh zeroed memory; its address. A whole number of pages; an unmapped page stays below and above. Backed
    /// when touched. `flags`: 0, or [`MAP_READ_ONLY`].
    Map = 25, Parks, 2;
    /// `(address, bytes)`: take pages out, whatever was mapped there by `Map` or `ShmMap`. When it returns no thread can
    /// reach them.
    Unmap = 26, Parks, 2;
    /// `(address, expected, timeout ns)`: sleep while the `u32` there is `expected`, until a wake or the time; [`FOREVER`]. 0 when
    /// woken; [`Error::Again`]: it was not `expected`; [`Error::TimedOut`]. The address is a multiple of 4. In shared memory it
    /// works between processes.
    FutexWait = 27, Parks, 3;
    /// `(address, n)`: wake up to `n` sleepers; how many.
    FutexWake = 28, Parks, 2;
    /// `(&mut [u32; 2])`: a pipe of bytes; handles to read and to write.
    Pipe = 29, Parks, 1;
    /// `(bytes)`: memory to share, zeroed; a handle. Whoever maps it counts it against his own limit.
    Shm = 30, Parks, 1;
    /// `(handle, flags)`: map all of it; the address.
    ShmMap = 31, Parks, 2;
    /// `(capacity in messages, &mut [u32; 2])`: a channel of messages; handles to send and to receive. 0: who sends waits for who
    /// receives.
    Chan = 32, Parks, 2;
    /// `(handle, address, bytes)`: send a message of at most [`MESSAGE_MAX_BYTES`]; waits for room. [`Error::Closed`]: nobody can receive.
    Send = 33, Parks, 3;
    /// `(handle, address, bytes)`: receive a message; its length. [`Error::TooSmall`], and the message is lost, if it does not fit;
    /// [`Error::Closed`]: closed and drained.
    Recv = 34, Parks, 3;
    /// `(handle, address, bytes)`: read some bytes; how many, 0 at the end. Console, file, pipe, TCP connection.
    Read = 35, Parks, 3;
    /// `(handle, address, bytes)`: write; how many. Console, pipe, TCP connection.
    Write = 36, Parks, 3;
    /// `(handle)`: give it up. Whoever waits on it in this process gets [`Error::BadHandle`].
    Close = 37, Parks, 1;
    /// `(name, bytes)`: open a file of the boot module or of the archive on the disk, for reading; a handle.
    Open = 38, Parks, 2;
    /// `(handle)`: size in bytes of a file, or of memory to share.
    Size = 39, Parks, 1;
    /// `(port)`: a TCP listener on all addresses of the machine; a handle. Port 0: any that is free.
    Listen = 40, Parks, 1;
    /// `(handle of a listener)`: the next connection; a handle.
    Accept = 41, Parks, 1;
    /// `(IPv4 address, port)`: a TCP connection; a handle. The address 127.0.0.1 is 0x7f000001.
    Connect = 42, Parks, 2;
    /// `(handle of a listener or connection)`: its port on this side.
    Port = 43, Parks, 1;
    /// `(handle)`: another handle to the same.
    Duplicate = 44, Parks, 1;

    /// `(sector, address, bytes)`: read whole sectors of the disk, 512 bytes each, at most [`DISK_READ_MAX_BYTES`]. Occupies the CPU until
    /// the data is there.
    DiskRead = 64, Blocks, 3;
}

/// The memory can be read only.
pub const MAP_READ_ONLY: u64 = 1;
/// No timeout.
pub const FOREVER: u64 = u64::MAX;
/// Longest message of a channel.
pub const MESSAGE_MAX_BYTES: u64 = 4096;
/// Largest read of the disk in one call.
pub const DISK_READ_MAX_BYTES: u64 = 64 << 10;
/// Bytes of a page.
pub const PAGE_BYTES: u64 = 4096;
/// Handles that every process begins with.
pub const STDIN: u32 = 0;
/// See [`STDIN`].
pub const STDOUT: u32 = 1;
/// See [`STDIN`].
pub const STDERR: u32 = 2;

/// What [`Call::SpawnProcess`] is given.
#[derive(Clone, Copy, Debug, Default)]
#[repr(C)]
pub struct Spawn {
    /// Address and length of the program's name.
    pub name: [u64; 2],
    /// Address and length of its arguments, each ended by a NUL.
    pub args: [u64; 2],
    /// Address and number of handles (`u32`) that it gets; they are its handles 0, 1, 2 and so on. [`NO_HANDLE`] leaves one out.
    pub handles: [u64; 2],
}

/// In [`Spawn::handles`]: none.
pub const NO_HANDLE: u32 = u32::MAX;

/// How a process has ended: what [`Call::Wait`] fills in.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(C)]
pub struct Ended {
    /// An [`Ending`].
    pub how: u32,
    /// The code of `Exit`, the vector of an exception.
    pub code: i32,
    /// Address that a page fault was about.
    pub address: u64,
    /// Instruction at which it happened.
    pub rip: u64,
}

/// The ways to end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum Ending {
    /// By `Exit` or the last `ThreadExit`.
    Exit = 0,
    /// By an exception: null pointer, privileged instruction, division by zero, …
    Exception = 1,
    /// By `Kill`.
    Killed = 2,
    /// It touched a page for which no memory was left, or which its limit does not allow.
    OutOfMemory = 3,
    /// All its threads slept on words of its own memory, so that nobody could wake them (Go: all goroutines are asleep).
    Deadlock = 4,
}

macro_rules! errors {
    ($($(#[$meta:meta])* $name:ident = $number:literal, $text:literal;)*) => {
        /// Why a system call fails. The answer is its number, below 0.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        #[repr(i64)]
        pub enum Error { $($(#[$meta])* $name = $number,)* }

        impl Error {
            /// All of them.
            pub const ALL: &[Error] = &[$(Error::$name,)*];

            /// The error of a call's answer, if it is one.
            pub fn from_answer(answer: i64) -> Option<Error> {
                match answer { $($number => Some(Error::$name),)* _ => None }
            }
        }

        impl core::fmt::Display for Error {
            fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
                f.write_str(match self { $(Error::$name => $text,)* })
            }
        }
    };
}

errors! {
    /// No call has that number.
    NoSuchCall = -1, "there is no such system call";
    /// An address that the process may not use so.
    BadAddress = -2, "bad address";
    /// The handle is none, or not of that kind.
    BadHandle = -3, "bad handle";
    /// An argument out of range.
    BadArgument = -4, "bad argument";
    /// No memory is left, or the process's limit is reached.
    OutOfMemory = -5, "out of memory";
    /// Too many handles, threads or processes.
    Limit = -6, "a limit of this process is reached";
    /// No file or program of that name.
    NotFound = -7, "not found";
    /// The file is no program that can be run.
    NotExecutable = -8, "not a program";
    /// The other side is gone.
    Closed = -9, "closed";
    /// The time is up.
    TimedOut = -10, "timed out";
    /// It is not so now; try again.
    Again = -11, "try again";
    /// The room given is too small.
    TooSmall = -12, "too small";
    /// There is no disk, or it failed.
    Disk = -13, "no disk, or the disk failed";
    /// There is no network, or the connection failed.
    Network = -14, "no network, or the connection failed";
    /// The address is in use.
    InUse = -15, "address in use";
    /// Nobody listens there.
    Refused = -16, "connection refused";
    /// The process is being ended; seen by nobody.
    Killed = -17, "killed";
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_and_costs() {
        for call in Call::ALL {
            let number = *call as u64;
            assert_eq!(Call::from_number(number), Some(*call));
            assert_eq!(call.cost() == Cost::Quick, number < QUICK_CALLS, "{call:?}");
            assert!(call.args() <= 6);
        }
        assert!(Call::ALL.windows(2).all(|w| (w[0] as u64) < w[1] as u64));
        assert_eq!(Call::from_number(99), None);
    }

    #[test]
    fn answers() {
        for error in Error::ALL {
            assert_eq!(Error::from_answer(*error as i64), Some(*error));
        }
        assert_eq!(Error::from_answer(0), None);
    }
}
