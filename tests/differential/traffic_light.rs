//! A traffic light: one ticker with a new period for each colour, and a button.
#![no_std]
#![no_main]
use ringo::prelude::*;
ringo::main!(main);

const PHASES: [(&str, u64); 3] = [("green", 80), ("yellow", 20), ("red", 60)];

const fn ms(n: u64) -> Duration {
    Duration::from_millis(n)
}

fn main() {
    let (press, button) = chan(0);
    go(move || {
        sleep(ms(130));
        press.send("somebody pressed the button").unwrap();
    });
    let mut button = button;
    let begin = Instant::now();
    let now = || ms(begin.elapsed().as_millis() as u64 / 10 * 10);
    let ticker = Ticker::new(ms(PHASES[0].1));
    println!("{}", PHASES[0].0);
    let mut phase = 0;
    while phase < 6 {
        select! {
            recv(ticker.receiver()) -> _tick => {
                phase += 1;
                let (colour, length_ms) = PHASES[phase % 3];
                ticker.reset(ms(length_ms));
                println!("{:?} {colour}", now());
            }
            recv(button) -> text => match text {
                Some(text) => println!("{:?} {text}", now()),
                None => button = never(), // it can be pressed once
            },
        }
    }
}
