//! Any calls with any arguments, from threads of processes that are ended in the middle of it.

use super::*;
use crate::testing::HANDLES;
use base::Rng;

/// Calls of all threads together.
const CALLS: u32 = 200_000;

/// What a program might pass: good, bad, and on the edge.
fn number(rng: &mut Rng) -> u64 {
    match rng.below(10) {
        0 => 0,
        1 => u64::from(rng.below(HANDLES as u32 + 2)),
        2 => BASE + u64::from(rng.below(BYTES as u32)),
        3 => BASE + (u64::from(rng.below(BYTES as u32)) & !7),
        4 => LAST - u64::from(rng.below(16)),
        5 => u64::from(rng.below(8192)),
        6 => 512 * u64::from(rng.below(200)),
        7 => 1 << rng.below(64),
        8 => u64::MAX - u64::from(rng.below(5000)),
        _ => rng.next_u64(),
    }
}

/// One call. It does not connect to ports of other tests.
fn any_call(ctx: &Ctx<'_>, rng: &mut Rng, own_port: u64) -> Result<u64, Error> {
    let [a, b, c] = [0; 3].map(|_| number(rng));
    // Most handles are such.
    let h = if rng.below(4) == 0 {
        a
    } else {
        u64::from(rng.below(HANDLES as u32))
    };
    match rng.below(22) {
        0 => futex_wait(ctx, b, c & 1, a % 100_000).map(|_| 0),
        1 => futex_wait(ctx, b, c, abi::FOREVER).map(|_| 0),
        2 | 3 => futex_wake(ctx, b, c),
        4 => pipe(ctx, b),
        5 => shm(ctx, b),
        6 => chan(ctx, a, b),
        7 => send(ctx, h, b, c),
        8 => recv(ctx, h, b, c),
        9 | 10 => read(ctx, h, b, c),
        11 | 12 => write(ctx, h, b, c),
        13 => close(ctx, h),
        14 => open(ctx, b, c),
        15 => size(ctx, h),
        16 => listen(ctx, a & 1 << 20),
        17 => accept(ctx, h),
        18 => connect(
            ctx,
            0x7f00_0001,
            if a & 1 == 0 { own_port } else { 1 << 16 | a },
        ),
        19 => port(ctx, h),
        20 => duplicate(ctx, h),
        _ => disk_read(ctx, a, b, c),
    }
}

#[test]
fn any_calls() {
    run(|| {
        let (mut rng, mut done) = (Rng::new(17), 0);
        let mut seen = std::collections::BTreeSet::new();
        while done < CALLS {
            let p = Process::new();
            p.memory.put(BASE, b"text");
            let at = p.call(|ctx| port(ctx, listen(ctx, 0)?)).unwrap();
            let threads: Vec<_> = (0..4)
                .map(|_| {
                    let mut rng = Rng::new(rng.next_u64());
                    p.thread(move |ctx| {
                        let mut answers = Vec::new();
                        while answers.len() < 2000 && !ctx.waits.stop().is_stopped() {
                            answers.push(any_call(ctx, &mut rng, at).err());
                            if rng.below(16) == 0 {
                                sched::yield_now()
                            }
                        }
                        answers
                    })
                })
                .collect();
            a_while();
            p.end();
            for thread in threads {
                let answers = thread.join();
                done += answers.len() as u32;
                seen.extend(answers.into_iter().flatten().map(|error| error as i64))
            }
            p.end(); // what came in at the last moment
            assert_eq!(p.handles.count(), 0);
            p.nothing_left();
        }
        assert_eq!(FRAMES.load(Relaxed), 0);
        // It has got everywhere.
        for error in [
            Error::BadAddress,
            Error::BadHandle,
            Error::BadArgument,
            Error::OutOfMemory,
            Error::Limit,
            Error::NotFound,
            Error::Closed,
            Error::TimedOut,
            Error::Again,
            Error::Disk,
            Error::Killed,
        ] {
            assert!(seen.contains(&(error as i64)), "{error:?}")
        }
    })
}
