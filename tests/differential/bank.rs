//! Transfers between accounts: two locks each, always the lower account first.
#![no_std]
#![no_main]
use ringo::prelude::*;
ringo::main!(main);

const ACCOUNTS: usize = 6;
const TELLERS: usize = 8;
const TRANSFERS: usize = 250;

type Bank = [Mutex<i64>; ACCOUNTS];

fn transfer(bank: &Bank, from: usize, to: usize, amount: i64) -> bool {
    let mut low = bank[from.min(to)].lock();
    yield_now();
    let mut high = bank[from.max(to)].lock();
    let (from, to) = if from < to {
        (&mut *low, &mut *high)
    } else {
        (&mut *high, &mut *low)
    };
    if *from < amount {
        return false;
    }
    *from -= amount;
    *to += amount;
    true
}

fn teller(bank: &Bank, teller: usize) -> (u32, u32) {
    let (mut done, mut refused) = (0, 0);
    for i in 0..TRANSFERS {
        let from = (teller + i) % ACCOUNTS;
        let to = (from + 1 + i % (ACCOUNTS - 1)) % ACCOUNTS;
        let amount = 1 + (i * 37 + teller * 11) % 700;
        match transfer(bank, from, to, amount as i64) {
            true => done += 1,
            false => refused += 1,
        }
    }
    (done, refused)
}

fn main() {
    let bank: Bank = [const { Mutex::new(1000) }; ACCOUNTS];
    let all: u32 = scope(|s| {
        let bank = &bank;
        let tellers: Vec<_> = (0..TELLERS)
            .map(|t| s.spawn(move || teller(bank, t)))
            .collect();
        let tries = tellers.into_iter().map(|t| t.join());
        tries.map(|(done, refused)| done + refused).sum()
    });
    let balances = bank.map(Mutex::into_inner);
    let (total, overdrawn) = (
        balances.iter().sum::<i64>(),
        balances.iter().any(|b| *b < 0),
    );
    println!("tries {all} - total {total} - overdrawn {overdrawn}");
}
