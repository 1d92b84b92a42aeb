//! Valid input, damaged: for the tests of all that reads what strangers send.

use base::Rng;

/// Inputs of one test. `RINGO_FUZZ=N`: so many each instead.
const INPUTS: u64 = 1_000_000;

/// Calls `check` with `seeds`, damaged in ways that follow from the run's seed.
pub fn run(seeds: &[Vec<u8>], mut check: impl FnMut(&mut Vec<u8>)) {
    let inputs = inputs();
    let mut rng = Rng::new(inputs);
    let mut input = Vec::new();
    for i in 0..inputs {
        input.clear();
        input.extend_from_slice(&seeds[i as usize % seeds.len()]);
        for _ in 0..rng.below(4) {
            damage(&mut input, &mut rng)
        }
        check(&mut input)
    }
}

/// How many inputs a test takes in.
pub fn inputs() -> u64 {
    let wanted = std::env::var("RINGO_FUZZ").ok();
    wanted.map_or(INPUTS, |n| n.parse().expect("RINGO_FUZZ is a number"))
}

/// Damages one place.
pub fn damage(input: &mut Vec<u8>, rng: &mut Rng) {
    let len = input.len() as u32;
    if len == 0 {
        return input.push(rng.next_u64() as u8);
    }
    let at = rng.below(len) as usize;
    match rng.below(7) {
        0 => input[at] ^= 1 << rng.below(8),
        1 => input[at] = rng.next_u64() as u8,
        2 => input[at] = [0, 1, 0x3f, 0x7f, 0x80, 0xc0, 0xfe, 0xff][rng.below(8) as usize],
        3 => input.truncate(at),
        4 => input.insert(at, rng.next_u64() as u8),
        5 => drop(input.remove(at)),
        // A part of it once more, at its end.
        _ => {
            let part = input[at..].to_vec();
            input.extend(part.into_iter().take(64))
        }
    }
}
