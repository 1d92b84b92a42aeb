//! A shell: looks into the running machine and gives it something to do. `help` lists its commands.
#![no_std]
#![no_main]
ringo::main!(main);

fn main() {
    ringo::shell::run()
}
