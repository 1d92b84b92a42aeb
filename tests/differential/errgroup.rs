//! The first error stops all others, and is what the group answers.
#![no_std]
#![no_main]
use ringo::prelude::*;
ringo::main!(main);

/// Goroutines of one task, a context that they share, and what ends it.
struct Group<C> {
    wg: WaitGroup,
    ctx: Context,
    cancel: C,
}

fn group() -> Group<impl Fn(String) + Clone + Send + 'static> {
    let (ctx, cancel) = Context::background().with_cancel();
    Group {
        wg: WaitGroup::new(),
        ctx,
        cancel: move |error| cancel.cancel_cause(error),
    }
}

impl<C: Fn(String) + Clone + Send + 'static> Group<C> {
    fn run(&self, task: impl FnOnce(Context) -> Result<(), String> + Send + 'static) {
        let (ctx, cancel) = (self.ctx.clone(), self.cancel.clone());
        self.wg.go(move || {
            if let Err(error) = task(ctx) {
                cancel(error); // only the first counts
            }
        });
    }

    fn wait(&self) -> Result<(), String> {
        self.wg.wait();
        self.ctx
            .cause()
            .map_or(Ok(()), |cause| Err(cause.to_string()))
    }
}

fn main() {
    let g = group();
    let (tx, done) = chan(8);
    for id in 0..8 {
        let tx = tx.clone();
        g.run(move |_ctx| tx.send(id).map_err(|_| "nobody listens".into()));
    }
    let answer = g.wait().map_or_else(|e| e, |()| "<nil>".into());
    println!("all well: {answer} {}", done.len());

    let g = group();
    let (tx, stopped) = chan(8);
    for id in 0..8 {
        let tx = tx.clone();
        g.run(move |ctx| {
            if id == 3 {
                return Err(format!("task {id}: no such file"));
            }
            ctx.done().recv();
            tx.send(ctx.err()).unwrap();
            Err("stopped".into())
        });
    }
    drop(tx);
    println!("failed: {}", g.wait().unwrap_err());
    for error in stopped.iter().flatten() {
        println!("another: {error}");
    }
}
