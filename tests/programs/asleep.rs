#![no_std]
#![no_main]
use ringo::prelude::*;
ringo::main!(main);

fn main() {
    sleep(Duration::from_secs(86_400));
}
