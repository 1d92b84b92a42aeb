//! Names and lines for addresses of an ELF.

use std::collections::HashMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::SystemTime;

use gimli::{EndianArcSlice, LittleEndian};
use object::{Object, ObjectSection, ObjectSegment, ObjectSymbol, SymbolKind};

use crate::failure::Doing;
use crate::{Result, file_program};

type Lines = addr2line::Context<EndianArcSlice<LittleEndian>>;

/// Name and `file:line` of a function that an address lies in.
type Frame = (String, Option<String>);

/// A symbol's place.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Place {
    address: u64,
    size: u64,
    /// As it stands in the symbol table: few of them are ever shown.
    name: String,
}

/// The symbols of an ELF; its debug information is read at the first question.
pub struct Symbols {
    elf: Vec<u8>,
    /// Functions, by address.
    functions: Vec<Place>,
    /// Where it is loaded. Debug information of what the linker has dropped claims addresses near 0.
    loaded: Vec<std::ops::Range<u64>>,
    lines: OnceLock<Option<Mutex<Lines>>>,
    /// What [`Self::address_of`] was asked.
    asked: Mutex<HashMap<String, Option<u64>>>,
    root: PathBuf,
    hashed: Option<(String, String)>,
}

/// What was read, by path, with the time at which the file was written and its size.
type Known = HashMap<PathBuf, (Option<SystemTime>, u64, Arc<Symbols>)>;

impl Symbols {
    /// The same as [`Self::read`], but a file that this process has read already, and that is still the same, is not read again:
    /// who boots one kernel a thousand times spends a good part of its time on that.
    ///
    /// # Errors
    ///
    /// As [`Self::read`].
    pub fn shared(path: &Path, root: &Path) -> Result<Arc<Symbols>> {
        static KNOWN: Mutex<Option<Known>> = Mutex::new(None);
        let about = fs::metadata(path).doing(format_args!("read {}", path.display()))?;
        let stamp = (about.modified().ok(), about.len());
        let mut known = KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
        let known = known.get_or_insert_default();
        if let Some((written, size, symbols)) = known.get(path)
            && (*written, *size) == stamp
            && written.is_some()
        {
            return Ok(symbols.clone());
        }
        let symbols = Arc::new(Symbols::read(path, root)?);
        known.insert(path.to_path_buf(), (stamp.0, stamp.1, symbols.clone()));
        Ok(symbols)
    }

    /// Whether the ELF has a symbol of that name, as far as it can be read.
    pub fn defines(path: &Path, name: &str) -> bool {
        let elf = fs::read(path).unwrap_or_default();
        let file = object::File::parse(elf.as_slice());
        file.is_ok_and(|file| file.symbol_by_name(name).is_some())
    }

    /// Reads an ELF. Paths below `root` are shown without it.
    ///
    /// # Errors
    ///
    /// It cannot be read, or is no ELF.
    pub fn read(path: &Path, root: &Path) -> Result<Symbols> {
        let elf = fs::read(path).doing(format_args!("read {}", path.display()))?;
        let file = object::File::parse(elf.as_slice())
            .doing(format_args!("read {} as an ELF", path.display()))?;
        let hashed = hashed_crate(path);
        let mut functions: Vec<Place> = file
            .symbols()
            .filter(|symbol| symbol.address() != 0)
            // Labels of assembly have neither type nor size, but say where one is all the same.
            .filter(|symbol| {
                matches!(
                    symbol.kind(),
                    SymbolKind::Text | SymbolKind::Unknown | SymbolKind::Label
                )
            })
            .filter_map(|symbol| {
                let name = symbol.name().ok().filter(|name| !name.is_empty())?;
                Some(Place {
                    address: symbol.address(),
                    size: symbol.size(),
                    name: name.to_string(),
                })
            })
            .collect();
        let loaded = file
            .segments()
            .map(|segment| segment.address()..segment.address() + segment.size())
            .collect();
        functions.sort_by_key(|place| (place.address, place.size));
        Ok(Symbols {
            elf,
            functions,
            loaded,
            lines: OnceLock::new(),
            asked: Mutex::default(),
            root: root.to_path_buf(),
            hashed,
        })
    }

    /// Paths below it are shown without it.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// The address of a symbol that has this name in the ELF, as it stands there.
    pub fn address_of(&self, name: &str) -> Option<u64> {
        let mut asked = self.asked.lock().unwrap_or_else(PoisonError::into_inner);
        let look = || {
            let file = object::File::parse(self.elf.as_slice()).ok()?;
            file.symbol_by_name(name).map(|symbol| symbol.address())
        };
        *asked.entry(name.to_string()).or_insert_with(look)
    }

    /// The function at `address`, from the symbol table alone.
    pub fn function(&self, address: u64) -> Option<String> {
        let after = self
            .functions
            .partition_point(|place| place.address <= address);
        let place = self.functions[..after].last()?;
        let inside = if place.size == 0 {
            address - place.address < 4096
        } else {
            address - place.address < place.size
        };
        inside.then(|| demangle(&place.name))
    }

    /// ` in name (file:line)` for an address; for one to return to, the line of the call before it. Empty if nothing
    /// is known.
    pub fn describe(&self, address: u64, is_return: bool) -> String {
        // Behind a call that never returns, the next function may begin, or none.
        let is_return = is_return || !self.is_inside(address);
        self.at(address.wrapping_sub(u64::from(is_return)))
    }

    /// The same for an instruction that is known to be the one.
    pub fn at(&self, address: u64) -> String {
        if !self.loaded.iter().any(|range| range.contains(&address)) {
            return String::new();
        }
        let frames = self.frames(address);
        if frames.is_empty() {
            return self
                .function(address)
                .map(|name| format!(" in {name}"))
                .unwrap_or_default();
        }
        let mut text = String::new();
        for (i, (name, place)) in without_plumbing(&frames).into_iter().enumerate() {
            text.push_str(if i == 0 { " in " } else { ", inlined in " });
            text.push_str(name);
            if let Some(place) = place {
                text.push_str(&format!(" ({place})"));
            }
        }
        match &self.hashed {
            Some((with, without)) => text.replace(with, without),
            None => text,
        }
    }

    /// Whether `address` lies behind the first byte of a function.
    fn is_inside(&self, address: u64) -> bool {
        self.function(address).is_some()
            && self
                .functions
                .binary_search_by_key(&address, |place| place.address)
                .is_err()
    }

    /// Function and `file:line` of an address, innermost inlined one first.
    fn frames(&self, address: u64) -> Vec<Frame> {
        let lines = self
            .lines
            .get_or_init(|| read_lines(&self.elf).map(Mutex::new));
        let Some(lines) = lines else {
            return Vec::new();
        };
        let lines = lines
            .lock()
            .unwrap_or_else(std::sync::PoisonError::into_inner);
        let Ok(mut frames) = lines.find_frames(address).skip_all_loads() else {
            return Vec::new();
        };
        let mut found = Vec::new();
        while let Ok(Some(frame)) = frames.next() {
            let name = frame
                .function
                .as_ref()
                .and_then(|function| function.raw_name().ok().map(|raw| demangle(&raw)));
            let place = frame.location.and_then(|location| {
                let file = location.file.map(|file| self.shorten(file))?;
                Some(
                    location
                        .line
                        .map_or(file.clone(), |line| format!("{file}:{line}")),
                )
            });
            let Some(name) = name.or_else(|| self.function(address)) else {
                continue;
            };
            found.push((name, place));
        }
        // The function itself, in which the others are inlined: the symbol table has its path even where the debug
        // information has not.
        if let Some((name, _)) = found.last_mut()
            && !name.contains("::")
            && let Some(path) = self.function(address)
        {
            *name = path
        }
        found
    }

    /// Paths of the project from its root, paths of the compiler's libraries from theirs.
    fn shorten(&self, file: &str) -> String {
        if let Ok(below) = Path::new(file).strip_prefix(&self.root) {
            return below.display().to_string();
        }
        match file.split_once("/library/") {
            Some((front, below)) if front.contains("/rustc/") || front.contains("rustlib/src") => {
                below.to_string()
            }
            _ => file.to_string(),
        }
    }
}

/// What inlined frames pass through without being what anybody looks for: fronts of names, and of files for builds whose
/// debug information has names without paths.
const PLUMBING: &[&str] = &[
    "core::",
    "alloc::",
    "base::guard::",
    "base::lock::",
    "arch::imp::preempt::preempt_",
    "sched::park::",
    "sched::newproc::call_by_value",
    "core/src/",
    "alloc/src/",
    "kernel/base/src/guard.rs",
    "kernel/base/src/lock.rs",
    "kernel/sched/src/park.rs",
];

/// Inlined frames without the ways through [`PLUMBING`], unless nothing else is left.
fn without_plumbing(frames: &[Frame]) -> Vec<&Frame> {
    let is_plumbing = |(name, place): &Frame| {
        let path = name.trim_start_matches('<');
        let file = place.as_deref().unwrap_or("");
        PLUMBING
            .iter()
            .any(|front| path.starts_with(front) || file.starts_with(front))
    };
    let own: Vec<&Frame> = frames.iter().filter(|f| !is_plumbing(f)).collect();
    if own.is_empty() {
        frames.iter().collect()
    } else {
        own
    }
}

/// A file program's crate has the hash of its path behind its name, so that no two share an executable's name; here
/// it is in the way. The name with the hash and the one without, as they stand in symbols.
fn hashed_crate(elf: &Path) -> Option<(String, String)> {
    let (name, hash) = file_program::without_hash(elf.file_name()?.to_str()?)?;
    let name = name.replace('-', "_");
    Some((format!("{name}_{hash}"), name))
}

fn demangle(name: &str) -> String {
    format!("{:#}", rustc_demangle::demangle(name))
}

fn read_lines(elf: &[u8]) -> Option<Lines> {
    let file = object::File::parse(elf).ok()?;
    let section =
        |id: gimli::SectionId| -> std::result::Result<EndianArcSlice<LittleEndian>, gimli::Error> {
            let data = file
                .section_by_name(id.name())
                .and_then(|section| section.data().ok())
                .unwrap_or(&[]);
            Ok(EndianArcSlice::new(Arc::from(data), LittleEndian))
        };
    let dwarf = gimli::Dwarf::load(section).ok()?;
    addr2line::Context::from_dwarf(dwarf).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[inline(never)]
    fn a_function_to_find() -> u32 {
        std::hint::black_box(line!())
    }

    #[test]
    fn finds_itself() {
        let root = crate::Root::find().unwrap();
        let me = std::env::current_exe().unwrap();
        let symbols = Symbols::read(&me, root.path()).unwrap();
        let line = a_function_to_find();
        let name = symbols
            .functions
            .iter()
            .find(|place| demangle(&place.name).ends_with("a_function_to_find"))
            .unwrap();
        assert_eq!(symbols.function(name.address), Some(demangle(&name.name)));
        let shared = || Symbols::shared(&me, root.path()).unwrap();
        assert!(Arc::ptr_eq(&shared(), &shared()));
        let text = symbols.describe(name.address + 1, true);
        assert!(
            text.starts_with(" in ") && text.contains("a_function_to_find ("),
            "{text}"
        );
        let near = |n: u32| text.contains(&format!("symbols.rs:{n}"));
        assert!(
            near(line) || near(line - 1),
            "{text}, but the function's one line is {line}"
        );
        assert_eq!(symbols.address_of("no such symbol"), None);
        assert_eq!(symbols.describe(u64::MAX, false), "");
    }

    #[test]
    fn short_paths() {
        let me = std::env::current_exe().unwrap();
        let symbols = Symbols::read(&me, Path::new("/p")).unwrap();
        assert_eq!(
            symbols.shorten("/p/kernel/sched/src/steal.rs"),
            "kernel/sched/src/steal.rs"
        );
        assert_eq!(
            symbols.shorten("/rustc/0abc/library/core/src/fmt/mod.rs"),
            "core/src/fmt/mod.rs"
        );
        assert_eq!(
            symbols.shorten("/home/x/library/a.rs"),
            "/home/x/library/a.rs"
        );
    }

    #[test]
    fn the_way_through_core_is_left_out() {
        let frame = |name: &str| (name.to_string(), None);
        let all = [
            frame("core::mem::drop"),
            frame("sched::f"),
            frame("<core::x::Y as core::ops::Z>::z"),
            frame("<base::guard::PreemptGuard as core::ops::drop::Drop>::drop"),
            frame("main"),
        ];
        let names = |frames| {
            let shown = without_plumbing(frames);
            shown.into_iter().map(|f| f.0.clone()).collect::<Vec<_>>()
        };
        assert_eq!(names(&all), ["sched::f", "main"]);
        assert_eq!(names(&all[..1]), ["core::mem::drop"]);
    }

    #[test]
    fn crates_of_file_programs() {
        let wanted = Some(("my_hello_0a1b2c3d".to_string(), "my_hello".to_string()));
        assert_eq!(hashed_crate(Path::new("/t/my-hello-0a1b2c3d")), wanted);
        assert_eq!(hashed_crate(Path::new("/t/producer_consumer")), None);
        assert_eq!(hashed_crate(Path::new("/t/a-b")), None);
    }

    #[test]
    fn what_is_no_elf() {
        let root = crate::Root::find().unwrap();
        assert!(Symbols::read(&root.path().join("Cargo.toml"), root.path()).is_err());
    }
}
