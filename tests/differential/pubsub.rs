//! A broker that knows topics and subscribers; who reads slowly gets everything all the same.
#![no_std]
#![no_main]
extern crate alloc;
use alloc::collections::BTreeMap;
use ringo::prelude::*;
ringo::main!(main);

struct Subscription {
    topic: &'static str,
    to: Sender<String>,
}

struct Message {
    topic: &'static str,
    text: String,
}

/// Ends when nobody can publish any more; the senders that it owns close what they sent to.
fn broker(subscribe: Receiver<Subscription>, publish: Receiver<Message>) {
    let mut topics: BTreeMap<&str, Vec<Sender<String>>> = BTreeMap::new();
    loop {
        select! {
            recv(subscribe) -> s => {
                if let Some(Subscription { topic, to }) = s {
                    topics.entry(topic).or_default().push(to);
                }
            }
            recv(publish) -> m => {
                let Some(Message { topic, text }) = m else { return };
                for to in topics.get(topic).into_iter().flatten() {
                    to.send(text.clone()).unwrap();
                }
            }
        }
    }
}

fn main() {
    let ((subscribe, subscriptions), (publish, messages)) = (chan(0), chan(0));
    go(move || broker(subscriptions, messages));

    let mut readers = vec![];
    for (name, topic) in [
        ("ada", "news"),
        ("bob", "news"),
        ("cleo", "sport"),
        ("dan", "none"),
    ] {
        let (to, inbox) = chan(0);
        subscribe.send(Subscription { topic, to }).unwrap();
        readers.push(spawn(move || {
            let got: Vec<String> = inbox.iter().collect();
            format!("{name} got {} ({})", got.len(), got.join(", "))
        }));
    }
    let publish_to = |topic, text| publish.send(Message { topic, text }).unwrap();
    for i in 0..6 {
        publish_to("news", format!("headline {i}"));
        if i % 3 == 0 {
            publish_to("sport", format!("goal {i}"));
        }
        publish_to("weather", "nobody listens".into());
    }
    drop(publish);
    for reader in readers {
        println!("{}", reader.join());
    }
}
