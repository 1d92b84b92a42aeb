//! Says hello, with its arguments, and that its threads are goroutines.
#![no_std]
#![no_main]
use rt::machine::{cpu, process_id, thread_id};
use rt::prelude::*;
rt::main!(main);

fn main() {
    let given: Vec<String> = args().collect();
    println!("hello from process {}, given {given:?}", process_id());
    let threads = (0..num_cpu()).map(|_| spawn(|| (thread_id(), cpu())));
    for (thread, cpu) in threads
        .collect::<Vec<_>>()
        .into_iter()
        .map(JoinHandle::join)
    {
        println!("hello from goroutine {thread} on CPU {cpu}");
    }
}
