//! Servers that never come to the point.

use super::*;

/// A server that offers and never grants, whatever it says instead, keeps nobody from the fallback for long; nor from a lease later.
#[test]
fn offers_that_come_to_nothing() {
    let nak = |client: &Client| Some(Says::new(Kind::Nak, client).bytes());
    let other = |client: &Client| {
        let mut ack = Says::new(Kind::Ack, client);
        ack.ip = Ipv4Addr::new(10, 0, 2, 123);
        Some(ack.bytes())
    };
    type Answer = fn(&Client) -> Option<Vec<u8>>;
    let answers: [Answer; 3] = [nak, other, |_| None];
    for (which, answer) in answers.iter().enumerate() {
        let mut client = client();
        while client.lease().is_none() {
            let now_ns = client.next_ns();
            assert!(now_ns < 8 * SECOND_NS, "server {which}");
            let message = client.tick(now_ns).unwrap();
            if read(&message).0 == Kind::Discover {
                let offer = Says::new(Kind::Offer, &client).bytes();
                client.input(now_ns, &offer).unwrap();
            }
            if let Some(bytes) = answer(&client) {
                client.input(now_ns, &bytes);
            }
        }
        assert!(client.next_ns() > SECOND_NS, "not at once: server {which}");
        assert_eq!(client.lease(), Some(&fallback()));
        assert!(!client.is_bound());
        let asks = |client: &mut Client| read(&client.tick(client.next_ns()).unwrap()).0;
        assert!((0..10).any(|_| asks(&mut client) == Kind::Discover));
        let now_ns = client.next_ns();
        client.input(now_ns, &Says::new(Kind::Offer, &client).bytes());
        client.input(now_ns, &Says::new(Kind::Ack, &client).bytes());
        assert!(client.is_bound());
        assert_eq!(client.lease().unwrap().address.ip, OURS)
    }
}
