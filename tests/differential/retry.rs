//! Tries with growing pauses between them, until one succeeds or the deadline comes.
#![no_std]
#![no_main]
use ringo::prelude::*;
ringo::main!(main);

const fn ms(n: u64) -> Duration {
    Duration::from_millis(n)
}

/// Gives up when the context ends: the error, and the number of tries.
fn retry(
    ctx: &Context,
    attempt: impl Fn(u32) -> Result<(), &'static str>,
) -> Result<(), (ContextError, u32)> {
    let (mut pause, done) = (ms(10), ctx.done());
    for n in 1.. {
        let Err(error) = attempt(n) else { break };
        println!("try {n}: {error}, next in {pause:?}");
        select! {
            recv(done) -> _over => return Err((ctx.err().unwrap(), n)),
            default(pause) => pause *= 2,
        }
    }
    Ok(())
}

fn main() {
    for free in [3, 100] {
        let (ctx, _cancel) = Context::background().with_timeout(ms(100));
        let begin = Instant::now();
        let answer = retry(&ctx, |n| if n < free { Err("busy") } else { Ok(()) });
        let text = match &answer {
            Ok(()) => "<nil>".into(),
            Err((error, n)) => format!("given up after {n} tries: {error}"),
        };
        let late = matches!(answer, Err((ContextError::DeadlineExceeded, _)));
        println!(
            "after {:?} {text} {late}",
            ms(begin.elapsed().as_millis() as u64 / 10 * 10)
        );
    }
}
