//! The sleeping barber: two chairs to wait in; who finds them taken goes away.
#![no_std]
#![no_main]
use ringo::prelude::*;
ringo::main!(main);

fn barber(chairs: Receiver<u32>) -> Vec<u32> {
    let shave = |customer| {
        sleep(Duration::from_millis(80));
        customer
    };
    chairs.iter().map(shave).collect()
}

fn show(what: &str, customers: &[u32]) {
    let numbers: Vec<_> = customers.iter().map(u32::to_string).collect();
    println!("{what}: [{}]", numbers.join(" "));
}

fn main() {
    let (chairs, waiting) = chan(2);
    let shop = spawn(move || barber(waiting));
    let mut away = vec![];
    for customer in 1..=8 {
        if let Err(TrySendError::Full(customer)) = chairs.try_send(customer) {
            away.push(customer);
        }
        sleep(Duration::from_millis(30));
    }
    chairs.close();
    show("shaved", &shop.join());
    show("went away", &away);
}
