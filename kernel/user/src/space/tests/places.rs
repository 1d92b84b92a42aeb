//! Where mappings come to lie, and what is looked at meanwhile.

use super::*;
use crate::space::areas::AT_ONCE;
use std::collections::BTreeSet;

const WRITE: Access = Access {
    write: true,
    execute: false,
};

/// The lowest place, looked for from the beginning.
fn lowest(areas: &Areas, bytes: u64, from: u64, to: u64) -> Option<u64> {
    let ends = areas.by_start.values().map(|area| area.end + PAGE);
    let mut starts: Vec<u64> = ends.filter(|&at| at > from).chain([from]).collect();
    starts.sort_unstable();
    starts.into_iter().find(|&at| {
        let apart =
            |(&start, area): (&u64, &Area)| area.end + PAGE <= at || at + bytes + PAGE <= start;
        at + bytes + PAGE <= to && areas.by_start.iter().all(apart)
    })
}

/// A search, and what happens between its looks.
fn room(
    areas: &mut Areas,
    bytes: u64,
    (from, to): (u64, u64),
    mut between: impl FnMut(&mut Areas),
) -> Option<u64> {
    let mut search = areas.search(bytes, from);
    loop {
        match areas.room(&mut search, to) {
            Some(found) => return found.ok(),
            None => between(areas),
        }
    }
}

/// What `Space::unmap` does with areas; how many went.
fn take_out(areas: &mut Areas, start: u64, end: u64) -> usize {
    let (by, mut from, mut gone) = (areas.cut(start, end).unwrap(), start, 0);
    while from < end {
        match areas.first_of(by, from, end) {
            Ok(start) => {
                areas.going(start, by);
                from = areas.remove(start).end;
                gone += 1
            }
            Err(further) => from = further,
        }
    }
    gone
}

const SPAN: (u64, u64) = (1 << 20, (1 << 20) + 600 * PAGE);

fn span() -> Areas {
    let mut areas = Areas::new(1 << 30);
    areas.insert(0, PAGE, Area::zero(WRITE)).unwrap();
    areas
}

#[test]
fn room_is_found_where_a_search_from_the_beginning_finds_it() {
    let (from, to) = SPAN;
    let mut rng = base::Rng::new(5);
    let mut areas = span();
    for _ in 0..20_000 {
        let mut below = |n: u32| u64::from(rng.below(n));
        if below(2) == 0 {
            let bytes = PAGE * (1 + below(8) * below(4));
            let found = room(&mut areas, bytes, SPAN, |_| {});
            assert_eq!(found, lowest(&areas, bytes, from, to));
            if let Some(at) = found {
                areas.insert(at, at + bytes, Area::zero(WRITE)).unwrap()
            }
        } else {
            let start = from + PAGE * below(600);
            take_out(&mut areas, start, start + PAGE * (1 + below(20)));
        }
    }
}

/// Others map and take out between the looks of a search: what it finds is free, and who comes after finds the lowest place again.
#[test]
fn a_search_that_is_interrupted_finds_room_that_is_there() {
    let (from, to) = SPAN;
    let mut rng = base::Rng::new(6);
    let mut areas = span();
    let mut interrupted = 0;
    for _ in 0..5_000 {
        let mut below = |n: u32| u64::from(rng.below(n));
        while let Some(at) = room(&mut areas, PAGE, SPAN, |_| {}) {
            areas.insert(at, at + PAGE, Area::zero(WRITE)).unwrap()
        }
        let start = from + PAGE * below(600);
        take_out(&mut areas, start, start + PAGE * (1 + below(8)));
        let bytes = PAGE * (1 + below(4));
        let found = room(&mut areas, bytes, SPAN, |areas| {
            interrupted += 1;
            let start = from + PAGE * below(600);
            take_out(areas, start, start + PAGE * (1 + below(8)));
        });
        for bytes in [bytes, PAGE] {
            let next = room(&mut areas, bytes, SPAN, |_| {});
            assert_eq!(next, lowest(&areas, bytes, from, to));
        }
        if let Some(at) = found {
            let free = areas.is_free(at - PAGE, at + bytes + PAGE);
            assert!(free && at + bytes < to, "{at:#x} is taken")
        }
    }
    assert!(interrupted > 1000, "{interrupted} interruptions");
}

/// Nobody has to wait for more than a few areas, however many a program has.
#[test]
fn few_areas_are_looked_at_while_the_lock_is_held() {
    let mut areas = Areas::new(1 << 30);
    let (from, n) = (1 << 20, 1000);
    let starts: BTreeSet<u64> = (0..n).map(|i| from + 2 * i * PAGE).collect();
    for &start in &starts {
        areas
            .insert(start, start + PAGE, Area::zero(WRITE))
            .unwrap()
    }
    let (mut looks, end) = (1, from + 2 * n * PAGE);
    let found = room(&mut areas, 2 * PAGE, (from, end + 9 * PAGE), |_| looks += 1);
    assert_eq!((found, looks), (Some(end), 1 + n / AT_ONCE as u64));
    let (mut next, mut looks) = (Some(from), 0);
    while let Some(at) = next {
        next = areas.look(at, end).unwrap().1;
        looks += 1
    }
    assert_eq!(looks, n.div_ceil(AT_ONCE as u64));
    // Another caller's: each look passes as many.
    let other = areas.cut(from, end).unwrap();
    starts.iter().for_each(|&start| {
        areas.going(start, other);
    });
    let by = areas.cut(from, end).unwrap();
    let (mut at, mut looks) = (from, 0);
    while at < end {
        at = areas.first_of(by, at, end).unwrap_err();
        looks += 1
    }
    assert_eq!(looks, n.div_ceil(AT_ONCE as u64));
    assert_eq!(
        take_out(&mut areas, from, end),
        0,
        "what goes is the other's"
    );
}
