//! The launcher against guests of a few bytes each, written here by hand: no kernel needed.

use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use ringo_runner::{Board, Input, Machine, Outcome};

/// Where guests are loaded and, behind the ELF's headers, entered.
const BASE: u32 = 0x10_0000;
const NOTE_AT: u32 = 64 + 2 * 56;
const ZEROES_AT: u32 = NOTE_AT + 20;
const CODE_AT: u32 = ZEROES_AT + 8;

/// An ELF with a PVH note around 32-bit code.
fn elf(code: &[u8]) -> Vec<u8> {
    let size = u64::from(CODE_AT) + code.len() as u64;
    let mut image = vec![0x7f, b'E', b'L', b'F', 2, 1, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0];
    let half = |image: &mut Vec<u8>, words: &[u16]| {
        image.extend(words.iter().flat_map(|w| w.to_le_bytes()))
    };
    let word = |image: &mut Vec<u8>, words: &[u32]| {
        image.extend(words.iter().flat_map(|w| w.to_le_bytes()))
    };
    let long = |image: &mut Vec<u8>, words: &[u64]| {
        image.extend(words.iter().flat_map(|w| w.to_le_bytes()))
    };
    half(&mut image, &[2, 62]);
    word(&mut image, &[1]);
    long(&mut image, &[u64::from(BASE + CODE_AT), 64, 0]);
    word(&mut image, &[0]);
    half(&mut image, &[64, 56, 2, 64, 0, 0]);
    // One segment with everything, one with the note.
    let base = u64::from(BASE);
    word(&mut image, &[1, 5]);
    long(&mut image, &[0, base, base, size, size, 0x1000]);
    word(&mut image, &[4, 4]);
    let note = base + u64::from(NOTE_AT);
    long(&mut image, &[u64::from(NOTE_AT), note, note, 20, 20, 4]);
    word(
        &mut image,
        &[4, 4, 18, u32::from_le_bytes(*b"Xen\0"), BASE + CODE_AT],
    );
    image.extend([0; 8]);
    image.extend(code);
    image
}

/// `out port, byte` for each byte, to a port below 256.
fn say(port: u8, text: &str) -> Vec<u8> {
    text.bytes()
        .flat_map(|byte| [0xb0, byte, 0xe6, port])
        .collect()
}

fn diagnose(text: &str) -> Vec<u8> {
    say(0xe9, text)
}

/// To the serial line: `mov dx, 0x3f8`, then `mov al, byte` and `out dx, al`.
fn print(text: &str) -> Vec<u8> {
    let mut code = vec![0x66, 0xba, 0xf8, 0x03];
    code.extend(text.bytes().flat_map(|byte| [0xb0, byte, 0xee]));
    code
}

fn exit(value: u8) -> Vec<u8> {
    vec![0xb0, value, 0xe6, 0xf4]
}

/// `cli; hlt; jmp` back.
const HANG: &[u8] = &[0xfa, 0xf4, 0xeb, 0xfc];

/// A guest in a file of its own that goes with it.
struct Guest {
    path: PathBuf,
}

impl Guest {
    fn new(name: &str, parts: &[&[u8]]) -> Guest {
        let path = std::env::temp_dir().join(format!("ringo-guest-{}-{name}", std::process::id()));
        std::fs::write(&path, elf(&parts.concat())).unwrap();
        Guest { path }
    }

    fn machine(&self) -> Machine {
        let mut machine = Machine::new(self.path.clone(), "tiny");
        machine.smp = 1;
        machine.mem_bytes = 64 << 20;
        machine.timeout = Some(Duration::from_secs(60));
        machine
    }

    fn run(&self) -> Outcome {
        self.machine().run().unwrap()
    }
}

impl Drop for Guest {
    fn drop(&mut self) {
        drop(std::fs::remove_file(&self.path));
    }
}

#[test]
fn exit_statuses() {
    for (value, status) in [
        (0x10, 0),
        (0x11, 1),
        (0x12, 2),
        (0x13, 2),
        (0x14, 3),
        (0x15, 1),
        (0x20, 3),
        (0, 3),
    ] {
        let outcome = Guest::new(&format!("exit{value}"), &[&exit(value)]).run();
        assert_eq!(outcome.qemu_status, Some(i32::from(value) * 2 + 1));
        assert_eq!(outcome.exit, status, "{value:#x}: {outcome:?}");
    }
}

#[test]
fn both_boards_have_console_and_control_channel() {
    let main = "\x01{\"event\":\"main\",\"since_start_ns\":12}\n";
    let last = "\x01{\"event\":\"exit\",\"code\":7}\n";
    let parts = [
        diagnose("one "),
        diagnose(main),
        print("hello\n"),
        diagnose("two\n"),
        diagnose(last),
        exit(0x11),
    ];
    let guest = Guest::new("talks", &parts.each_ref().map(Vec::as_slice));
    for board in [Board::Q35, Board::Microvm] {
        let mut machine = guest.machine();
        machine.board = board;
        let outcome = machine.run().unwrap();
        assert_eq!(outcome.stdout, "hello\n", "{outcome:?}");
        assert_eq!(outcome.stderr, "one two\nexit status 7\n");
        assert_eq!(outcome.exit, 1);
        assert_eq!(outcome.event("main").unwrap()["since_start_ns"], 12);
        let boot = outcome.boot_to_main.unwrap();
        assert!(boot > Duration::ZERO && boot <= outcome.wall);
    }
}

#[test]
fn the_console_reads() {
    let echo = [
        0x66, 0xba, 0xfd, 0x03, // mov dx, line status
        0xec, 0xa8, 0x01, // in al, dx; test al, 1: is there a byte?
        0x74, 0xf7, // jz to the start
        0x66, 0xba, 0xf8, 0x03, // mov dx, data
        0xec, 0xee, // in al, dx; out dx, al
        0x3c, b'q', // cmp al, 'q'
        0x75, 0xed, // jne to the start
    ];
    // Its first sign of life: input waits for one.
    let sign = [0xb0, b'.', 0xe6, 0xe9]; // mov al, '.'; out 0xe9, al
    let guest = Guest::new("echo", &[&sign, &echo, &exit(0x10)]);
    let mut machine = guest.machine();
    machine.input = Input::Bytes(b"some text\nq and more".to_vec());
    let outcome = machine.run().unwrap();
    assert_eq!((outcome.stdout.as_str(), outcome.exit), ("some text\nq", 0));
}

#[test]
fn a_triple_fault_is_explained() {
    let empty_table = (BASE + ZEROES_AT).to_le_bytes();
    let load = [&[0x0f, 0x01, 0x1d][..], &empty_table].concat();
    let outcome = Guest::new("triple", &[&diagnose("soon\n"), &load, &[0xcc], HANG]).run();
    assert_eq!(outcome.exit, 3, "{outcome:?}");
    assert!(
        outcome.stderr.starts_with("soon\ntriple fault"),
        "{}",
        outcome.stderr
    );
    let report = outcome.post_mortem.unwrap();
    for part in [
        "cpu 0: rip 0x",
        "its interrupt table is empty",
        "v=03->0d->08 (#BP, then #GP, then #DF)",
    ] {
        assert!(
            report.contains(part) && outcome.stderr.contains(part),
            "{part} in {report}"
        );
    }
}

#[test]
fn the_time_limit_ends_a_machine() {
    let guest = Guest::new("hang", &[&print("still here"), HANG]);
    let mut machine = guest.machine();
    machine.timeout = Some(Duration::from_millis(700));
    let started = Instant::now();
    let outcome = machine.run().unwrap();
    assert!(started.elapsed() < Duration::from_secs(20));
    assert_eq!((outcome.exit, outcome.stdout.as_str()), (3, "still here"));
    assert!(
        outcome
            .stderr
            .starts_with("time limit reached\n  cpu 0: rip 0x"),
        "{}",
        outcome.stderr
    );
    assert!(
        outcome
            .post_mortem
            .unwrap()
            .contains("halted, interrupts off")
    );
}

#[test]
fn many_machines_at_once() {
    let machines = (0..6).map(|i| {
        thread::spawn(move || {
            let text = format!("machine {i}\n");
            let guest = Guest::new(&format!("many{i}"), &[&print(&text), &exit(0x10)]);
            let outcome = guest.run();
            assert_eq!((outcome.stdout, outcome.exit), (text, 0));
        })
    });
    for machine in machines.collect::<Vec<_>>() {
        machine.join().unwrap();
    }
}

#[test]
fn what_cannot_start_is_a_line() {
    let guest = Guest::new("never", &[HANG]);
    let mut machine = guest.machine();
    machine.qemu_args = vec!["-no-such-option".into()];
    let line = machine.run().unwrap_err().line;
    assert!(
        line.starts_with("QEMU did not start: ") && line.contains("no-such-option"),
        "{line}"
    );
    // QEMU finds out after its monitor has greeted, or before: both come.
    let mut machine = guest.machine();
    machine.cpu = "max,+nosuch".into();
    for _ in 0..8 {
        let failure = machine.run().unwrap_err();
        assert_eq!(failure.status, 1);
        let wanted = "QEMU did not start: Property 'max-x86_64-cpu.nosuch' not found";
        assert_eq!(failure.line, wanted);
    }
    let no_elf = Machine::new("/etc/passwd".into(), "x")
        .run()
        .unwrap_err()
        .line;
    assert!(no_elf.contains("as an ELF"), "{no_elf}");
    let absent = Machine::new("/no/such/file".into(), "x")
        .run()
        .unwrap_err()
        .line;
    assert!(absent.starts_with("cannot read /no/such/file"), "{absent}");
}

/// In a process of its own, which the next test kills.
#[test]
fn hangs_if_told_to() {
    let Ok(name) = std::env::var("RINGO_TEST_HANG") else {
        return;
    };
    let guest = Guest::new("victim", &[HANG]);
    let mut machine = guest.machine();
    machine.qemu_args = vec!["-name".into(), name];
    machine.run().unwrap();
}

#[test]
fn qemu_dies_with_its_runner() {
    let name = format!("ringo-test-{}", std::process::id());
    let mut runner = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "hangs_if_told_to"])
        .env("RINGO_TEST_HANG", &name)
        .stdout(Stdio::null())
        .spawn()
        .unwrap();
    wait_until(|| is_running(&name));
    runner.kill().unwrap();
    runner.wait().unwrap();
    wait_until(|| !is_running(&name));
    let left = std::env::temp_dir().join(format!("ringo-guest-{}-victim", runner.id()));
    drop(std::fs::remove_file(left));
}

fn wait_until(condition: impl Fn() -> bool) {
    let started = Instant::now();
    while !condition() {
        assert!(started.elapsed() < Duration::from_secs(30));
        thread::sleep(Duration::from_millis(20));
    }
}

/// Whether a QEMU of this name is among the system's processes.
fn is_running(name: &str) -> bool {
    let processes = std::fs::read_dir("/proc")
        .unwrap()
        .filter_map(|entry| Some(entry.ok()?.path()));
    processes
        .filter_map(|process| std::fs::read(process.join("cmdline")).ok())
        .any(|words| {
            words.starts_with(b"qemu")
                | words
                    .split(|byte| *byte == 0)
                    .next()
                    .is_some_and(|w| w.ends_with(b"x86_64"))
                && words
                    .windows(name.len())
                    .any(|part| part == name.as_bytes())
        })
}
