//! A lexer as a goroutine that sends tokens, and a parser that receives them.
#![no_std]
#![no_main]
use ringo::prelude::*;
ringo::main!(main);

#[derive(Clone, Copy, PartialEq)]
enum Token {
    Number(i64),
    Sign(u8),
    Wrong(u8),
}
use Token::{Number, Sign, Wrong};

fn lex(text: &str, out: Sender<Token>) -> Result<(), SendError<Token>> {
    let mut bytes = text.bytes().peekable();
    while let Some(c) = bytes.next() {
        match c {
            b' ' => {}
            b'0'..=b'9' => {
                let mut n = i64::from(c - b'0');
                while let Some(digit) = bytes.next_if(u8::is_ascii_digit) {
                    n = n * 10 + i64::from(digit - b'0');
                }
                out.send(Number(n))?;
            }
            b'+' | b'-' | b'*' | b'(' | b')' => out.send(Sign(c))?,
            _ => return out.send(Wrong(c)),
        }
    }
    Ok(())
}

struct Parser {
    tokens: Receiver<Token>,
    next: Option<Token>,
    wrong: Option<u8>,
}

impl Parser {
    fn advance(&mut self) -> Option<Token> {
        core::mem::replace(&mut self.next, self.tokens.recv())
    }

    fn takes(&mut self, sign: u8) -> bool {
        let here = self.next == Some(Sign(sign));
        if here {
            self.advance();
        }
        here
    }

    fn factor(&mut self) -> i64 {
        match self.advance() {
            Some(Number(n)) => n,
            Some(Sign(b'-')) => -self.factor(),
            Some(Sign(b'(')) => {
                let v = self.sum();
                self.advance();
                v
            }
            Some(Wrong(c)) => {
                self.wrong = Some(c);
                0
            }
            _ => 0,
        }
    }

    fn product(&mut self) -> i64 {
        let mut v = self.factor();
        while self.takes(b'*') {
            v *= self.factor();
        }
        v
    }

    fn sum(&mut self) -> i64 {
        let mut v = self.product();
        loop {
            if self.takes(b'+') {
                v += self.product();
            } else if self.takes(b'-') {
                v -= self.product();
            } else {
                return v;
            }
        }
    }
}

fn main() {
    for text in [
        "1 + 2 * 3",
        "(1 + 2) * 3",
        "10 - 4 - 3",
        "-(2 + 3) * -(4 * 5)",
        "7 * x",
    ] {
        let (tx, tokens) = chan(0);
        go(move || lex(text, tx).unwrap_or_default()); // the parser may have given up
        let next = tokens.recv();
        let mut parser = Parser {
            tokens,
            next,
            wrong: None,
        };
        let value = parser.sum();
        match parser.wrong {
            Some(c) => println!("{text}: cannot read {:?}", char::from(c)),
            None => println!("{text} = {value}"),
        }
    }
}
