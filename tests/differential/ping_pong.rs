//! Two players and one ball: unbuffered channels make them take turns.
#![no_std]
#![no_main]
use ringo::prelude::*;
ringo::main!(main);

fn player(name: &str, table: Receiver<u32>, other: Sender<u32>) -> String {
    for hits in &table {
        println!("{name} {hits}");
        if hits == 10 {
            return format!("{name} won"); // closes the other's channel
        }
        other.send(hits + 1).unwrap();
    }
    format!("{name} lost")
}

fn main() {
    let ((to_ping, left), (to_pong, right)) = (chan(0), chan(0));
    let serve = to_ping.clone();
    let ping = spawn(move || player("ping", left, to_pong));
    let pong = spawn(move || player("pong", right, to_ping));
    serve.send(1).unwrap();
    drop(serve);
    println!("{} - {}", ping.join(), pong.join());
}
