//! Names close to one that does not exist.

/// The up to three of `known` that `wanted` may have meant, closest first.
pub fn near<'a>(wanted: &str, known: impl IntoIterator<Item = &'a str>) -> Vec<&'a str> {
    let limit = 1 + wanted.chars().count() / 3;
    let mut ranked: Vec<(usize, &str)> = known
        .into_iter()
        .map(|name| {
            let part = wanted.len() >= 3 && (name.contains(wanted) || wanted.contains(name));
            let edits = distance(wanted, name);
            (if part { edits.min(1) } else { edits }, name)
        })
        .filter(|(d, _)| *d <= limit)
        .collect();
    ranked.sort();
    if let Some((0, the_same)) = ranked.first() {
        return vec![the_same];
    }
    ranked.into_iter().take(3).map(|(_, name)| name).collect()
}

/// Edits (insert, delete, replace, swap two neighbours) that turn `a` into `b`.
fn distance(a: &str, b: &str) -> usize {
    let (a, b): (Vec<char>, Vec<char>) = (a.chars().collect(), b.chars().collect());
    let mut before_last = vec![0; b.len() + 1];
    let mut last: Vec<usize> = (0..=b.len()).collect();
    for i in 1..=a.len() {
        let mut row = vec![i; b.len() + 1];
        for j in 1..=b.len() {
            let replace = last[j - 1] + usize::from(a[i - 1] != b[j - 1]);
            row[j] = replace.min(last[j] + 1).min(row[j - 1] + 1);
            if i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] {
                row[j] = row[j].min(before_last[j - 2] + 1);
            }
        }
        before_last = std::mem::replace(&mut last, row);
    }
    last[b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn distances() {
        assert_eq!(distance("hello", "hello"), 0);
        assert_eq!(distance("helo", "hello"), 1);
        assert_eq!(distance("hlelo", "hello"), 1);
        assert_eq!(distance("", "abc"), 3);
    }

    #[test]
    fn close_names_come_first() {
        let known = [
            "tour",
            "hello",
            "pingpong",
            "sieve",
            "steal",
            "producer_consumer",
        ];
        assert_eq!(near("helo", known), ["hello"]);
        assert_eq!(near("ping", known), ["pingpong"]);
        assert_eq!(near("seal", known), ["steal"]);
        assert_eq!(near("hello", ["shell", "hello"]), ["hello"]);
        assert_eq!(near("xyzzy", known), [""; 0]);
    }
}
