//! A crawler: a goroutine for each page that is new, and a lock around what is known.
#![no_std]
#![no_main]
extern crate alloc;
use alloc::collections::BTreeSet;
use ringo::prelude::*;
ringo::main!(main);

const LINKS: &[(&str, &[&str])] = &[
    ("home", &["docs", "blog", "about"]),
    ("docs", &["home", "install", "api"]),
    ("install", &["docs", "download"]),
    ("api", &["docs", "chan", "sync"]),
    ("chan", &["api", "sync"]),
    ("sync", &["api", "chan", "missing"]),
    ("blog", &["home", "post1", "post2"]),
    ("post1", &["blog", "post2"]),
    ("post2", &["blog", "post1", "deep"]),
    ("deep", &["deeper"]),
    ("deeper", &["deepest"]),
    ("about", &[]),
    ("download", &[]),
];

#[derive(Clone)]
struct Crawler {
    seen: Arc<Mutex<BTreeSet<&'static str>>>,
    found: Sender<String>,
}

impl Crawler {
    fn visit(self, page: &'static str) {
        if !self.seen.lock().insert(page) {
            return;
        }
        let Some((_, next)) = LINKS.iter().find(|(name, _)| *name == page) else {
            return self.found.send(format!("{page} is missing")).unwrap();
        };
        self.found.send(page.into()).unwrap();
        for link in *next {
            let crawler = self.clone();
            go(move || crawler.visit(link));
        }
    }
}

fn main() {
    let (found, lines) = chan(0);
    let crawler = Crawler {
        seen: Arc::default(),
        found,
    };
    go(move || crawler.visit("home"));
    let mut all: Vec<String> = lines.iter().collect(); // until the last crawler is gone
    all.sort();
    println!("{}", all.join("\n"));
}
