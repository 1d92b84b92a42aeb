//! Sizes of memory as the user writes them: `512M`, `1G`.

use crate::{Failure, Result};

/// Least memory that a machine is booted with: the kernel, its page tables and a stack for each CPU need some.
pub const MIN_MEM_BYTES: u64 = 64 << 20;

/// Reads `--mem`: digits with the suffix K, M or G; without one, mebibytes, as QEMU reads them. In bytes.
///
/// # Errors
///
/// It is no size, or less than [`MIN_MEM_BYTES`], or more than a machine can have.
pub fn parse_mem(text: &str) -> Result<u64> {
    let wrong = || Failure::new(format!("--mem {text} is no size; write it as 512M or 2G"));
    let (digits, shift) = match text.as_bytes().last() {
        Some(b'K' | b'k') => (&text[..text.len() - 1], 10),
        Some(b'M' | b'm') => (&text[..text.len() - 1], 20),
        Some(b'G' | b'g') => (&text[..text.len() - 1], 30),
        Some(_) => (text, 20),
        None => return Err(wrong()),
    };
    if digits.is_empty() || !digits.bytes().all(|b| b.is_ascii_digit()) {
        return Err(wrong());
    }
    let too_much = || {
        Failure::new(format!(
            "--mem {text} is more than a machine can have; at most 512G"
        ))
    };
    let bytes = digits
        .parse::<u64>()
        .ok()
        .and_then(|n| n.checked_mul(1 << shift))
        .ok_or_else(too_much)?;
    if bytes > 512 << 30 {
        return Err(too_much());
    }
    if bytes < MIN_MEM_BYTES {
        return Err(Failure::new(format!(
            "--mem {text} is too little; a machine needs at least 64M"
        )));
    }
    Ok(bytes & !0xfff)
}

/// Bytes as a user reads them.
pub fn show(bytes: u64) -> String {
    match bytes {
        b if b >= 1 << 30 && b % (1 << 30) == 0 => format!("{} GiB", b >> 30),
        b if b >= 10 << 30 => format!("{:.1} GiB", b as f64 / f64::from(1 << 30)),
        b => format!("{} MiB", b >> 20),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes() {
        assert_eq!(parse_mem("512M").unwrap(), 512 << 20);
        assert_eq!(parse_mem("1g").unwrap(), 1 << 30);
        assert_eq!(parse_mem("65536K").unwrap(), 64 << 20);
        assert_eq!(parse_mem("256").unwrap(), 256 << 20);
    }

    #[test]
    fn bad_sizes() {
        for bad in ["", "M", "1.5G", "-1", "64MB", "x", "１G"] {
            assert!(
                parse_mem(bad).unwrap_err().line.contains("is no size"),
                "{bad}"
            );
        }
        assert_eq!(
            parse_mem("63M").unwrap_err().line,
            "--mem 63M is too little; a machine needs at least 64M"
        );
        assert!(
            parse_mem("9999999999999999999999G")
                .unwrap_err()
                .line
                .contains("more than")
        );
        assert!(
            parse_mem("99999G")
                .unwrap_err()
                .line
                .contains("at most 512G")
        );
    }
}
