//! How fast the TSC and the APIC timer count.
//!
//! In this order: what CPUID says (leaves 15h, 16h, the hypervisor's 40000010h), else measured against the HPET, else
//! against the PIT. The APIC timer is measured against a TSC of known speed: three times, and the middle one holds; both of them
//! against another clock: until three measurements agree, for a vCPU that its host takes off in between spoils one, and the PIT, which
//! begins anew every 55 ms, spoils many on a busy host. Every wait is bounded, and nothing outside 1 MHz to 10 GHz is believed.

use super::paging::direct;
use super::{apic, tsc};
use raw_cpuid::CpuId;
use x86_64::instructions::port::Port;

/// Length of one measurement.
const WINDOW_NS: u64 = 1_500_000;
/// Measurements at most.
const WINDOWS: usize = 64;
/// A counter that has not moved on after so many looks at it is dead. Under `-icount` a look takes some ten nanoseconds
/// of the machine's time, however long it takes the host: so many looks must be longer than the window even then.
const LOOKS: u32 = 1 << 20;

/// What was found.
#[derive(Clone, Copy, Debug)]
pub struct Clocks {
    pub tsc_hz: u64,
    pub apic_hz: u64,
    pub source: &'static str,
}

/// Both counters at one moment.
#[derive(Clone, Copy)]
struct Moment {
    tsc: u64,
    apic: u32,
}

fn moment() -> Moment {
    Moment {
        tsc: tsc::ticks(),
        apic: apic::read(apic::TIMER_CURRENT),
    }
}

fn plausible(hz: u64) -> bool {
    (1_000_000..=10_000_000_000).contains(&hz)
}

fn middle(mut v: [u64; 3]) -> u64 {
    v.sort_unstable();
    v[1]
}

/// A clock of known speed to measure against.
enum Reference {
    /// Main counter (low half), and femtoseconds a tick.
    Hpet(*const u32, u64),
    Pit,
}

/// Femtoseconds a tick of the 8254: 1 193 182 Hz.
const PIT_PERIOD: u64 = 838_095_344;

impl Reference {
    /// Starts the HPET whose registers ACPI says are at physical `base`.
    /// IA-PC HPET specification 2.3: 0x004 period, 0x010 configuration, 0x0f0 counter.
    fn hpet(base: u64) -> Option<Self> {
        if base == 0 || base > u64::from(u32::MAX) {
            return None;
        }
        let registers = direct(base).cast::<u32>();
        // SAFETY: the direct map has the first 4 GiB, uncached where there is no RAM.
        unsafe {
            let period = u64::from(registers.add(1).read_volatile());
            if !(100_000..=100_000_000).contains(&period) {
                return None; // absent (all ones), or no HPET
            }
            let config = registers.add(4);
            config.write_volatile(config.read_volatile() | 1);
            Some(Reference::Hpet(registers.add(0x3c), period))
        }
    }

    /// Starts channel 0 of the 8254, which firmware used for its clock and nobody uses now: mode 2 from 65536 down, again
    /// and again. Its interrupt line is masked. (Channel 2 would need port 0x61, which microvm does not have.)
    fn pit() -> Self {
        // SAFETY: channel 0 belongs to this module.
        unsafe {
            Port::<u8>::new(0x43).write(0b0011_0100);
            Port::<u8>::new(0x40).write(0);
            Port::<u8>::new(0x40).write(0);
        }
        Reference::Pit
    }

    fn period(&self) -> u64 {
        match *self {
            Reference::Hpet(_, period) => period,
            Reference::Pit => PIT_PERIOD,
        }
    }

    /// Ticks up.
    fn read(&self) -> u32 {
        match *self {
            // SAFETY: see `hpet`.
            Reference::Hpet(counter, _) => unsafe { counter.read_volatile() },
            // SAFETY: see `pit`. Latch, then low and high byte.
            Reference::Pit => unsafe {
                Port::<u8>::new(0x43).write(0);
                let mut data = Port::<u8>::new(0x40);
                let low = data.read();
                65536 - u32::from(u16::from_le_bytes([low, data.read()]))
            },
        }
    }

    fn ticks_between(&self, from: u32, to: u32) -> u32 {
        match self {
            Reference::Hpet(..) => to.wrapping_sub(from),
            Reference::Pit => to.wrapping_sub(from) & 0xffff,
        }
    }

    /// This clock and the two others at one moment: of three looks the one that took least.
    fn look(&self) -> (Moment, u32) {
        let mut best = (u64::MAX, moment(), 0);
        for _ in 0..3 {
            let (before, now) = (moment(), self.read());
            let width = tsc::ticks() - before.tsc;
            if width < best.0 {
                best = (
                    width,
                    Moment {
                        tsc: before.tsc + width / 2,
                        ..before
                    },
                    now,
                );
            }
        }
        (best.1, best.2)
    }

    /// Begin and end of a window, and its length in femtoseconds.
    fn window(&self) -> Option<(Moment, Moment, u128)> {
        let ticks = (WINDOW_NS * 1_000_000 / self.period()) as u32;
        let (begin, from) = self.look();
        (0..LOOKS).find(|_| self.ticks_between(from, self.read()) >= ticks)?;
        let (end, to) = self.look();
        Some((
            begin,
            end,
            u128::from(self.ticks_between(from, to)) * u128::from(self.period()),
        ))
    }
}

fn measure(reference: &Reference, source: &'static str) -> Option<Clocks> {
    let mut seen = [(0, 0); WINDOWS];
    for n in 0..WINDOWS {
        let (begin, end, fs) = reference.window()?;
        let hz = |ticks: u64| (u128::from(ticks) * 1_000_000_000_000_000 / fs.max(1)) as u64;
        let apic = u64::from(begin.apic.wrapping_sub(end.apic));
        seen[n] = (hz(end.tsc - begin.tsc), hz(apic));
        if let Some([a, b]) = two_like(seen[n], &seen[..n]) {
            return Some(Clocks {
                tsc_hz: middle([a.0, b.0, seen[n].0]),
                apic_hz: middle([a.1, b.1, seen[n].1]),
                source,
            });
        }
    }
    None
}

/// Two of `earlier` that differ from `new` by less than a hundredth, if there are some.
fn two_like(new: (u64, u64), earlier: &[(u64, u64)]) -> Option<[(u64, u64); 2]> {
    let near = |a: u64, b: u64| a.abs_diff(b) < b / 100;
    let mut like = earlier
        .iter()
        .filter(|e| near(e.0, new.0) && near(e.1, new.1));
    Some([*like.next()?, *like.next()?])
}

/// The TSC's frequency as CPUID tells it.
fn by_cpuid() -> Option<(u64, &'static str)> {
    let id = CpuId::new();
    let leaf15 = id
        .get_tsc_info()
        .and_then(|t| t.tsc_frequency())
        .filter(|&hz| plausible(hz));
    let leaf16 = || {
        id.get_processor_frequency_info()
            .map(|f| u64::from(f.processor_base_frequency()) * 1_000_000)
    };
    // The base frequency is the TSC's only where leaf 15h announces a ratio (SDM vol. 3, 18.7.3).
    let ratio = || {
        id.get_tsc_info()
            .is_some_and(|t| t.numerator() != 0 && t.denominator() != 0)
    };
    let hypervisor = || {
        id.get_hypervisor_info()?
            .tsc_frequency()
            .map(|khz| u64::from(khz) * 1000)
    };
    leaf15
        .map(|hz| (hz, "CPUID 15h"))
        .or_else(|| {
            ratio()
                .then(leaf16)
                .flatten()
                .filter(|&hz| plausible(hz))
                .map(|hz| (hz, "CPUID 16h"))
        })
        .or_else(|| {
            hypervisor()
                .filter(|&hz| plausible(hz))
                .map(|hz| (hz, "CPUID 40000010h"))
        })
}

/// The APIC timer against a TSC of known speed.
fn against_tsc(tsc_hz: u64, source: &'static str) -> Clocks {
    let window = tsc_hz * WINDOW_NS / 1_000_000_000;
    let apic_hz = core::array::from_fn(|_| {
        let begin = moment();
        while tsc::ticks() - begin.tsc < window {
            core::hint::spin_loop();
        }
        let end = moment();
        (u128::from(begin.apic.wrapping_sub(end.apic)) * u128::from(tsc_hz)
            / u128::from(end.tsc - begin.tsc)) as u64
    });
    Clocks {
        tsc_hz,
        apic_hz: middle(apic_hz),
        source,
    }
}

/// Measures. Takes about 5 ms, or up to 64 windows (0.1 s) for each clock where measurements do not agree. `hpet`: physical address of the HPET's registers, if ACPI names one.
///
/// # Errors
/// A sentence, if no clock of the machine can be trusted.
pub fn calibrate(hpet: Option<u64>) -> Result<Clocks, &'static str> {
    apic::write(apic::TIMER_INITIAL, u32::MAX); // masked by IF=0; runs through the windows
    let good = |c: &Clocks| plausible(c.tsc_hz) && plausible(c.apic_hz);
    let clocks = by_cpuid()
        .map(|(hz, source)| against_tsc(hz, source))
        .filter(good)
        .or_else(|| measure(&Reference::hpet(hpet?)?, "HPET").filter(good))
        .or_else(|| measure(&Reference::pit(), "PIT").filter(good));
    apic::write(apic::TIMER_INITIAL, 0);
    clocks.ok_or(
        "no clock: neither CPUID, HPET nor PIT gives TSC and APIC timer speeds between 1 MHz and 10 GHz on which three measurements agree",
    )
}
