//! Merge sort: each half is sorted by a goroutine of its own, down to sixteen numbers.
#![no_std]
#![no_main]
use ringo::prelude::*;
ringo::main!(main);

fn merge(mut a: &[u32], mut b: &[u32]) -> Vec<u32> {
    let mut all = Vec::with_capacity(a.len() + b.len());
    while let (Some((x, rest_a)), Some((y, rest_b))) = (a.split_first(), b.split_first()) {
        if x <= y {
            all.push(*x);
            a = rest_a;
        } else {
            all.push(*y);
            b = rest_b;
        }
    }
    all.extend(a);
    all.extend(b);
    all
}

fn sorted(numbers: &[u32]) -> Vec<u32> {
    if numbers.len() <= 16 {
        let mut few = numbers.to_vec();
        few.sort();
        return few;
    }
    let (left, right) = numbers.split_at(numbers.len() / 2);
    scope(|s| {
        let left = s.spawn(|| sorted(left));
        let right = sorted(right);
        merge(&left.join(), &right)
    })
}

fn main() {
    let mut seed = 1u32;
    let numbers: Vec<u32> = core::iter::repeat_with(|| {
        seed = seed.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        seed >> 8
    })
    .take(5000)
    .collect();
    let result = sorted(&numbers);
    println!("{} {}", result.len(), result.is_sorted());
    let at = |i: usize| result[i];
    println!(
        "{} {} {} {} {}",
        at(0),
        at(1250),
        at(2500),
        at(3750),
        at(4999)
    );
}
