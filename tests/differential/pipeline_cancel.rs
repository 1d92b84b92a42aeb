//! A pipeline without end, of three stages, until its reader has had enough.
#![no_std]
#![no_main]
use ringo::prelude::*;
ringo::main!(main);

fn stage<T: Send + 'static, U: Send + 'static>(
    ctx: &Context,
    wg: &WaitGroup,
    input: Receiver<T>,
    f: impl Fn(T) -> Option<U> + Send + 'static,
) -> Receiver<U> {
    let (out, rx) = chan(0);
    let done = ctx.done();
    wg.go(move || {
        for u in input.iter().filter_map(f) {
            select! {
                send(out, u) -> r => if r.is_err() { return },
                recv(done) -> _over => return,
            }
        }
    });
    rx
}

fn naturals(ctx: &Context, wg: &WaitGroup) -> Receiver<u32> {
    let (out, rx) = chan(0);
    let done = ctx.done();
    wg.go(move || {
        for n in 0.. {
            select! {
                send(out, n) -> r => if r.is_err() { return },
                recv(done) -> _over => return,
            }
        }
    });
    rx
}

fn show(error: Option<ContextError>) -> String {
    error.map_or("<nil>".into(), |e| e.to_string())
}

fn main() {
    let (ctx, cancel) = Context::background().with_cancel();
    let stages = WaitGroup::new();
    let squares = stage(&ctx, &stages, naturals(&ctx, &stages), |n| Some(n * n));
    let odd = stage(&ctx, &stages, squares, |n| (n % 2 == 1).then_some(n));
    let lines = stage(&ctx, &stages, odd, |n| Some(format!("square {n}")));
    for _ in 0..6 {
        println!("{}", lines.recv().unwrap());
    }
    println!("before: {}", show(ctx.err()));
    cancel.cancel();
    stages.wait();
    println!("after: {}", show(ctx.err()));
}
