//! The words of `--set`, checked for what is no `key=value` and for keys that are not there. What a key takes is the
//! kernel's affair, see `base::config`.

use base::config::{KEYS, Key};
use clap::CommandFactory;

use crate::near::near;
use crate::options::{RunArgs, keys};
use crate::{Failure, Result};

/// Checks them.
///
/// # Errors
///
/// The first that is wrong; the line says what would be right.
pub fn check(words: &[String]) -> Result<()> {
    for word in words {
        if let Some(wrong) = wrong(word) {
            // An empty word or one of several would not be seen.
            let shown = if word.is_empty() || word.contains(char::is_whitespace) {
                format!("\"{word}\"")
            } else {
                word.clone()
            };
            return Err(Failure::new(format!("--set {shown}: {wrong}")));
        }
    }
    Ok(())
}

fn wrong(word: &str) -> Option<String> {
    if word.contains(char::is_whitespace) {
        return Some("a word is key=value without spaces, such as preempt=off".to_string());
    }
    let (name, value) = match word.split_once('=') {
        Some((name, value)) => (name, Some(value)),
        None => (word, None),
    };
    if name.is_empty() {
        let keys = keys();
        return Some(format!(
            "a word is key=value, such as preempt=off; the keys are {keys}"
        ));
    }
    match KEYS
        .iter()
        .find(|key| key.is_for_users() && key.name() == name)
    {
        None => Some(unknown(name)),
        Some(key) if value.is_none() => Some(format!(
            "a value is missing: {name}=VALUE; {name} takes {}",
            key.takes()
        )),
        Some(_) => None,
    }
}

/// There is no such key, perhaps an option or a key that is close.
fn unknown(name: &str) -> String {
    let command = RunArgs::command();
    let mut options = command.get_arguments().filter_map(|arg| arg.get_long());
    let known = KEYS.iter().filter(|key| key.is_for_users()).map(Key::name);
    let meant = if options.any(|option| option == name) {
        format!(" did you mean the option --{name}?")
    } else {
        match near(name, known).as_slice() {
            [] => String::new(),
            close => format!(" did you mean {}?", close.join(" or ")),
        }
    };
    format!("there is no key \"{name}\";{meant} the keys are {}", keys())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_said() {
        let list = format!("the keys are {}", keys());
        let form = format!("a word is key=value, such as preempt=off; {list}");
        for (word, says) in [
            ("foo=1", format!("--set foo=1: there is no key \"foo\"; {list}")),
            ("foo", format!("--set foo: there is no key \"foo\"; {list}")),
            (
                "sliec_us=5",
                format!("--set sliec_us=5: there is no key \"sliec_us\"; did you mean slice_us? {list}"),
            ),
            (
                "mem=1G",
                format!("--set mem=1G: there is no key \"mem\"; did you mean the option --mem? {list}"),
            ),
            ("=", format!("--set =: {form}")),
            ("=5", format!("--set =5: {form}")),
            ("", format!("--set \"\": {form}")),
            (
                "preempt",
                "--set preempt: a value is missing: preempt=VALUE; preempt takes async, coop or off".to_string(),
            ),
            (
                "a b=1",
                "--set \"a b=1\": a word is key=value without spaces, such as preempt=off".to_string(),
            ),
        ] {
            assert_eq!(check(&[word.to_string()]).unwrap_err().line, says, "{word}");
        }
        assert_eq!(check(&["steal=one".into(), "procs=".into()]), Ok(()));
    }
}
