//! What is typed wrongly, and what the one line about it has to hold.

/// A name, what is typed, what the line holds.
pub const WRONG: &[(&str, &[&str], &[&str])] = &[
    (
        "unknown program",
        &["helo"],
        &["there is no program \"helo\"", "hello", "list"],
    ),
    (
        "unknown file",
        &["no/such.rs"],
        &["there is no file no/such.rs"],
    ),
    (
        "unknown key",
        &["hello", "--set", "sliec_us=5"],
        &["there is no key \"sliec_us\"", "slice_us"],
    ),
    (
        "unknown value",
        &["hello", "--set", "preempt=often"],
        &["preempt", "async, coop or off"],
    ),
    ("no value", &["hello", "--set", "preempt"], &["preempt"]),
    (
        "value out of range",
        &["hello", "--set", "slice_us=7"],
        &["slice_us", "from 20 to 1000000"],
    ),
    (
        "unknown way to wait",
        &["hello", "--set", "netpoll=epoll"],
        &["netpoll", "park, block or poll"],
    ),
    (
        "no CPU",
        &["hello", "--smp", "0"],
        &["--smp", "from 1 to 64"],
    ),
    (
        "too many CPUs",
        &["hello", "--smp", "65"],
        &["--smp", "from 1 to 64"],
    ),
    (
        "CPUs that are no number",
        &["hello", "--smp", "many"],
        &["--smp"],
    ),
    (
        "more Ps than CPUs",
        &["hello", "--smp", "2", "--procs", "3"],
        &["3", "2", "procs"],
    ),
    (
        "more Ps than CPUs by key",
        &["hello", "--smp", "2", "--set", "procs=3"],
        &["procs=3"],
    ),
    ("no P", &["hello", "--procs", "0"], &["--procs"]),
    (
        "too little memory",
        &["hello", "--mem", "4M"],
        &["mem", "64"],
    ),
    (
        "memory that is no size",
        &["hello", "--mem", "lots"],
        &["mem"],
    ),
    (
        "unknown board",
        &["hello", "--board", "z80"],
        &["--board", "q35, microvm"],
    ),
    ("unknown CPU model", &["hello", "--cpu", "z80"], &["z80"]),
    (
        "a CPU of 32 bits",
        &["hello", "--cpu", "486"],
        &["this CPU model lacks 64-bit mode", "--cpu qemu64"],
    ),
    (
        "a CPU without NX",
        &["hello", "--cpu", "max,-nx"],
        &["or the NX bit", "--cpu qemu64"],
    ),
    (
        "unknown accelerator",
        &["hello", "--accel", "xen"],
        &["--accel", "auto, tcg, kvm"],
    ),
    (
        "unknown machine",
        &["hello", "--machine", "vax"],
        &["--machine", "qemu, host"],
    ),
    (
        "unknown option",
        &["hello", "--frobnicate"],
        &["--frobnicate"],
    ),
    ("time limit", &["hello", "--timeout", "0"], &["--timeout"]),
    (
        "unknown network",
        &["hello", "--net", "bridge"],
        &["--net bridge", "user, stream:PATH", "tap:IF", "none"],
    ),
    (
        "no such interface",
        &["hello", "--net", "tap:ringo-absent"],
        &["no such interface", "ip tuntap add"],
    ),
    (
        "nobody listens",
        &["hello", "--net", "stream:/no/such/socket"],
        &["stream:/no/such/socket", "has to listen"],
    ),
    (
        "forwarded without ports",
        &["hello", "--forward", "80"],
        &["--forward 80", "HOST:GUEST", "8080:80"],
    ),
    (
        "forwarded twice",
        &["hello", "--forward", "8080:80", "--forward", "8080:81"],
        &["port 8080 goes to port 80 already"],
    ),
    (
        "forwarded to nobody",
        &["hello", "--forward", "47080:80"],
        &["--forward", "hello has no network", "--net user"],
    ),
    (
        "forwarded over tap",
        &["hello", "--net", "tap:tap0", "--forward", "47080:80"],
        &["--forward 47080:80 is for --net user", "tap:tap0"],
    ),
    (
        "a capture that cannot be written",
        &["hello", "--net", "user", "--capture", "/no/such/folder/x"],
        &["--capture /no/such/folder/x", "can be written"],
    ),
    (
        "a device as capture",
        &["echo", "--capture", "/dev/full"],
        &["--capture /dev/full", "this is a device", "a regular file"],
    ),
    (
        "a sign before a port",
        &["echo", "--forward", "+8099:7"],
        &["--forward +8099:7", "HOST:GUEST"],
    ),
    (
        "a capture of nothing",
        &["hello", "--capture", "x"],
        &["--capture", "hello has no network"],
    ),
    (
        "a network that repeats itself",
        &["hello", "--net", "user", "--seed", "1"],
        &["--seed", "--net"],
    ),
    (
        "arguments without dashes",
        &["hello", "some", "args"],
        &["\"some\"", "`cargo run -- hello -- some args`"],
    ),
    (
        "a dash too few",
        &["hello", "-smp", "4"],
        &["-smp: options have two dashes, --smp"],
    ),
    ("a command as option", &["--list"], &["`cargo run -- list`"]),
    (
        "another's name for a command",
        &["ls"],
        &["there is no program \"ls\"", "`cargo run -- list`"],
    ),
    (
        "help about nothing",
        &["help", "helo"],
        &["there is no program \"helo\"", "hello"],
    ),
    (
        "a seed that is no number",
        &["hello", "--seed", "x"],
        &["a seed is a whole number from 0 to 2^64 - 1"],
    ),
    (
        "a number below zero",
        &["hello", "--procs", "-1"],
        &["'-1' for '--procs", "a whole number from 1 to 64"],
    ),
    (
        "a time limit with a unit",
        &["hello", "--timeout", "10s"],
        &["a number of seconds above 0, such as 10"],
    ),
    (
        "a size with a unit too much",
        &["hello", "--mem", "512MiB"],
        &["--mem 512MiB is no size; write it as 512M or 2G"],
    ),
    (
        "an empty size",
        &["hello", "--mem", ""],
        &["--mem needs a value", "512M or 2G"],
    ),
    (
        "an option without a value",
        &["hello", "--set"],
        &["--set needs a value", "key=value"],
    ),
    (
        "no key",
        &["hello", "--set", "=5"],
        &[
            "--set =5: a word is key=value, such as preempt=off",
            "slice_us",
        ],
    ),
    (
        "an option as key",
        &["hello", "--set", "mem=1G"],
        &["there is no key \"mem\"", "did you mean the option --mem?"],
    ),
    (
        "unknown level",
        &["hello", "--log", "loud"],
        &["--log loud is not possible", "off, error, warn"],
    ),
    (
        "unknown CPU feature",
        &["hello", "--cpu", "max,+nosuch"],
        &["--cpu max,+nosuch: QEMU knows no CPU feature \"nosuch\""],
    ),
    (
        "a device as disk",
        &["hello", "--disk", "/dev/null"],
        &["--disk /dev/null: this is a device; a disk is a regular file"],
    ),
    (
        "a disk that is not there",
        &["hello", "--disk", "/no/such"],
        &["there is no such file", "`truncate -s 1M /no/such`"],
    ),
    (
        "a file that is no program",
        &["Cargo.toml"],
        &["Cargo.toml is no Rust file", "FILE.rs"],
    ),
    (
        "a demo's name with .rs",
        &["hello.rs"],
        &["there is no file hello.rs", "did you mean hello?"],
    ),
    (
        "no such machine",
        &["top", "no_such"],
        &["there is no machine no_such"],
    ),
    (
        "a ring-3 program that is none",
        &["exec", "helo"],
        &["there is no ring-3 program \"helo\"", "did you mean hello?"],
    ),
    (
        "no ring-3 program",
        &["exec", "--smp", "2"],
        &[
            "exec needs the name of a ring-3 program; there are",
            "hello",
        ],
    ),
    (
        "a demo as ring-3 program",
        &["exec", "handoff"],
        &["did you mean `cargo run -- handoff`?"],
    ),
    (
        "a disk without programs",
        &["exec", "--disk", "Cargo.toml", "mine"],
        &["\"mine\"", "on --disk Cargo.toml is none", "no tar archive"],
    ),
    (
        "ring 3 on the host",
        &["exec", "--machine", "host", "hello"],
        &["--machine host has no ring 3"],
    ),
    (
        "an option of exec that is none",
        &["exec", "--frobnicate", "hello"],
        &["there is no option --frobnicate", "exec --help"],
    ),
    (
        "a file of ring 0 for ring 3",
        &["exec", "demos/src/bin/hello.rs"],
        &["a program of ring 0: `cargo run -- demos/src/bin/hello.rs`"],
    ),
    (
        "a file of ring 3 for ring 0",
        &["userspace/programs/src/bin/hello.rs"],
        &["a program of ring 3: `cargo run -- exec userspace/"],
    ),
];
