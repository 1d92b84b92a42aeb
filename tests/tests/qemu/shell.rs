//! The shell, through a pipe: what it answers, and that it costs nothing while nobody talks to it.

use libtest_mimic::Trial;
use std::io::Write;
use std::process::Stdio;
use tests::{Case, NO_NET, Outcome, run_runner, runner_command, trial};

/// Types these lines.
fn typed(text: &'static str) -> Case {
    Case::new("shell", "shell")
        .machine(move |m| m.input = tests::Input::Bytes(text.as_bytes().to_vec()))
}

/// These texts, in this order, on stdout.
fn in_order(texts: &'static [&'static str]) -> impl Fn(&Outcome) -> Result<(), String> {
    move |o| {
        let (all, mut at) = (o.stdout.replace('\r', ""), 0);
        for t in texts {
            let found = all[at..].find(t);
            at += found.ok_or(format!("\"{t}\" does not come after those before it"))? + t.len();
        }
        Ok(())
    }
}

const ALL: &str = "help\ngo 3\ngs\nps\nstat\nleaks\n  gs  \ndump\n\nxyz\ngo\ngo x\nspin 1001\nps now\nhx\x7felp\x08p\nexit\nps\n";

fn all(o: &Outcome) -> Result<(), String> {
    in_order(&[
        "> help ",
        "go N ",
        "spin N ",
        // Whether the three sleep already is the host's affair.
        "> > 4 goroutines: ",
        "goroutine 1 [running]:\n",
        "]:\ncreated by ",
        "> SCHED ",
        "gomaxprocs=2 ",
        "  P0: status=",
        "  M1: p=",
        " switches, ",
        "4 goroutines made; 2 Ps on 2 CPUs",
        "from ready to running: ",
        "Ps idle ",
        "> leaks: 0 certain, 0 suspect\n",
        "> 4 goroutines: ",
        "> > > there is no command xyz; help lists them\n",
        "> go takes a number from 1 to 1000000\n",
        "> go takes a number from 1 to 1000000\n",
        "> spin takes a number from 0 to 1000\n",
        "> ps takes nothing\n",
        "> help ",
        "exit ",
        "> ",
    ])(o)?;
    if o.stdout.matches("SCHED ").count() != 1 {
        return Err("something ran after exit".into());
    }
    if o.stderr.matches("]:\n").count() != 4 {
        return Err("the dump does not show the shell and three others".into());
    }
    Ok(())
}

const PROGRAMS: &str = "exec hello a b\nexec burn 100000 &\nps\nkill 2\nexec crash null\nexec cat\n\x04exec nosuch\nexec\nkill x\nkill 999\nps\nexit\n";

fn programs(o: &Outcome) -> Result<(), String> {
    in_order(&[
        "> hello from process 1, given [\"a\", \"b\"]\n",
        "hello from goroutine ",
        "> process 2\n",
        "> ",
        "process 2 (burn): 1 thread, ",
        "  thread ",
        "> ",
        "process 3 (crash): page fault\n",
        "> ",
        "there is no program nosuch\n",
        "exec takes a program: burn, cat, ",
        "kill takes the number of a process",
        "there is no process 999\n",
        "> ",
    ])(o)?;
    let after = o.stdout.rsplit("there is no process 999").next();
    if after.is_some_and(|rest| rest.contains("process ")) {
        return Err("a process is left".into());
    }
    match o.stdout.contains("process 2 (burn): killed")
        && o.stderr.contains("process 3 (crash), thread ")
    {
        true => Ok(()),
        false => Err("an end was not told".into()),
    }
}

pub fn cases() -> Vec<Case> {
    let mut cases = vec![
        typed(ALL).judge(all),
        // Hogs on every CPU: the shell still answers.
        typed("spin 4\nstat\ngs\nspin 0\ngo 1\ngs\nexit\n")
            .named("beside hogs")
            .judge(in_order(&["> 5 goroutines: ", "> > > "])),
        // Programs of ring 3: one that the shell waits for, one beside it, which is ended, and what is wrong.
        typed(PROGRAMS).named("programs").judge(programs),
        // The last line has no end.
        typed("gs\x04").named("without an end of line").judge(in_order(&["> 1 goroutines", "> "])),
        // A thousand bytes at once, and a line longer than any command.
        typed(concat!(
            "0123456789012345678901234567890123456789012345678901234567890123456789012345678901234567890123456789",
            "0123456789012345678901234567890123456789012345678901234567890123456789012345678901234567890123456789",
            "0123456789012345678901234567890123456789012345678901234567890123456789012345678901234567890123456789",
            "\rgs\r\ngs\nexit\n"
        ))
        .named("much at once")
        .judge(in_order(&[
            "there is no command 0123456789",
            "> 1 goroutines",
            "> 1 goroutines",
            "> ",
        ])),
    ];
    for smp in [1, 4] {
        cases.push(
            typed("go 2\ngs\nexit\n")
                .named("with neither slices nor sysmon")
                .smp(smp)
                .mode(NO_NET)
                // Where the two are just then is the host's affair.
                .says("> 3 goroutines: "),
        );
    }
    cases
}

/// `echo gs | cargo run -- shell` ends by itself: the end of the input is the end of the shell. On both machines.
pub fn trials() -> Vec<Trial> {
    let machines: [(&str, &[&str]); 2] = [
        ("qemu", &["--smp", "2"]),
        ("host", &["--machine", "host", "--debug", "--smp", "2"]),
    ];
    let of = |(name, words): (&str, &'static [&'static str])| {
        trial(format!("shell::through a pipe, {name}"), move || {
            through_a_pipe(words)
        })
    };
    let mut all: Vec<Trial> = machines.into_iter().map(of).collect();
    all.push(trial("shell::none with a seed", || {
        let words = ["shell", "--seed", "3", "--timeout", "120"];
        run_runner("shell", "none with a seed", &words, |c| c)?.ended(0, "gets no input")
    }));
    all
}

fn through_a_pipe(words: &[&str]) -> Result<(), String> {
    let mut child = runner_command(&[&["shell", "--timeout", "120"], words].concat())?
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .map_err(|e| e.to_string())?;
    let mut to = child.stdin.take().ok_or("no pipe")?;
    to.write_all(b"gs\n").map_err(|e| e.to_string())?;
    drop(to);
    let output = child.wait_with_output().map_err(|e| e.to_string())?;
    let text = String::from_utf8_lossy(&output.stdout).replace('\r', "");
    if output.status.code() == Some(0)
        && text.starts_with("> 1 goroutines: 1 running")
        && text.ends_with("> \n")
    {
        Ok(())
    } else {
        let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
        Err(format!("{:?}\n{text}\n{stderr}", output.status))
    }
}
