//! What calls and page faults cost, in nanoseconds, the least of several measurements each.
#![no_std]
#![no_main]
use abi::{Call, Error, PAGE_BYTES};
use rt::prelude::*;
use rt::syscall;
rt::main!(main);

/// Measurements of each kind.
const TIMES: usize = 12;
/// Calls of one measurement, pages of one.
const CALLS: u64 = 3000;
const PAGES: u64 = 500;

fn call<const N: usize>(number: Call, args: [u64; N]) -> rt::Result<u64> {
    // SAFETY: only memory is mapped and taken out that nobody else uses.
    unsafe { syscall::call(number, args) }
}

/// The least time of `f`, divided by `n`.
fn least(n: u64, mut f: impl FnMut()) -> u64 {
    let mut time = || {
        let start = now();
        f();
        (now() - start).as_nanos() as u64 / n
    };
    (0..TIMES).map(|_| time()).min().unwrap_or(u64::MAX)
}

fn calls(number: Call, args: [u64; 1], answer: impl Fn(rt::Result<u64>) -> bool) -> u64 {
    least(CALLS, || {
        for _ in 0..CALLS {
            assert!(answer(call(number, args)), "{number:?}");
        }
    })
}

fn main() {
    let null = calls(Call::Null, [0], |answer| answer == Ok(0));
    let now = calls(Call::Now, [0], |answer| answer.is_ok());
    let no_handle = u64::from(abi::NO_HANDLE);
    let slow = calls(Call::Size, [no_handle], |answer| {
        answer == Err(Error::BadHandle)
    });
    let yields = calls(Call::Yield, [0], |answer| answer == Ok(0));
    let (mut touch, mut unmap) = (u64::MAX, u64::MAX);
    let map = least(1, || {
        let bytes = PAGES * PAGE_BYTES;
        let at = call(Call::Map, [bytes, 0]).expect("memory");
        touch = touch.min(measured(PAGES, || {
            for page in 0..PAGES {
                // SAFETY: just mapped.
                unsafe { ((at + page * PAGE_BYTES) as *mut u64).write_volatile(1) }
            }
        }));
        unmap = unmap.min(measured(PAGES, || {
            call(Call::Unmap, [at, bytes]).expect("it was mapped");
        }));
    });
    for (name, ns) in [
        ("null_ns", null),
        ("now_ns", now),
        ("slow_ns", slow),
        ("yield_ns", yields),
        ("page_fault_ns", touch),
        ("unmap_page_ns", unmap),
        ("map_touch_unmap_ns", map),
    ] {
        println!("= {name} {ns}");
    }
    assert!(null < slow, "the way round the table is no shorter");
    assert!(touch < map, "a page costs more than all of them");
}

/// One measurement.
fn measured(n: u64, f: impl FnOnce()) -> u64 {
    let start = now();
    f();
    (now() - start).as_nanos() as u64 / n
}
