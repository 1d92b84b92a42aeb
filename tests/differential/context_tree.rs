//! A tree of contexts: deadlines, causes, and who ends with whom.
#![no_std]
#![no_main]
use ringo::prelude::*;
ringo::main!(main);

const fn ms(n: u64) -> Duration {
    Duration::from_millis(n)
}

fn show(name: &str, ctx: &Context) {
    let error = ctx.err().map_or("<nil>".into(), |e| e.to_string());
    let cause = ctx.cause().map_or("<nil>".into(), |c| c.to_string());
    println!("{name}: {error}, because: {cause}");
}

/// In steps of 20 ms.
fn since(begin: Instant) -> Duration {
    ms(begin.elapsed().as_millis() as u64 / 20 * 20)
}

fn main() {
    let begin = Instant::now();
    let (root, stop) = Context::background().with_cancel();
    let (short, _) = root.with_timeout(ms(40));
    let (long, _) = short.with_timeout(Duration::from_secs(3600)); // cut to its parent's
    let (named, _) = root.with_deadline_cause(begin + ms(80), "the shop closes");
    let apart = named.without_cancel();

    println!("root has a deadline: {}", root.deadline().is_some());
    println!(
        "the inner deadline is the outer one: {}",
        long.deadline() == short.deadline()
    );

    long.done().recv();
    println!("at {:?}", since(begin));
    show("long", &long);
    show("short", &short);
    show("root", &root);
    named.done().recv();
    println!("at {:?}", since(begin));
    show("named", &named);
    show("apart", &apart);

    let (leaf, cancel_leaf) = root.with_cancel();
    let (tx, ran) = chan(0);
    leaf.after_func(move || tx.send("after leaf").unwrap());
    let not_run = leaf.after_func(|| unreachable!());
    println!("stopped: {} {}", not_run.stop(), not_run.stop());
    stop.cancel_cause("the user left");
    println!("{}", ran.recv().unwrap());
    cancel_leaf.cancel(); // too late to matter
    show("leaf", &leaf);
    let (late, _) = root.with_cancel();
    show("late", &late);
    show("short", &short);
}
