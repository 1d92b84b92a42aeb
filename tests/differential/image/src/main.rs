//! The programs of `tests/differential` in one kernel: it runs those that its arguments name, one after the other. `list`
//! prints all names.
//!
//! Each file is a program of its own as well (`cargo run -- tests/differential/sieve.rs`). Here they are modules, so this
//! crate stands where they expect `ringo`: its `main!` makes a function `program_main` of a program's `main`.
#![no_std]
#![no_main]

extern crate alloc;
extern crate self as ringo;

pub use machine::prelude;
use prelude::*;

machine::main!(main);

/// A program as a module.
#[macro_export]
macro_rules! main {
    ($main:path) => {
        /// The program; answers its exit status.
        pub fn program_main() -> i32 {
            ::machine::Termination::report($main())
        }
    };
}

// What only a crate's root may say, they say for when they are one.
#[allow(unused_attributes)]
#[path = "../.."]
mod programs {
    pub mod bank;
    pub mod barber;
    pub mod barrier;
    pub mod bounded_buffer;
    pub mod chain;
    pub mod context_tree;
    pub mod conway;
    pub mod crawler;
    pub mod debounce;
    pub mod errgroup;
    pub mod fan_in;
    pub mod fan_out;
    pub mod first_of;
    pub mod goexit;
    pub mod hamming;
    pub mod heartbeat;
    pub mod lexer;
    pub mod life;
    pub mod map_reduce;
    pub mod matrix;
    pub mod merge_sort;
    pub mod once;
    pub mod philosophers;
    pub mod ping_pong;
    pub mod pipeline_cancel;
    pub mod power_series;
    pub mod priority;
    pub mod pubsub;
    pub mod queens;
    pub mod rate_limiter;
    pub mod readers_writers;
    pub mod requests;
    pub mod retry;
    pub mod same_tree;
    pub mod semaphore;
    pub mod sieve;
    pub mod single_flight;
    pub mod smokers;
    pub mod sorting_network;
    pub mod timeouts;
    pub mod timers;
    pub mod token_ring;
    pub mod traffic_light;
    pub mod unbounded;
    pub mod worker_pool;
}

/// Name and `main` of each module.
macro_rules! table {
    ($($name:ident)*) => { &[$((stringify!($name), programs::$name::program_main)),*] };
}

/// A program: its name, and its `main`.
type Program = (&'static str, fn() -> i32);

#[rustfmt::skip]
const PROGRAMS: &[Program] = table!(
    bank barber barrier bounded_buffer chain context_tree conway crawler debounce errgroup fan_in fan_out first_of
    goexit hamming heartbeat lexer life map_reduce matrix merge_sort once philosophers ping_pong pipeline_cancel
    power_series priority pubsub queens rate_limiter readers_writers requests retry same_tree semaphore sieve
    single_flight smokers sorting_network timeouts timers token_ring traffic_light unbounded worker_pool
);

/// Runs one, between lines that tell which. None of its goroutines may be left when it is over.
fn program(name: &str) -> Result<(), String> {
    let Some((_, run)) = PROGRAMS.iter().find(|(n, _)| *n == name) else {
        return Err(format!(
            "there is no program {name}; the argument `list` names all"
        ));
    };
    println!("### {name}");
    let status = run();
    // The last ones may be on their way out; a busy host may have stopped the thread that runs them.
    for _ in 0..5000 {
        if num_goroutine() == 1 {
            break;
        }
        sleep(Duration::from_millis(1));
    }
    println!(
        "### {name} ends: status {status}, goroutines {}",
        num_goroutine()
    );
    Ok(())
}

fn main() -> Result<(), String> {
    let names: Vec<String> = args().collect();
    if names == ["list"] {
        PROGRAMS.iter().for_each(|(name, _)| println!("{name}"));
        return Ok(());
    }
    names.iter().try_for_each(|name| program(name))
}
