use super::*;
use crate::limits::Job;
use crate::memory::WordKey;
use std::sync::atomic::{AtomicBool, Ordering::SeqCst};
use std::vec::Vec;

mod places;

fn space(pages: u64) -> (Space, Arc<PageAccount>) {
    let account = Arc::new(PageAccount::with_limit(Job::new(), pages));
    (Space::new(account.clone()).unwrap(), account)
}

fn read(space: &Space, at: u64, n: usize) -> Result<Vec<u8>, Error> {
    let mut bytes = vec![0xee; n];
    space.copy_in(at, &mut bytes).map(|()| bytes)
}

struct Pages(Vec<u64>, Owner);
impl Pages {
    fn new(n: usize) -> Arc<Pages> {
        let frames = (0..n).map(|_| machine::alloc_frame().unwrap());
        Arc::new(Pages(frames.collect(), Owner::new()))
    }
}
impl SharedFrames for Pages {
    fn frames(&self) -> &[u64] {
        &self.0
    }
    fn owner(&self) -> Owner {
        self.1
    }
}
impl Drop for Pages {
    fn drop(&mut self) {
        for &frame in &self.0 {
            // SAFETY: nobody has them mapped any more, or the model says so.
            unsafe { machine::free_frame(frame) }
        }
    }
}

#[test]
fn memory_is_zero_backed_when_touched_and_given_back() {
    let (s, account) = space(10);
    let at = s.map(3 * PAGE, true).unwrap();
    assert_eq!(account.used(), 0);
    assert_eq!(read(&s, at, 5).unwrap(), [0; 5]);
    assert_eq!(account.used(), 1);
    // Over two borders.
    let text = vec![7; 2 * PAGE as usize];
    s.copy_out(at + 100, &text).unwrap();
    assert_eq!(account.used(), 3);
    assert_eq!(read(&s, at + 100, text.len()).unwrap(), text);
    s.unmap(at, 3 * PAGE).unwrap();
    assert_eq!(account.used(), 0);
    assert_eq!(read(&s, at, 1), Err(Error::BadAddress));
}

#[test]
fn addresses_that_ring_3_may_not_use() {
    let (s, _) = space(100);
    let at = s.map(2 * PAGE, true).unwrap();
    let end = at + 2 * PAGE;
    let kernel = 0xffff_8000_0000_0000;
    for bad in [
        0,
        8,
        USER_BASE - 1,
        at - 1,
        end,
        end - 1,
        USER_END - 1,
        USER_END,
        1 << 47,
        kernel,
        u64::MAX - 1,
        u64::MAX,
    ] {
        assert_eq!(read(&s, bad, 2), Err(Error::BadAddress), "{bad:#x}");
        assert_eq!(s.copy_out(bad, &[1, 2]), Err(Error::BadAddress), "{bad:#x}");
        assert_eq!(s.check_out(bad, 2), Err(Error::BadAddress), "{bad:#x}");
        assert!(read(&s, bad, 0).is_ok());
        assert!(s.load_u32(bad & !3).is_err() || bad == end - 1);
    }
    for n in [
        u64::MAX,
        u64::MAX - at,
        u64::MAX - at + 1,
        USER_END,
        1 << 63,
    ] {
        assert_eq!(s.check_out(at, n), Err(Error::BadAddress), "{n:#x}");
        assert!(s.unmap(at, n).is_err());
        assert!(s.unmap(at, n / PAGE * PAGE).is_err());
        assert!(s.map(n, true).is_err());
    }
    assert_eq!(s.check_out(at, 2 * PAGE), Ok(()));
    assert_eq!(s.load_u32(at + 2), Err(Error::BadAddress));
}

#[test]
fn half_mapped_ranges_fail_and_the_good_half_may_be_written() {
    let (s, _) = space(100);
    let at = s.map(PAGE, true).unwrap();
    let last = at + PAGE - 4;
    assert_eq!(s.copy_out(last, &[9; 8]), Err(Error::BadAddress));
    assert_eq!(read(&s, last, 4).unwrap(), [9; 4]);
    assert_eq!(s.check_out(last, 8), Err(Error::BadAddress));
}

#[test]
fn read_only_memory() {
    let (s, _) = space(100);
    let at = s.map(PAGE, false).unwrap();
    assert_eq!(read(&s, at, 4).unwrap(), [0; 4]);
    assert_eq!(s.copy_out(at, &[1]), Err(Error::BadAddress));
    assert_eq!(s.check_out(at, 1), Err(Error::BadAddress));
    assert_eq!(s.fault(at, Touch::Write), Err(Denied::ReadOnly));
    assert_eq!(s.fault(at, Touch::Execute), Err(Denied::NotExecutable));
    assert_eq!(s.fault(at, Touch::Read), Ok(()));
}

#[test]
fn what_a_fault_is_about() {
    let (s, _) = space(5);
    s.map_fixed(STACK_TOP - STACK_BYTES, STACK_BYTES).unwrap();
    assert_eq!(s.fault(0, Touch::Write), Err(Denied::Nothing));
    assert_eq!(
        s.fault(STACK_TOP - STACK_BYTES - 1, Touch::Write),
        Err(Denied::Guard)
    );
    assert_eq!(s.fault(STACK_TOP, Touch::Write), Err(Denied::Guard));
    assert_eq!(
        s.fault(STACK_TOP - STACK_BYTES - PAGE - 1, Touch::Read),
        Err(Denied::Nothing)
    );
    assert_eq!(s.fault(1 << 63, Touch::Read), Err(Denied::Outside));
    assert_eq!(s.fault(STACK_TOP - 8, Touch::Write), Ok(()));
    assert_eq!(s.fault(STACK_TOP - 1, Touch::Read), Ok(())); // the same page: another thread was first
    for page in 2..=5 {
        assert_eq!(s.fault(STACK_TOP - page * PAGE, Touch::Write), Ok(()));
    }
    assert_eq!(
        s.fault(STACK_TOP - 6 * PAGE, Touch::Write),
        Err(Denied::OutOfMemory)
    );
    assert_eq!(read(&s, STACK_TOP - 6 * PAGE, 1), Err(Error::OutOfMemory));
}

#[test]
fn a_program_lies_where_it_wants_and_stays() {
    let (s, account) = space(100);
    let file: Bytes = Arc::new((0..=255u8).cycle().take(5000).collect::<Vec<_>>());
    let rx = Access {
        write: false,
        execute: true,
    };
    // Begins and ends amid pages; 4200 bytes of the file, the rest zero.
    s.map_image((0x40_0100, 9000), file.clone(), (16, 4200), rx)
        .unwrap();
    assert_eq!(read(&s, 0x40_0000, 0x102).unwrap()[0xfe..], [0, 0, 16, 17]);
    let tail = read(&s, 0x40_0100 + 4198, 4).unwrap();
    assert_eq!(tail, [(16 + 4198) as u8, (16 + 4199) as u8, 0, 0]);
    assert_eq!(read(&s, 0x40_2ffc, 4).unwrap(), [0; 4]);
    assert_eq!(s.fault(0x40_1000, Touch::Execute), Ok(()));
    assert_eq!(account.used(), 3);
    assert_eq!(s.unmap(0x40_0000, PAGE), Err(Error::BadAddress));
    // Nothing beside it in its pages, nor outside of the user's half.
    let again = |at, n| s.map_image((at, n), file.clone(), (0, 0), rx);
    for (at, n) in [
        (0x40_2fff, 1),
        (0x3f_ffff, 2),
        (0, 4096),
        (USER_END - 1, 2),
        (u64::MAX, 2),
        (0x50_0000, u64::MAX),
    ] {
        assert_eq!(again(at, n), Err(Error::BadAddress), "{at:#x}");
    }
    again(0x40_3000, 1).unwrap();
}

#[test]
fn parts_can_be_taken_out() {
    let (s, account) = space(100);
    let at = s.map(8 * PAGE, true).unwrap();
    s.copy_out(at, &vec![5; 8 * PAGE as usize]).unwrap();
    s.unmap(at + 2 * PAGE, 3 * PAGE).unwrap();
    assert_eq!(account.used(), 5);
    assert_eq!(read(&s, at + PAGE, PAGE as usize).unwrap()[17], 5);
    assert_eq!(read(&s, at + 4 * PAGE, 1), Err(Error::BadAddress));
    assert_eq!(read(&s, at + 5 * PAGE, 1).unwrap(), [5]);
    assert_eq!(s.unmap(at + 2 * PAGE, 3 * PAGE), Err(Error::BadAddress)); // nothing is there
    s.unmap(at, 8 * PAGE).unwrap(); // with a hole
    assert_eq!(account.used(), 0);
    for (a, n) in [(at, 0), (at + 1, PAGE), (at, PAGE + 1)] {
        assert_eq!(s.unmap(a, n), Err(Error::BadArgument));
    }
}

#[test]
fn places_have_gaps_and_are_used_again() {
    let (s, _) = space(100);
    let at: Vec<u64> = (0..4).map(|_| s.map(2 * PAGE, true).unwrap()).collect();
    assert!(at.windows(2).all(|w| w[1] == w[0] + 3 * PAGE));
    s.unmap(at[1], 2 * PAGE).unwrap();
    assert!(s.map(3 * PAGE, true).unwrap() > at[3]); // does not fit with its gaps
    assert_eq!(s.map(2 * PAGE, true).unwrap(), at[1]);
    assert_eq!(s.map(0, true), Err(Error::BadArgument));
    assert_eq!(s.map(PAGE + 1, true), Err(Error::BadArgument));
    assert_eq!(s.map(101 * PAGE, true), Err(Error::OutOfMemory));
}

#[test]
fn limits_of_pieces_and_of_what_is_mapped() {
    let (s, _) = space(1000);
    let big: Vec<_> = (0..).map_while(|_| s.map(1000 * PAGE, true).ok()).collect();
    assert_eq!(big.len() as u64, limits::MAPPED_FACTOR);
    for at in big {
        s.unmap(at, 1000 * PAGE).unwrap()
    }
    let mut n = 0;
    while s.map(PAGE, true).is_ok() {
        n += 1
    }
    assert_eq!(n, limits::AREAS);
    assert_eq!(s.map(PAGE, true), Err(Error::Limit));
    // Three pieces fewer (a page and a gap each), one of three pages more: there is room for the three that it is cut into.
    s.unmap(MAP_BASE, 6 * PAGE).unwrap();
    let at = s.map(3 * PAGE, true).unwrap();
    s.unmap(at + PAGE, PAGE).unwrap();
    s.map(PAGE, true).unwrap();
    assert_eq!(s.map(PAGE, true), Err(Error::Limit));
    // With room for none, a piece goes whole, but is not cut.
    s.unmap(at, PAGE).unwrap();
    let big = s.map(3 * PAGE, true).unwrap();
    assert_eq!(s.unmap(big + PAGE, PAGE), Err(Error::Limit));
    s.unmap(big, 3 * PAGE).unwrap();
}

#[test]
fn shared_memory_counts_for_each_and_lives_as_long_as_the_last() {
    let memory = Pages::new(3);
    let (a, of_a) = space(4);
    let (b, of_b) = space(3);
    let (at_a, at_b) = (
        a.map_shared(memory.clone(), true).unwrap(),
        b.map_shared(memory.clone(), false).unwrap(),
    );
    assert_eq!((of_a.used(), of_b.used()), (3, 3));
    assert_eq!(b.map_shared(memory.clone(), true), Err(Error::OutOfMemory));
    // SAFETY: nobody else uses the frame now.
    unsafe { machine::frame_bytes(memory.0[1]).write_bytes(0, PAGE as usize) };
    a.copy_out(at_a + PAGE, b"shared").unwrap();
    assert_eq!(read(&b, at_b + PAGE, 6).unwrap(), b"shared");
    assert_eq!(b.copy_out(at_b, &[1]), Err(Error::BadAddress));
    assert_eq!(a.word_key(at_a + PAGE + 4), b.word_key(at_b + PAGE + 4));
    let other = a.word_key(at_a + 2 * PAGE).unwrap();
    a.unmap(at_a, PAGE).unwrap();
    assert_eq!(of_a.used(), 2);
    // Where it lies in what is shared, also in the rest of it.
    assert_eq!(a.word_key(at_a + 2 * PAGE).unwrap(), other);
    assert_eq!(b.word_key(at_b + 2 * PAGE).unwrap(), other);
    a.copy_out(at_a + PAGE, b"S").unwrap(); // the right frame still
    assert_eq!(read(&b, at_b + PAGE, 6).unwrap(), b"Shared");
    let held = Arc::downgrade(&memory);
    drop(memory);
    drop(b);
    assert!(held.upgrade().is_some());
    a.unmap(at_a, 3 * PAGE).unwrap();
    assert!(held.upgrade().is_none());
    assert_eq!(of_a.used(), 0);
}

/// Or a waiter whose page is gone would be woken in the place of another program's, which sleeps on then.
#[test]
fn a_frame_that_goes_to_another_takes_no_waiters_along() {
    let spaces = [space(10).0, space(10).0];
    // Frame, whose it was, and what its first word was known by.
    let mut seen: Vec<(u64, usize, WordKey)> = Vec::new();
    let mut passed_on = 0;
    for i in 0..96 {
        let s = &spaces[i % 2];
        let (at, whose) = match i % 3 {
            0 => (s.map_shared(Pages::new(1), true).unwrap(), 2 + i),
            _ => (s.map(PAGE, true).unwrap(), i % 2),
        };
        let frame = s.resolve(&s.areas.lock(), at, Touch::Read).unwrap();
        let word = s.word_key(at).unwrap();
        for &(f, w, of) in seen.iter().filter(|&&(_, w, _)| w != whose) {
            passed_on += usize::from(f == frame);
            assert_ne!(of, word, "{w} and {whose}, frames {f:#x} and {frame:#x}")
        }
        seen.push((frame, whose, word));
        s.unmap(at, PAGE).unwrap()
    }
    assert_ne!(passed_on, 0, "no frame went to another: this shows nothing");
}

#[test]
fn memory_that_is_taken_out_while_others_copy() {
    let (s, account) = space(1000);
    let (s, stop) = (Arc::new(s), Arc::new(AtomicBool::new(false)));
    let at = s.map(64 * PAGE, true).unwrap();
    std::thread::scope(|scope| {
        for i in 0..2u8 {
            let (s, stop) = (s.clone(), stop.clone());
            scope.spawn(move || {
                let mut seen = [false; 2];
                while !stop.load(SeqCst) || seen != [true; 2] {
                    let result = s.copy_out(at + 17, &vec![i; 40 * PAGE as usize]);
                    assert!(matches!(result, Ok(()) | Err(Error::BadAddress)));
                    seen[result.is_ok() as usize] = true;
                    if stop.load(SeqCst) {
                        break;
                    }
                    let _ = s.load_u32(at + 5 * PAGE);
                }
            });
        }
        let (s, stop) = (s.clone(), stop.clone());
        scope.spawn(move || {
            for _ in 0..300 {
                s.unmap(at, 64 * PAGE).unwrap();
                assert_eq!(s.map(64 * PAGE, true), Ok(at));
            }
            stop.store(true, SeqCst);
        });
    });
    s.unmap(at, 64 * PAGE).unwrap();
    assert_eq!(account.used(), 0);
}

/// Random calls, against a list of bytes that says what is mapped.
#[test]
fn a_hundred_thousand_random_calls() {
    const PAGES: u64 = 256;
    let (s, account) = space(PAGES);
    let mut rng = base::Rng::new(1);
    let mut mapped = vec![None; PAGES as usize]; // what a page's first byte is
    for _ in 0..100_000 {
        let page = u64::from(rng.below(PAGES as u32));
        let n = 1 + u64::from(rng.below(8));
        let at = MAP_BASE + page * PAGE;
        match rng.below(4) {
            0 => {
                if let Ok(at) = s.map(n * PAGE, true)
                    && let Some(first) = at.checked_sub(MAP_BASE)
                    && first / PAGE + n <= PAGES
                {
                    for p in &mut mapped[(first / PAGE) as usize..][..n as usize] {
                        assert_eq!(p.replace(0u8), None);
                    }
                }
            }
            1 => {
                let n = n.min(PAGES - page);
                let range = &mut mapped[page as usize..][..n as usize];
                let any = range.iter().any(Option::is_some);
                assert_eq!(s.unmap(at, n * PAGE).is_ok(), any);
                range.fill(None);
            }
            2 => {
                let value = rng.below(256) as u8;
                let slot = &mut mapped[page as usize];
                assert_eq!(s.copy_out(at, &[value]).is_ok(), slot.is_some());
                *slot = slot.map(|_| value);
            }
            _ => {
                let slot = mapped[page as usize];
                assert_eq!(read(&s, at, 1).ok(), slot.map(|v| vec![v]));
            }
        }
    }
    assert!(account.used() <= PAGES);
    drop(s);
    assert_eq!(account.used(), 0);
}
