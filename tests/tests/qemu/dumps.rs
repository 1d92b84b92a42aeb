//! Dumps on demand: headers in Go's form, frames with names, Ps and Ms.

use tests::{Case, NO_NET, Outcome, figure};

fn lines(o: &Outcome) -> Vec<&str> {
    o.stderr.lines().map(|l| l.trim_end_matches('\r')).collect()
}

/// `goroutine N [reason]:`
fn is_header(line: &str) -> bool {
    line.strip_prefix("goroutine ").is_some_and(|rest| {
        let number = rest.split(' ').next().unwrap_or("");
        !number.is_empty() && number.bytes().all(|b| b.is_ascii_digit()) && rest.ends_with("]:")
    })
}

fn headers(lines: &[&str]) -> usize {
    lines.iter().filter(|l| is_header(l)).count()
}

/// The lines below the first header with this reason, up to the next empty one.
fn block<'a>(lines: &'a [&'a str], reason: &str) -> Result<&'a [&'a str], String> {
    let has = |l: &&str| is_header(l) && l.contains(&format!("[{reason}]:"));
    let at = lines
        .iter()
        .position(has)
        .ok_or(format!("no goroutine is shown as [{reason}]"))?;
    let rest = &lines[at + 1..];
    let end = rest.iter().position(|l| l.is_empty());
    Ok(&rest[..end.unwrap_or(rest.len())])
}

fn kinds(o: &Outcome, preempts: bool) -> Result<(), String> {
    let lines = lines(o);
    let n = figure(o, "goroutines").ok_or("no figure")? as usize;
    if headers(&lines) != n {
        return Err(format!("{} headers of {n} goroutines", headers(&lines)));
    }
    // The reason, and what is to be found among its frames.
    let all = [
        ("running", "::dump_kinds ("),
        ("chan receive, locked to thread", "::receives_for_ever ("),
        ("chan send", "dumps.rs:"),
        ("select", "dumps.rs:"),
        ("chan receive (nil chan)", "dumps.rs:"),
        ("sleep", "dumps.rs:"),
        ("sync.Mutex.Lock", "mutex.rs:"),
        ("sync.RWMutex.Lock", "rwlock.rs:"),
        ("sync.RWMutex.RLock", "rwlock.rs:"),
        ("sync.WaitGroup.Wait", "waitgroup.rs:"),
        ("semacquire", "semaphore.rs:"),
        ("sync.Cond.Wait", "cond.rs:"),
        ("join", "join.rs:"),
    ];
    for (reason, name) in all {
        let frames = block(&lines, reason)?;
        if !frames
            .iter()
            .any(|l| l.starts_with('#') && l.contains(name))
        {
            return Err(format!("{reason}: no frame in {name}: {frames:#?}"));
        }
        let first = frames.first().copied().unwrap_or("");
        if first.contains("gopark") || first.contains("preempt_") {
            return Err(format!("{reason}: it begins in the scheduler: {first}"));
        }
        let by = frames.last().copied().unwrap_or("");
        let whole =
            by.starts_with("created by tests/image/src/dumps.rs:") && by.contains(" in goroutine ");
        if reason != "running" && !whole {
            return Err(format!("{reason}: not said where it comes from: {by}"));
        }
    }
    if preempts && !lines.iter().any(|l| l.contains("spins_until_told")) {
        return Err("the one that was preempted is not shown where it was".into());
    }
    Ok(())
}

/// One dump in which the count fits is enough: goroutines end meanwhile.
fn counts(o: &Outcome) -> Result<(), String> {
    let lines = lines(o);
    let starts: Vec<usize> = (0..lines.len())
        .filter(|&i| lines[i].starts_with("dump of "))
        .collect();
    let mut seen = Vec::new();
    for &start in &starts {
        let n = lines[start].trim_start_matches("dump of ").parse();
        let rest = &lines[start + 1..];
        let end = rest.iter().position(|l| l.starts_with("dumped "));
        let end = end.ok_or("a dump does not end")?;
        let after = rest[end].trim_start_matches("dumped ").parse();
        let (before, after): (usize, usize) =
            (n.map_err(|_| "no number")?, after.map_err(|_| "no number")?);
        let shown = headers(&rest[..end]);
        if shown > before || shown < after {
            return Err(format!("{before} before, {after} after, {shown} shown"));
        }
        seen.push((before, shown, after));
    }
    if seen.len() == 10 && seen.iter().any(|(before, shown, _)| before == shown) {
        Ok(())
    } else {
        Err(format!("{seen:?}"))
    }
}

fn many(o: &Outcome) -> Result<(), String> {
    let lines = lines(o);
    let shown = headers(&lines);
    let left = format!("… and {} more goroutines", 3001 - shown);
    if shown == 251 && lines.contains(&left.as_str()) {
        Ok(())
    } else {
        Err(format!("{shown} shown, and not \"{left}\""))
    }
}

/// Each dump begins with its dumper and ends with the Ms.
fn whole(o: &Outcome, cpus: usize) -> Result<(), String> {
    let lines = lines(o);
    let blocks = lines.iter().filter(|l| l.starts_with("SCHED ")).count();
    let ms = lines.iter().filter(|l| l.starts_with("  M")).count();
    let (mut open, mut since) = (0, 0);
    for l in &lines {
        if is_header(l) {
            since += 1
        }
        if l.starts_with("SCHED ") {
            // Four that are busy, main, and the dumpers that have not ended.
            if !(6..=9).contains(&since) {
                return Err(format!("a dump of {since} goroutines"));
            }
            (open, since) = (open + 1, 0)
        }
    }
    if (blocks, ms, open) == (12, 12 * cpus, 12) {
        Ok(())
    } else {
        Err(format!("{blocks} dumps, {ms} Ms"))
    }
}

pub fn cases() -> Vec<Case> {
    let of = |test| Case::new("dumps", test);
    let mut all = vec![
        of("dump_minutes")
            .machine(|m| m.seed = Some(5))
            .says("[chan receive (nil chan), 2 minutes]:")
            .says("[semacquire]:"),
        of("dump_many").judge(many),
        of("dump_beside_hog")
            .smp(2)
            .mode(NO_NET)
            .says("the world does not stand still, a goroutine that runs cannot be interrupted")
            .says("[running]:")
            .says("[chan receive (nil chan)]:")
            .says("leaks: 1 certain, 0 suspect")
            .says("there may be more: a goroutine that cannot be interrupted kept its CPU for a second"),
    ];
    for smp in [1u32, 2, 4] {
        all.push(of("dump_kinds").smp(smp).judge(move |o| kinds(o, smp > 1)));
        all.push(of("dump_counts").smp(smp).judge(counts));
        all.push(
            of("dump_from_everywhere")
                .smp(smp)
                .judge(move |o| whole(o, smp as usize)),
        );
        all.push(of("no_helper_goroutines").smp(smp).judge(|o| {
            let lines = lines(o);
            if headers(&lines) == 1 && lines.contains(&"goroutine 1 [running]:") {
                Ok(())
            } else {
                Err(format!("{} goroutines are shown", headers(&lines)))
            }
        }));
    }
    all.push(of("dump_kinds").mode(NO_NET).judge(|o| kinds(o, false)));
    all
}
