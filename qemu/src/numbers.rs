//! Whole numbers as the user writes them. Rust's own words for a wrong one ("invalid digit found in string") help nobody.

use std::fmt::Display;
use std::ops::RangeInclusive;
use std::str::FromStr;

/// A parser for clap: whole numbers in `range`. What is wrong with others is said with `such_as`, an example.
pub fn whole<T>(
    range: RangeInclusive<T>,
    such_as: &'static str,
) -> impl Fn(&str) -> Result<T, String> + Clone + Send + Sync
where
    T: FromStr + PartialOrd + Display + Copy + Send + Sync,
{
    move |text| {
        // Rust's own parser takes a leading +.
        let digits = text.bytes().all(|byte| byte.is_ascii_digit());
        let number = digits.then(|| text.parse().ok()).flatten();
        number
            .filter(|number| range.contains(number))
            .ok_or_else(|| {
                let (least, most) = (range.start(), range.end());
                format!("a whole number from {least} to {most}, such as {such_as}")
            })
    }
}

/// The parser of `--seed`.
pub fn seed(text: &str) -> Result<u64, String> {
    whole(0..=u64::MAX, "7")(text).map_err(|_| {
        "a seed is a whole number from 0 to 2^64 - 1, such as 7; the same seed gives the same run"
            .to_string()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whole_numbers() {
        let cpus = whole(1..=64u32, "4");
        assert_eq!((cpus("1"), cpus("64")), (Ok(1), Ok(64)));
        for bad in [
            "",
            "0",
            "65",
            "-1",
            "+1",
            "2x",
            "1.5",
            "99999999999999999999",
        ] {
            let wanted = "a whole number from 1 to 64, such as 4";
            assert_eq!(cpus(bad).unwrap_err(), wanted, "{bad}");
        }
        assert_eq!(seed("18446744073709551615"), Ok(u64::MAX));
        assert!(
            seed("x")
                .unwrap_err()
                .starts_with("a seed is a whole number")
        );
    }
}
