//! The options of a run: what they come to, with defaults and the environment filled in.

use base::config::Config;

use crate::options::RunOptions;
use crate::{Accel, Board, Failure, Forward, Net, Result, set_words, size};

/// What the options come to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Resolved {
    /// CPUs.
    pub smp: u32,
    /// Ps, where they are not simply all.
    pub procs: Option<u32>,
    /// Memory in bytes.
    pub mem_bytes: u64,
    /// What executes instructions.
    pub accel: Accel,
    /// QEMU's CPU model.
    pub cpu: String,
    /// The board.
    pub board: Board,
    /// What the network card is connected to.
    pub net: Net,
    /// Ports that are forwarded.
    pub forwards: Vec<Forward>,
    /// Words of the command line, `--procs` and `--log` among them.
    pub words: Vec<String>,
    /// That the environment wanted more than there is.
    pub cut: Option<String>,
}

impl RunOptions {
    /// What the options come to, if they go together.
    ///
    /// # Errors
    ///
    /// The first thing that is wrong.
    pub fn resolve(&self) -> Result<Resolved> {
        self.check_together()?;
        let host_cpus = std::thread::available_parallelism().map_or(1, |n| n.get() as u32);
        let smp = self.smp.unwrap_or(host_cpus.clamp(2, 64));
        let gomaxprocs = std::env::var("GOMAXPROCS").ok();
        let procs = procs(self.procs, gomaxprocs.as_deref(), smp)?;
        let words = self.words(procs)?;
        let config = self.config(&words, smp)?;
        let set = self.set.iter().any(|word| word.starts_with("procs="));
        Ok(Resolved {
            smp,
            cut: gomaxprocs
                .filter(|_| self.procs.is_none() && !set)
                .and_then(|wanted| cut(&wanted, smp)),
            procs: config.procs,
            mem_bytes: size::parse_mem(self.mem.as_deref().unwrap_or("512M"))?,
            accel: match self.accel.as_deref() {
                Some("tcg") => Accel::Tcg,
                Some("kvm") => Accel::Kvm,
                _ => Accel::Auto,
            },
            cpu: self.cpu.clone().unwrap_or_else(|| "max".to_string()),
            board: if self.board.as_deref() == Some("microvm") {
                Board::Microvm
            } else {
                Board::Q35
            },
            forwards: self.forwards()?,
            net: self.net()?,
            words,
        })
    }

    /// The words of the kernel's command line. An explicit key beats the environment, an explicit option beats both.
    fn words(&self, procs: Option<u32>) -> Result<Vec<String>> {
        set_words::check(&self.set)?;
        let mut words = self.set.clone();
        let set_procs = words.iter().any(|word| word.starts_with("procs="));
        words.extend(
            procs
                .filter(|_| self.procs.is_some() || !set_procs)
                .map(|procs| format!("procs={procs}")),
        );
        words.extend(self.log.as_ref().map(|level| format!("log={level}")));
        Ok(words)
    }

    /// What the kernel makes of `words`.
    fn config(&self, words: &[String], smp: u32) -> Result<Config> {
        let all = format!("{} smp={smp}", words.join(" "));
        Config::parse(&all).map_err(|error| {
            let error = error.to_string();
            Failure::new(match error.split_once("; log takes ") {
                Some((_, takes)) => {
                    let log = self.log.as_deref().unwrap_or_default();
                    format!("--log {log} is not possible; it takes {takes}")
                }
                None => format!("--set {error}"),
            })
        })
    }
}

/// `GOMAXPROCS` is the default and cut to the CPUs; Go too ignores it where it is no number above 0.
fn procs(option: Option<u32>, environment: Option<&str>, smp: u32) -> Result<Option<u32>> {
    match option {
        Some(procs) if procs > smp => Err(Failure::new(format!(
            "--procs {procs} is more than the {smp} CPUs of --smp; it can be 1 to {smp}"
        ))),
        Some(procs) => Ok(Some(procs)),
        None => Ok(environment
            .and_then(|text| text.parse::<u32>().ok())
            .filter(|n| *n > 0)
            .map(|n| n.min(smp))),
    }
}

/// The line about a `GOMAXPROCS` that is more than there are CPUs.
fn cut(environment: &str, smp: u32) -> Option<String> {
    let wanted: u32 = environment.parse().ok()?;
    (wanted > smp).then(|| {
        format!("GOMAXPROCS={wanted} is cut to the {smp} CPUs of the machine; --smp gives it more")
    })
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::options::RunArgs;
    use clap::Parser;

    /// What these words come to.
    pub(crate) fn resolve(line: &str) -> Result<Resolved> {
        RunArgs::try_parse_from(["x"].into_iter().chain(line.split_whitespace()))
            .unwrap()
            .options
            .resolve()
    }

    /// What is said of these words, which are wrong.
    pub(crate) fn line(options: &str) -> String {
        resolve(options).unwrap_err().line
    }

    #[test]
    fn defaults() {
        let checked = resolve("hello").unwrap();
        assert!((2..=64).contains(&checked.smp));
        assert_eq!(
            (checked.mem_bytes, checked.accel, checked.board),
            (512 << 20, Accel::Auto, Board::Q35)
        );
        let args = RunArgs::try_parse_from(["x"]).unwrap();
        assert_eq!(args.program, "tour");
    }

    #[test]
    fn all_at_once() {
        let checked = resolve(
            "hello --smp 4 --procs 3 --mem 1G --accel tcg --board microvm --set preempt=coop --set steal=one --log debug \
             --net none -- -x --smp 9",
        )
        .unwrap();
        assert_eq!(
            checked.words,
            ["preempt=coop", "steal=one", "procs=3", "log=debug"]
        );
        assert_eq!(
            (checked.smp, checked.procs, checked.board),
            (4, Some(3), Board::Microvm)
        );
    }

    #[test]
    fn ps_and_cpus() {
        assert_eq!(procs(None, None, 4), Ok(None));
        assert_eq!(procs(None, Some("9"), 4), Ok(Some(4)));
        assert_eq!(procs(None, Some("many"), 4), Ok(None));
        assert_eq!(procs(None, Some("0"), 4), Ok(None));
        assert_eq!(procs(Some(2), Some("9"), 4), Ok(Some(2)));
        let wanted = "--procs 5 is more than the 4 CPUs of --smp; it can be 1 to 4";
        assert_eq!(procs(Some(5), None, 4).unwrap_err().line, wanted);
        assert!(line("hello --smp 2 --set procs=3").contains("procs=3 is more than the 2 CPUs"));
    }

    #[test]
    fn more_ps_than_there_are() {
        let wanted = "GOMAXPROCS=9 is cut to the 4 CPUs of the machine; --smp gives it more";
        assert_eq!(cut("9", 4).as_deref(), Some(wanted));
        for fine in ["4", "1", "0", "many", ""] {
            assert_eq!(cut(fine, 4), None);
        }
    }

    #[test]
    fn lines_for_what_is_wrong() {
        assert!(
            line("hello --set steal=no")
                .starts_with("--set steal=no is not possible; steal takes half,")
        );
        assert!(line("hello --set nokey=1").contains("the keys are procs"));
        assert!(line("hello --set smp=2").contains("did you mean the option --smp?"));
        assert!(line("hello --log loud").starts_with("--log loud is not possible; it takes off,"));
        assert!(line("hello --mem 1M").contains("at least 64M"));
    }
}
