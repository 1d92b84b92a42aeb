//! What is urgent goes first: a select with default before the select that waits.
#![no_std]
#![no_main]
use ringo::prelude::*;
ringo::main!(main);

type Jobs = Receiver<String>;

fn serve(urgent: Jobs, normal: Jobs, out: Sender<String>) {
    let put = |job| out.send(job).unwrap();
    loop {
        match urgent.try_recv() {
            Ok(job) => put(job),
            Err(TryRecvError::Closed) => return normal.iter().for_each(put),
            Err(TryRecvError::Empty) => select! {
                recv(urgent) -> job => match job {
                    Some(job) => put(job),
                    None => return normal.iter().for_each(put),
                },
                recv(normal) -> job => match job {
                    Some(job) => put(job),
                    None => return urgent.iter().for_each(put),
                },
            },
        }
    }
}

fn main() {
    let ((urgent, u), (normal, n), (out, jobs)) = (chan(10), chan(10), chan(0));
    for i in 0..4 {
        normal.send(format!("normal {i}")).unwrap();
        urgent.send(format!("urgent {i}")).unwrap();
    }
    go(move || serve(u, n, out));
    for _ in 0..4 {
        println!("{}", jobs.recv().unwrap());
    }
    drop(urgent);
    for i in 4..6 {
        normal.send(format!("normal {i}")).unwrap();
    }
    drop(normal);
    for job in &jobs {
        println!("{job}");
    }
}
