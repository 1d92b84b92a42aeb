//! A pool of three workers, jobs in a buffered channel, results in the order of their jobs.
#![no_std]
#![no_main]
use ringo::prelude::*;
ringo::main!(main);

struct Job {
    id: usize,
    text: &'static str,
}

#[derive(Clone, Copy, Default)]
struct Answer {
    id: usize,
    words: usize,
    letters: usize,
}

fn work(jobs: &Receiver<Job>, answers: &Sender<Answer>) {
    for Job { id, text } in jobs {
        let words = text.split_whitespace();
        let letters = words.clone().map(str::len).sum();
        answers
            .send(Answer {
                id,
                words: words.count(),
                letters,
            })
            .unwrap();
    }
}

fn main() {
    let texts = [
        "share memory by communicating",
        "concurrency is not parallelism",
        "channels orchestrate",
        "mutexes serialize",
        "make the zero value useful",
        "a little copying is better than a little dependency",
    ];
    let ((to_pool, jobs), (tx, answers)) = (chan(texts.len()), chan(texts.len()));
    let pool = WaitGroup::new();
    for _ in 0..3 {
        let (jobs, tx) = (jobs.clone(), tx.clone());
        pool.go(move || work(&jobs, &tx));
    }
    for (id, text) in texts.into_iter().enumerate() {
        to_pool.send(Job { id, text }).unwrap();
    }
    to_pool.close();
    pool.wait();
    tx.close();

    let mut sorted = [Answer::default(); 6];
    for a in &answers {
        sorted[a.id] = a;
    }
    for Answer { id, words, letters } in sorted {
        println!("job {id}: {words} words, {letters} letters");
    }
    println!("left: {} of {}", jobs.len(), jobs.capacity());
}
