//! What the scheduler says about itself: lines of `schedtrace` as tools read them, and figures.

use tests::{Case, DEFAULT, Mode, NO_NET, Outcome};

const MODES: [Mode; 2] = [DEFAULT, NO_NET];

/// `key=value` words in exactly this order; `#` stands for a number, `?` for `true` or `false`, `*` for anything, `nil` is
/// as good as a number.
fn fits(line: &str, form: &str) -> bool {
    let (line, form) = (line.split(' '), form.split(' '));
    let is_number = |v: &str| !v.is_empty() && v.bytes().all(|b| b.is_ascii_digit());
    let word = |(l, f): (&str, &str)| match f.split_once('=') {
        Some((key, kind)) => l.split_once('=').is_some_and(|(k, v)| {
            k == key
                && match kind {
                    "#" => is_number(v),
                    "#|nil" => v == "nil" || is_number(v),
                    "?" => v == "true" || v == "false",
                    "*" => true,
                    _ => v == kind,
                }
        }),
        None => l == f,
    };
    line.clone().count() == form.clone().count() && line.zip(form).all(word)
}

const HEAD: &str =
    "gomaxprocs=# idleprocs=# threads=# spinningthreads=# needspinning=# idlethreads=# runqueue=#";
const DETAIL: &str = "gcwaiting=? nmidlelocked=# stopwait=# sysmonwait=? netpollwaiters=#";
const P: &str = "status=# schedtick=# syscalltick=# m=#|nil runqsize=# gfreecnt=# timerslen=#";
const M: &str = "p=#|nil curg=#|nil mallocing=# throwing=# preemptoff= locks=# dying=# spinning=? blocked=? lockedg=#|nil";

/// One line of `schedtrace`: when, the values of its head by name, the two lists.
struct Line {
    ms: u64,
    head: Vec<(String, u64)>,
    queues: Vec<u64>,
    ticks: Vec<u64>,
}

impl Line {
    fn value(&self, name: &str) -> u64 {
        let found = self.head.iter().find(|(k, _)| k == name);
        found.map_or(u64::MAX, |(_, v)| *v)
    }
}

/// Reads a line to the letter.
fn parse(line: &str) -> Option<Line> {
    let rest = line.strip_prefix("SCHED ")?;
    let (ms, rest) = rest.split_once("ms: ")?;
    let (head, rest) = rest.split_once(" [ ")?;
    let (queues, ticks) = rest.split_once(" ] schedticks=[ ")?;
    let ticks = ticks.strip_suffix(" ]")?;
    let list = |text: &str| {
        let all: Result<Vec<u64>, _> = text.split(' ').map(str::parse).collect();
        all.ok()
    };
    if !fits(head, HEAD) {
        return None;
    }
    let words = head.split(' ').filter_map(|w| w.split_once('='));
    Some(Line {
        ms: ms.parse().ok()?,
        head: words
            .map(|(k, v)| (k.to_string(), v.parse().unwrap_or(u64::MAX)))
            .collect(),
        queues: list(queues)?,
        ticks: list(ticks)?,
    })
}

fn lines(o: &Outcome) -> impl Iterator<Item = &str> {
    o.stderr.lines().map(|l| l.trim_end_matches('\r'))
}

/// All lines of a run without detail.
fn traces(o: &Outcome, procs: usize, period_ms: u64) -> Result<Vec<Line>, String> {
    let of_it = lines(o).filter(|l| l.contains("SCHED "));
    let all: Result<Vec<Line>, String> = of_it
        .map(|l| parse(l).ok_or(format!("this is no line of Go's: \"{l}\"")))
        .collect();
    let all = all?;
    if all.len() < 4 {
        return Err(format!("only {} lines", all.len()));
    }
    for pair in all.windows(2) {
        // Each is at least a period after the one before, but for the rounding.
        if pair[1].ms + 1 < pair[0].ms + period_ms {
            return Err(format!(
                "at {} ms and then at {} ms",
                pair[0].ms, pair[1].ms
            ));
        }
        if pair[0].ticks.iter().zip(&pair[1].ticks).any(|(a, b)| a > b) {
            return Err("schedticks fell".into());
        }
    }
    for l in &all {
        if (l.queues.len(), l.ticks.len()) != (procs, procs)
            || l.value("gomaxprocs") != procs as u64
        {
            return Err(format!("not {procs} Ps at {} ms", l.ms));
        }
        if l.value("idleprocs") > procs as u64 || l.value("idlethreads") > l.value("threads") {
            return Err(format!("more idle than there are at {} ms", l.ms));
        }
    }
    Ok(all)
}

/// How many lines of a trace come before the one that says `word`.
fn lines_before(o: &Outcome, word: &str) -> Option<usize> {
    let at = lines(o).position(|l| l == word)?;
    Some(lines(o).take(at).filter(|l| l.contains("SCHED ")).count())
}

/// Most of the lines say so: others may fall into the first or last moments.
fn mostly(lines: &[Line], what: &str, is: impl Fn(&Line) -> bool) -> Result<(), String> {
    let n = lines.iter().filter(|l| is(l)).count();
    if 2 * n >= lines.len() {
        Ok(())
    } else {
        Err(format!("{what} in {n} of {} lines only", lines.len()))
    }
}

fn trace_cases() -> Vec<Case> {
    let mut all = Vec::new();
    for smp in [1u32, 2, 4] {
        for mode in MODES.into_iter().take(if smp == 2 { 2 } else { 1 }) {
            let of = |test| {
                Case::new("figures", test)
                    .smp(smp)
                    .mode(mode)
                    .word("schedtrace=10")
            };
            let n = smp as usize;
            all.push(of("trace_idle").judge(move |o| {
                let lines = traces(o, n, 10)?;
                // CPU 0 is the one that prints; its M may hold a P while it does, and so may the one that was woken for that, which
                // takes its time on a busy host.
                let idle = |l: &Line, ps: usize| {
                    l.value("idleprocs") >= ps as u64 && l.value("runqueue") == 0
                };
                mostly(&lines, "the machine is idle but for a P", |l| {
                    idle(l, (n - 1).max(1))
                })?;
                match lines.iter().any(|l| idle(l, n)) {
                    true => Ok(()),
                    false => Err("no line shows the machine idle".to_string()),
                }
            }));
            all.push(of("trace_busy").judge(move |o| {
                let lines = traces(o, n, 10)?;
                let busy = |l: &Line| {
                    let queued = l.value("runqueue") + l.queues.iter().sum::<u64>();
                    l.value("idleprocs") == 0 && queued >= n as u64
                };
                // Before the first word some may not run yet, after the second some no longer.
                let before = |word: &str| {
                    let said = lines_before(o, word).ok_or(format!("it did not say \"{word}\""));
                    said.map(|before| before.min(lines.len()))
                };
                let lines = &lines[before("all are busy")?..before("no more")?];
                if lines.len() < 8 {
                    return Err(format!("only {} lines of a busy machine", lines.len()));
                }
                mostly(lines, "the machine is busy", busy)
            }));
        }
        all.push(
            Case::new("figures", "trace_idle")
                .named("in detail")
                .smp(smp)
                .word("schedtrace=10")
                .word("scheddetail=1")
                .judge(move |o| detailed(o, smp as usize)),
        );
        // It is no timer that anybody waits for: the deadlock is found all the same.
        all.push(
            Case::new("figures", "deadlock_main")
                .named("beside schedtrace")
                .smp(smp)
                .word("schedtrace=5")
                .exit(2)
                .says("all goroutines are asleep - deadlock!"),
        );
    }
    all
}

/// The lines of `scheddetail`: a head, then each P, M and G.
fn detailed(o: &Outcome, cpus: usize) -> Result<(), String> {
    let (mut heads, mut ps, mut ms, mut locked) = (0, 0, 0, false);
    for line in lines(o) {
        let fits_with = |form: &str| {
            let body = line.split_once(": ").map_or("", |(_, body)| body);
            if fits(body, form) {
                Ok(())
            } else {
                Err(format!("this is no line of Go's: \"{line}\""))
            }
        };
        if line.starts_with("SCHED ") {
            fits_with(&format!("{HEAD} {DETAIL}"))?;
            heads += 1
        } else if line.starts_with("  P") {
            fits_with(P)?;
            ps += 1
        } else if line.starts_with("  M") {
            fits_with(M)?;
            ms += 1
        } else if line.starts_with("  G") {
            // The reason may have spaces in it.
            let (front, back) = line.split_once(") m=").ok_or("a G without M")?;
            let (status, _) = front.split_once('(').ok_or("a G without a reason")?;
            let status = status.split_once(": ").map_or("", |(_, s)| s);
            if !fits(status, "status=#") || !fits(&format!("m={back}"), "m=#|nil lockedm=#|nil") {
                return Err(format!("this is no line of Go's: \"{line}\""));
            }
            locked |= line.contains(": status=4(chan receive) m=nil lockedm=")
                && !line.ends_with("lockedm=nil")
        } else if !line.is_empty() {
            return Err(format!("what is this: \"{line}\""));
        }
    }
    if heads < 4 || ps != heads * cpus || ms != heads * cpus {
        return Err(format!("{heads} heads, {ps} Ps, {ms} Ms"));
    }
    if !locked {
        return Err("the locked goroutine was not shown".into());
    }
    Ok(())
}

pub fn cases() -> Vec<Case> {
    let mut all = trace_cases();
    for smp in [1, 2, 4] {
        for mode in MODES {
            let tests = [
                "sched_metrics",
                "sched_pause_metrics",
                "mutex_wait_metric",
                "cpu_metrics_sleep",
                "read_metrics_cumulative",
                "latency_tracking",
            ];
            let case = Case::several("figures", "metrics", &tests);
            all.push(case.smp(smp).mode(mode));
        }
    }
    for smp in [1, 2, 4] {
        all.push(Case::new("figures", "lock_wait_metric").smp(smp));
    }
    all.push(
        Case::new("figures", "latency_of_who_waits")
            .smp(1)
            .mode(NO_NET),
    );
    all
}
