//! A walk through precompiled `core` code, which keeps values in the red zone and in XMM: always the same result.

use base::rng::Rng;
use core::fmt::Write;
use core::hint::black_box;

/// Text in a fixed buffer: no heap, whose lock would keep preemption off.
struct Text {
    bytes: [u8; 512],
    used: usize,
}

impl Write for Text {
    fn write_str(&mut self, s: &str) -> core::fmt::Result {
        let room = self
            .bytes
            .get_mut(self.used..self.used + s.len())
            .ok_or(core::fmt::Error)?;
        room.copy_from_slice(s.as_bytes());
        self.used += s.len();
        Ok(())
    }
}

/// One walk: sorting, formatting, float parsing, case mapping, 128-bit division.
pub fn core_walk(seed: u64) -> u64 {
    let mut rng = Rng::new(seed);
    let mut hash = seed;
    let mut mix = |n: u64| hash = (hash.rotate_left(7) ^ n).wrapping_mul(0x100_0000_01b3);
    let mut floats: [f64; 40] = core::array::from_fn(|_| (rng.next_u64() >> 24) as f64 / 4096.5);
    floats.sort_unstable_by(f64::total_cmp);
    floats.iter().for_each(|f| mix(f.to_bits()));
    let mut words: [u64; 64] = core::array::from_fn(|_| rng.next_u64());
    words.sort_by_key(|w| w.rotate_left(17));
    words.iter().for_each(|w| mix(*w));
    let mut text = Text {
        bytes: [0; 512],
        used: 0,
    };
    let wrote = write!(
        text,
        "{:.6} {:e} {} {:?} {:#x} große ǆ ŵ",
        floats[3],
        floats[30],
        floats[17],
        ("q", floats[9]),
        words[5]
    );
    mix(wrote.is_ok().into());
    let text = core::str::from_utf8(&text.bytes[..text.used]).unwrap_or("");
    text.chars()
        .flat_map(char::to_uppercase)
        .for_each(|c| mix(c.into()));
    for number in text.split(' ').take(3) {
        mix(number.parse::<f64>().map_or(1, f64::to_bits))
    }
    let wide = u128::from(words[1]) << 64 | u128::from(words[2]);
    let by = u128::from(words[3]) << 9 | 1;
    mix((black_box(wide) / black_box(by)) as u64);
    hash
}
