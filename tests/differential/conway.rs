//! Conway's problem: cards become lines of another width, pairs of asterisks become carets (after Hoare).
#![no_std]
#![no_main]
use ringo::prelude::*;
ringo::main!(main);

const WIDTH: usize = 20;

fn disassemble(cards: &[&str], out: Sender<char>) {
    for card in cards {
        card.chars().chain([' ']).for_each(|c| out.send(c).unwrap());
    }
}

fn squash(input: Receiver<char>, out: Sender<char>) {
    let put = |c| out.send(c).unwrap();
    for c in &input {
        if c != '*' {
            put(c);
            continue;
        }
        match input.recv() {
            None => put(c),
            Some('*') => put('^'),
            Some(next) => {
                put(c);
                put(next);
            }
        }
    }
}

fn assemble(input: Receiver<char>, out: Sender<String>) {
    let mut line = String::new();
    for c in &input {
        line.push(c);
        if line.len() == WIDTH {
            out.send(core::mem::take(&mut line)).unwrap();
        }
    }
    if !line.is_empty() {
        out.send(format!("{line:.<WIDTH$}")).unwrap();
    }
}

fn main() {
    let cards = [
        "x**2 + y**2 = z**2",
        "has answers in whole numbers,",
        "but z***3 * 2 is odd:",
        "who reads it as z**(*3) is lost *",
    ];
    let ((tx1, chars), (tx2, squashed), (tx3, lines)) = (chan(0), chan(0), chan(0));
    go(move || disassemble(&cards, tx1));
    go(move || squash(chars, tx2));
    go(move || assemble(squashed, tx3));
    for line in &lines {
        println!("|{line}|");
    }
}
