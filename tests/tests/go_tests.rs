//! `docs/go-tests.md` names tests that there are, and that run.

use std::fs;
use std::path::Path;

/// Ours and the state of each row of a table.
fn rows(page: &str) -> Vec<(usize, String, String)> {
    let cells = |line: &str| -> Vec<String> {
        let inner = line.trim().trim_matches('|');
        inner.split('|').map(|c| c.trim().to_string()).collect()
    };
    let is_row = |line: &str| line.starts_with('|') && !line.starts_with("|---");
    let lines = page.lines().enumerate();
    lines
        .filter(|(_, line)| is_row(line))
        .map(|(i, line)| (i + 1, cells(line)))
        .filter(|(_, cells)| cells[1] != "ours")
        .map(|(i, cells)| {
            assert_eq!(cells.len(), 4, "line {i} has {} cells", cells.len());
            (i, cells[1].clone(), cells[3].clone())
        })
        .collect()
}

fn read(path: &Path) -> String {
    fs::read_to_string(path).unwrap_or_else(|e| panic!("{}: {e}", path.display()))
}

/// The texts of all files in a folder and in those within it.
fn read_all(folder: &Path) -> String {
    let entries = fs::read_dir(folder).unwrap_or_else(|e| panic!("{}: {e}", folder.display()));
    let paths = entries.map(|entry| entry.expect("an entry").path());
    paths
        .map(|path| match path.is_dir() {
            true => read_all(&path),
            false => read(&path),
        })
        .collect()
}

/// In a folder of tests that are `csp`'s own and the image's: is `function` in its file's list, under a name of which a case boots
/// all that begin so?
fn is_shared(source: &str, cases: &str, function: &str) -> bool {
    let packed: String = source.split_whitespace().collect();
    let Some(end) = packed.find(&format!("_{function}\",{function}")) else {
        return false;
    };
    let name = packed[..end].rsplit('"').next().unwrap_or_default();
    cases.contains(&format!("\"{name}_*\""))
}

/// What is wrong with `file::function`, if anything.
fn wrong(root: &Path, cases: &str, ours: &str) -> Option<String> {
    let Some((file, function)) = ours.rsplit_once("::") else {
        return Some("is not of the form file::function".into());
    };
    let Ok(source) = fs::read_to_string(root.join(file)) else {
        return Some("its file is not there".into());
    };
    if file.starts_with("kernel/csp/tests/both/") {
        let why = "its function is in no list, or no case boots that";
        return (!is_shared(&source, cases, function)).then(|| why.into());
    }
    let is_function = source.contains(&format!("fn {function}("));
    let name = format!("\"{function}\"");
    let is_test = source.contains(&format!("({name}, ")) || source.contains(&format!("({name},\n"));
    match (file.starts_with("tests/image/src/"), is_function, is_test) {
        (false, true, _) => return None,
        (_, false, false) | (false, ..) => return Some("its function is not there".into()),
        (true, true, false) => return Some("it is not in the image's list".into()),
        (true, _, true) => {}
    }
    (!cases.contains(&name)).then(|| "no case boots it".into())
}

#[test]
fn the_page_of_gos_tests_names_tests_that_run() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let cases = read_all(&root.join("tests/tests/qemu"));
    let rows = rows(&read(&root.join("docs/go-tests.md")));
    assert!(rows.len() > 80, "only {} rows were found", rows.len());
    let mut faults = Vec::new();
    for (line, ours, state) in &rows {
        let known = ["done", "open: ", "n/a: "]
            .iter()
            .any(|s| state.starts_with(s));
        if !known {
            faults.push(format!("line {line}: no state \"{state}\""));
        }
        if state.starts_with("done") == ours.is_empty() {
            faults.push(format!("line {line}: done and named go together"));
        }
        if !ours.is_empty()
            && let Some(why) = wrong(&root, &cases, ours)
        {
            faults.push(format!("line {line}: {ours}: {why}"));
        }
    }
    assert!(
        faults.is_empty(),
        "docs/go-tests.md:\n{}",
        faults.join("\n")
    );
}

#[test]
fn names_that_are_not_there_are_found() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let why = |ours: &str| wrong(&root, "\"wake_burst\"", ours).unwrap_or_default();
    assert_eq!(why("tests/image/src/wake.rs::wake_burst"), "");
    assert!(why("tests/image/src/wake.rs::wake_nobody").contains("function"));
    assert!(why("tests/image/src/nobody.rs::wake_burst").contains("file"));
    assert!(why("tests/image/src/wake.rs::wake_network").contains("no case"));
    assert!(why("tests/image/src/wake.rs::idle_and_overflow").contains("image's list"));
    assert!(why("wake_burst").contains("form"));
}
