//! The `log` facade, on the error side of the console.

use base::config::LogLevel;

struct Console;

impl log::Log for Console {
    fn enabled(&self, m: &log::Metadata) -> bool {
        m.level() <= log::max_level()
    }
    fn log(&self, r: &log::Record) {
        if self.enabled(r.metadata()) {
            crate::eprintln!(
                "[{:>12.6} {:5} {}] {}",
                sched::machine_now_ns() as f64 / 1e9,
                r.level(),
                r.target(),
                r.args()
            )
        }
    }
    fn flush(&self) {}
}

/// Let messages up to `level` through.
pub(crate) fn init(level: LogLevel) {
    if log::set_logger(&Console).is_ok() {
        log::set_max_level(match level.word() {
            "off" => log::LevelFilter::Off,
            "error" => log::LevelFilter::Error,
            "warn" => log::LevelFilter::Warn,
            "info" => log::LevelFilter::Info,
            "debug" => log::LevelFilter::Debug,
            _ => log::LevelFilter::Trace,
        })
    }
}
