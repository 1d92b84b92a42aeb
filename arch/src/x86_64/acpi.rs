//! Two ACPI tables, read in place: the MADT (which CPUs there are) and the HPET's. ACPI specification 6.5, 5.2.
//!
//! Portable: told about memory through a function, so that tables made by hand test it on the host. A broken table is
//! treated as absent; nothing here loops or reads without bound.

/// Copies from a physical address; false where nothing can be read.
pub type Read<'a> = &'a dyn Fn(u64, &mut [u8]) -> bool;

/// A table that is longer than this is broken.
const MAX_TABLE_BYTES: u32 = 1 << 20;
const HEADER: u64 = 36;

fn bytes<const N: usize>(read: Read, at: u64) -> Option<[u8; N]> {
    let mut b = [0; N];
    at.checked_add(N as u64)
        .is_some_and(|_| read(at, &mut b))
        .then_some(b)
}
fn u32_at(read: Read, at: u64) -> Option<u32> {
    bytes(read, at).map(u32::from_le_bytes)
}
fn u64_at(read: Read, at: u64) -> Option<u64> {
    bytes(read, at).map(u64::from_le_bytes)
}

/// All bytes of a table add up to 0.
fn sums_up(read: Read, at: u64, len: u64) -> bool {
    (0..len).try_fold(0u8, |sum, i| {
        bytes::<1>(read, at + i).map(|b| sum.wrapping_add(b[0]))
    }) == Some(0)
}

/// Address and length of the table with this signature, found from the root pointer at `rsdp`.
pub fn find_table(read: Read, rsdp: u64, signature: &[u8; 4]) -> Option<(u64, u64)> {
    if bytes::<8>(read, rsdp)? != *b"RSD PTR " || !sums_up(read, rsdp, 20) {
        return None;
    }
    let revision = bytes::<1>(read, rsdp.checked_add(15)?)?[0];
    let xsdt = if revision >= 2 {
        u64_at(read, rsdp + 24)?
    } else {
        0
    };
    let (root, width) = if xsdt != 0 {
        (xsdt, 8)
    } else {
        (u64::from(u32_at(read, rsdp + 16)?), 4)
    };
    let root_len = table_len(read, root)?;
    (0..(root_len - HEADER) / width).find_map(|i| {
        let at = root + HEADER + i * width;
        let table = if width == 8 {
            u64_at(read, at)?
        } else {
            u64::from(u32_at(read, at)?)
        };
        if bytes::<4>(read, table)? != *signature {
            return None;
        }
        let len = table_len(read, table)?;
        sums_up(read, table, len).then_some((table, len))
    })
}

fn table_len(read: Read, table: u64) -> Option<u64> {
    let len = u32_at(read, table.checked_add(4)?)?;
    (HEADER as u32..=MAX_TABLE_BYTES)
        .contains(&len)
        .then_some(u64::from(len))
}

/// Calls `f` with the APIC id of each enabled CPU, in the table's order. CPUs that could be plugged in later are left out.
/// False if there is no MADT.
pub fn cpus(read: Read, rsdp: u64, mut f: impl FnMut(u32)) -> bool {
    let Some((madt, len)) = find_table(read, rsdp, b"APIC") else {
        return false;
    };
    let end = madt + len;
    let mut at = madt + 44;
    while let Some([kind, size]) =
        bytes::<2>(read, at).filter(|b| b[1] >= 2 && at + u64::from(b[1]) <= end)
    {
        let found = match (kind, size) {
            // Processor local APIC: id at 3, flags at 4. Local x2APIC: id at 4, flags at 8.
            (0, 8..) => bytes::<1>(read, at + 3)
                .map(|b| u32::from(b[0]))
                .zip(u32_at(read, at + 4)),
            (9, 16..) => u32_at(read, at + 4).zip(u32_at(read, at + 8)),
            _ => None,
        };
        if let Some((id, flags)) = found
            && flags & 1 != 0
        {
            f(id);
        }
        at += u64::from(size);
    }
    true
}

/// Physical address of the HPET's registers, if they lie in memory.
pub fn hpet(read: Read, rsdp: u64) -> Option<u64> {
    let (table, len) = find_table(read, rsdp, b"HPET")?;
    let in_memory = bytes::<1>(read, table + 40)?[0] == 0;
    (len >= 52 && in_memory).then(|| u64_at(read, table + 44))?
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Tables from address 0x1000 on.
    struct Ram(Vec<u8>);
    const BASE: u64 = 0x1000;

    impl Ram {
        fn read(&self, at: u64, into: &mut [u8]) -> bool {
            let Some(at) = at.checked_sub(BASE).map(|a| a as usize) else {
                return false;
            };
            let Some(from) = self.0.get(at..).and_then(|s| s.get(..into.len())) else {
                return false;
            };
            into.copy_from_slice(from);
            true
        }
        fn cpus(&self) -> Option<Vec<u32>> {
            let mut ids = vec![];
            cpus(&|at, into| self.read(at, into), BASE, |id| ids.push(id)).then_some(ids)
        }
        fn hpet(&self) -> Option<u64> {
            hpet(&|at, into| self.read(at, into), BASE)
        }
    }

    fn sum_to_zero(b: &mut [u8], at: usize) {
        b[at] = 0u8.wrapping_sub(b.iter().fold(0, |s, x| s.wrapping_add(*x)));
    }
    fn table(signature: &[u8; 4], body: &[u8]) -> Vec<u8> {
        let mut t = vec![0; HEADER as usize];
        t[..4].copy_from_slice(signature);
        t[4..8].copy_from_slice(&(HEADER as u32 + body.len() as u32).to_le_bytes());
        t.extend(body);
        sum_to_zero(&mut t, 9);
        t
    }
    fn lapic(id: u8, flags: u8) -> [u8; 8] {
        [0, 8, 0, id, flags, 0, 0, 0]
    }
    fn madt(entries: &[&[u8]]) -> Vec<u8> {
        let mut body = vec![0; 8];
        entries.iter().for_each(|e| body.extend(*e));
        table(b"APIC", &body)
    }
    /// Root pointer (revision 0), RSDT, then the tables.
    fn machine(tables: &[Vec<u8>]) -> Ram {
        let mut rsdp = vec![0; 20];
        rsdp[..8].copy_from_slice(b"RSD PTR ");
        rsdp[16..20].copy_from_slice(&(BASE as u32 + 20).to_le_bytes());
        sum_to_zero(&mut rsdp, 8);
        let mut at = BASE as u32 + 20 + 36 + 4 * tables.len() as u32;
        let mut body = vec![];
        for t in tables {
            body.extend(at.to_le_bytes());
            at += t.len() as u32;
        }
        rsdp.extend(table(b"RSDT", &body));
        tables.iter().for_each(|t| rsdp.extend(t));
        Ram(rsdp)
    }

    #[test]
    fn enabled_cpus_in_order() {
        let x2 = [9u8, 16, 0, 0, 0x2c, 1, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0];
        let m = machine(&[
            table(b"FACP", &[0; 8]),
            madt(&[&lapic(0, 1), &lapic(7, 0), &lapic(3, 1), &[1, 4, 0, 0], &x2]),
        ]);
        assert_eq!(m.cpus(), Some(vec![0, 3, 300]));
    }

    #[test]
    fn entry_without_length_or_over_the_end_stops_the_walk() {
        assert_eq!(
            machine(&[madt(&[&lapic(1, 1), &[0, 0], &lapic(2, 1)])]).cpus(),
            Some(vec![1])
        );
        assert_eq!(
            machine(&[madt(&[&lapic(1, 1), &[0, 8, 0, 2]])]).cpus(),
            Some(vec![1])
        );
        // An entry that claims to be shorter than its kind.
        assert_eq!(
            machine(&[madt(&[&[0, 4, 0, 9], &lapic(2, 1)])]).cpus(),
            Some(vec![2])
        );
    }

    #[test]
    fn broken_tables_are_absent() {
        let mut bad_sum = madt(&[&lapic(0, 1)]);
        bad_sum[20] ^= 1;
        assert_eq!(machine(&[bad_sum]).cpus(), None);
        let mut too_long = madt(&[&lapic(0, 1)]);
        too_long[4..8].copy_from_slice(&u32::MAX.to_le_bytes());
        assert_eq!(machine(&[too_long]).cpus(), None);
        let mut no_root = machine(&[madt(&[])]);
        no_root.0[0] = b'X';
        assert_eq!(no_root.cpus(), None);
        assert_eq!(machine(&[]).cpus(), None);
        assert_eq!(Ram(vec![]).cpus(), None);
        assert!(!cpus(&|_, _| false, u64::MAX - 3, |_| ()));
    }

    #[test]
    fn hpet_in_memory_only() {
        let mut body = vec![0u8; 20];
        body[8..16].copy_from_slice(&0xfed0_0000u64.to_le_bytes());
        assert_eq!(machine(&[table(b"HPET", &body)]).hpet(), Some(0xfed0_0000));
        body[4] = 1; // I/O ports
        assert_eq!(machine(&[table(b"HPET", &body)]).hpet(), None);
        assert_eq!(machine(&[table(b"HPET", &body[..10])]).hpet(), None);
    }
}
