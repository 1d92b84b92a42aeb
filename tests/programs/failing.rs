//! Arguments, both output streams, and an error as the result.
#![no_std]
#![no_main]
use ringo::prelude::*;
ringo::main!(main);

#[derive(Debug)]
#[allow(dead_code)] // only printed
struct TooMany(usize);

fn main() -> Result<(), TooMany> {
    let words: Vec<String> = args().collect();
    println!("> {} words, the last is {:?}", words.len(), words.last());
    eprintln!("this goes to the error side");
    if words.len() > 2 {
        Err(TooMany(words.len()))
    } else {
        Ok(())
    }
}
