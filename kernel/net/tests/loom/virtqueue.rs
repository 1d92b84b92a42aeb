//! The ring that driver and device share: no kick and no interrupt is lost, and what is published is seen whole (I-DEKKER).

use base::explore;
use loom::sync::{Arc, Notify};
use loom::thread;
use net::ring::fake::FakeDevice;
use net::ring::{Area, Buffer, Queue};

/// What one side tells the other: a kick, or an interrupt.
#[derive(Clone)]
struct Bell(Arc<Notify>);

impl Bell {
    fn new() -> Bell {
        Bell(Arc::new(Notify::new()))
    }
}

fn pair(event_idx: bool) -> (Queue, FakeDevice) {
    let area = Area::modelled(4);
    (
        Queue::new(area, event_idx),
        FakeDevice::new(area, event_idx),
    )
}

fn buffer(i: u64) -> Buffer {
    Buffer {
        phys: 100 + i,
        len: 10 + i as u32,
        device_writes: true,
    }
}

/// The device takes `n` chains, and rests when there are none, until it is told. Each is what the driver put there.
fn take_all(d: &mut FakeDevice, kick: &Bell, n: u64) -> Vec<u16> {
    let mut heads = Vec::new();
    while (heads.len() as u64) < n {
        d.kicks_off();
        while let Some(chain) = d.take() {
            let i = heads.len() as u64;
            assert_eq!(
                chain.parts,
                [(100 + i, 10 + i as u32, true)],
                "the device sees other buffers"
            );
            heads.push(chain.head)
        }
        if (heads.len() as u64) < n && !d.kicks_on() {
            kick.0.wait()
        }
    }
    heads
}

/// The driver adds `batches` of chains and kicks if it is asked to; the device comes to rest at any time. `late`: the fence between
/// publishing and looking does nothing, as on a machine of one CPU, and a late look makes up for it.
fn kick(event_idx: bool, batches: &'static [u64], late: bool) {
    explore(3, move || {
        let (mut q, mut d) = pair(event_idx);
        let bell = Bell::new();
        let device = {
            let bell = bell.clone();
            let n = batches.iter().sum();
            thread::spawn(move || drop(take_all(&mut d, &bell, n)))
        };
        let mut i = 0;
        for batch in batches {
            for _ in 0..*batch {
                q.add(&[buffer(i)]).expect("room");
                i += 1
            }
            let wanted = match late {
                true => q.publish_unfenced(),
                false => q.publish(),
            };
            if wanted {
                bell.0.notify()
            }
        }
        if late && q.wants_late_kick() {
            bell.0.notify()
        }
        device.join().unwrap()
    })
}

#[test]
fn kick_with_event_index() {
    kick(true, &[1, 2], false)
}

#[test]
fn kick_with_flags() {
    kick(false, &[1, 1], false)
}

#[test]
fn late_kick_with_event_index() {
    kick(true, &[1, 2], true)
}

#[test]
fn late_kick_with_flags() {
    kick(false, &[1, 1], true)
}

/// The device gives chains back and interrupts if it is asked to; the driver comes to rest at any time.
fn interrupt(event_idx: bool) {
    explore(3, move || {
        let (mut q, mut d) = pair(event_idx);
        let bell = Bell::new();
        for i in 0..2 {
            q.add(&[buffer(i)]).expect("room");
        }
        let _ = q.publish();
        let device = {
            let bell = bell.clone();
            thread::spawn(move || {
                while let Some(chain) = d.take() {
                    d.give(chain.head.into(), 5 + u32::from(chain.head));
                    if d.publish() {
                        bell.0.notify()
                    }
                }
            })
        };
        let mut back = 0;
        while back < 2 {
            q.interrupts_off();
            while let Some(used) = q.pop().expect("it keeps to the rules") {
                assert_eq!(
                    used.len,
                    5 + u32::from(used.head),
                    "the driver sees another entry"
                );
                back += 1
            }
            if back < 2 && !q.interrupts_on() {
                bell.0.wait()
            }
        }
        device.join().unwrap()
    })
}

#[test]
fn interrupt_with_event_index() {
    interrupt(true)
}

#[test]
fn interrupt_with_flags() {
    interrupt(false)
}
