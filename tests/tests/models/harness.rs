//! Builds test programs for a model checker, and runs them.

use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::time::{Duration, Instant};

/// For hangs only: the longest takes seconds on two processors.
pub const LIMIT: Duration = Duration::from_secs(300);

/// Loom's variable.
const PREEMPTIONS: &str = "LOOM_MAX_PREEMPTIONS";

/// What models depend on and do not use, or once: not worth the compiler's time. (Programs do use these, in a profile that takes over
/// what `release` says.)
const UNUSED: &[&str] = &[
    "smoltcp",
    "heapless",
    "httparse",
    "memchr",
    "libc",
    "owo-colors",
    "zerocopy",
];

/// What became of one run.
pub struct Ran {
    pub passed: bool,
    timed_out: bool,
    pub output: String,
    pub seconds: f64,
}

/// Test programs that have a model a test.
pub struct Program {
    /// The crates that have one.
    crates: &'static [&'static str],
    /// Their name, and the directory under `target` in which they are built.
    name: &'static str,
    rustflags: &'static str,
    paths: OnceLock<Vec<PathBuf>>,
}

/// A model: its name, and the program that has it.
pub struct Model {
    pub name: String,
    program: &'static Path,
}

/// Planted bug, the model that finds it, and what the model then says.
pub type Mutant = (&'static str, &'static str, &'static str);

impl Program {
    pub const fn new(
        crates: &'static [&'static str],
        name: &'static str,
        rustflags: &'static str,
    ) -> Program {
        Program {
            crates,
            name,
            rustflags,
            paths: OnceLock::new(),
        }
    }

    /// Where they lie; built at the first call.
    fn paths(&self) -> &[PathBuf] {
        self.paths.get_or_init(|| {
            let root = root();
            let built = Command::new(env!("CARGO"))
                .args(["test", "--release", "--no-run", "--test", self.name])
                .args(self.crates.iter().flat_map(|name| ["-p", name]))
                .args(UNUSED.iter().flat_map(|name| {
                    let set = format!("profile.release.package.{name}.opt-level=0");
                    ["--config".to_string(), set]
                }))
                .arg("--message-format=json-render-diagnostics")
                .current_dir(&root)
                .env("RUSTFLAGS", self.rustflags)
                .env_remove("CARGO_ENCODED_RUSTFLAGS")
                .env("CARGO_TARGET_DIR", root.join("target").join(self.name))
                .stderr(Stdio::inherit())
                .output()
                .expect("cargo starts");
            assert!(built.status.success(), "the models do not build");
            let paths: Vec<PathBuf> = String::from_utf8_lossy(&built.stdout)
                .lines()
                .filter_map(|line| serde_json::from_str::<serde_json::Value>(line).ok())
                .filter(|m| m["target"]["name"] == self.name && m["target"]["kind"][0] == "test")
                .filter_map(|m| m["executable"].as_str().map(PathBuf::from))
                .collect();
            assert_eq!(paths.len(), self.crates.len(), "programs that cargo names");
            paths
        })
    }

    /// All models.
    pub fn list(&'static self) -> Vec<Model> {
        let mut models = vec![];
        for program in self.paths() {
            let out = Command::new(program)
                .args(["--list", "--format", "terse"])
                .output()
                .expect("the models' program starts");
            let names = String::from_utf8_lossy(&out.stdout);
            let names: Vec<_> = names
                .lines()
                .filter_map(|line| line.strip_suffix(": test"))
                .collect();
            assert!(!names.is_empty(), "no models in {}", program.display());
            models.extend(names.into_iter().map(|name| Model {
                name: name.to_string(),
                program,
            }))
        }
        models
    }

    /// Each bug is planted, and its model must find it: with `first` so many switches of a thread that could have gone on, one
    /// number after the other, since most are found soon where there are few to look at; at last with the model's own.
    ///
    /// # Panics
    /// If one is missed.
    pub fn must_find(&'static self, mutants: &[Mutant], first: &[u32]) {
        let models = self.list();
        let runs = in_parallel(mutants, |(mutant, name, says)| {
            let model = models.iter().find(|m| m.name == *name);
            let model = model.unwrap_or_else(|| panic!("there is no model {name}"));
            let of = |preemptions| model.run(Some(mutant), preemptions);
            // (With few switches a model may miss what it is to see at least once, and fail by that.)
            let hit = |ran: &Ran| !ran.passed && ran.finding().contains(says);
            let found = first.iter().map(|&n| of(Some(n))).find(hit);
            found.unwrap_or_else(|| of(None))
        });
        println!(
            "\n{:26} {:38} {:>8}  finding",
            "planted bug", "model", "seconds"
        );
        let mut missed = vec![];
        for ((mutant, model, says), ran) in mutants.iter().zip(&runs) {
            let (seconds, found) = (ran.seconds, ran.finding());
            println!("{mutant:26} {model:38} {seconds:8.1}  {found}");
            if ran.passed || ran.timed_out || !found.contains(says) {
                missed.push(format!("{mutant} in {model}, expected \"{says}\": {found}"))
            }
        }
        assert!(
            missed.is_empty(),
            "planted bugs that were not found:\n{}",
            missed.join("\n")
        );
    }
}

impl Model {
    /// Explore it, with a planted bug or without; with at most so many switches of a thread that could have gone on, or with as
    /// many as the model itself says. (Shuttle counts none.)
    pub fn run(&self, mutant: Option<&str>, preemptions: Option<u32>) -> Ran {
        let start = Instant::now();
        let mut command = Command::new(self.program);
        command.env_remove(PREEMPTIONS);
        command.envs(preemptions.map(|n| (PREEMPTIONS, n.to_string())));
        let mut child = command
            .args(["--exact", &self.name, "--nocapture", "--test-threads=1"])
            .env_remove("RINGO_SEED")
            .env("RUST_BACKTRACE", "0")
            .env("RINGO_MUTANT", mutant.unwrap_or(""))
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("the models' program starts");
        let readers = [
            child.stdout.take().map(reader),
            child.stderr.take().map(reader),
        ];
        let mut timed_out = false;
        let status = loop {
            if let Some(status) = child.try_wait().expect("a child of ours") {
                break status;
            }
            if start.elapsed() > LIMIT && !timed_out {
                timed_out = true;
                child.kill().expect("a child of ours");
            }
            std::thread::sleep(Duration::from_millis(20));
        };
        let output = readers
            .into_iter()
            .flatten()
            .filter_map(|r| r.join().ok())
            .collect();
        Ran {
            passed: status.success(),
            timed_out,
            output,
            seconds: start.elapsed().as_secs_f64(),
        }
    }
}

/// The workspace.
pub fn root() -> PathBuf {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    here.parent().expect("tests/ lies in it").to_path_buf()
}

/// Reads all that comes, so that the writer never waits.
fn reader(mut from: impl Read + Send + 'static) -> std::thread::JoinHandle<String> {
    std::thread::spawn(move || {
        let mut bytes = vec![];
        let _ = from.read_to_end(&mut bytes);
        String::from_utf8_lossy(&bytes).into_owned()
    })
}

impl Ran {
    /// What a model prints at its end, behind `mark`.
    pub fn report(&self, mark: &str) -> &str {
        let line = self.output.lines().find_map(|l| l.split_once(mark));
        line.map_or("", |(_, line)| line)
    }

    /// What the model found: the first panic's text in one line.
    pub fn finding(&self) -> String {
        if self.timed_out {
            return format!("nothing within {LIMIT:?}");
        }
        let lines = self.output.lines();
        let mut lines = lines.skip_while(|l| !l.contains("panicked at"));
        match lines.next() {
            None => "nothing".to_string(),
            Some(_) => {
                let text: Vec<&str> = lines
                    .take_while(|l| !l.starts_with("note:") && !l.starts_with("stack backtrace"))
                    .take(3)
                    .map(str::trim)
                    .collect();
                text.join(" ").chars().take(72).collect()
            }
        }
    }
}

/// `f` of each, as many at a time as there are processors.
pub fn in_parallel<T: Sync>(items: &[T], f: impl Fn(&T) -> Ran + Sync) -> Vec<Ran> {
    let next = AtomicUsize::new(0);
    let done: Vec<OnceLock<Ran>> = items.iter().map(|_| OnceLock::new()).collect();
    let workers = std::thread::available_parallelism().map_or(1, |n| n.get());
    std::thread::scope(|scope| {
        for _ in 0..workers {
            scope.spawn(|| {
                loop {
                    let i = next.fetch_add(1, Relaxed);
                    let Some(item) = items.get(i) else { break };
                    let _ = done[i].set(f(item));
                }
            });
        }
    });
    done.into_iter().filter_map(OnceLock::into_inner).collect()
}
