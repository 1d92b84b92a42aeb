//! From how QEMU ended to the runner's exit status.

use std::os::unix::process::ExitStatusExt;
use std::process::ExitStatus;

use serde_json::Value;

/// What ended a machine that did not end itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Death {
    /// It reset, which here only a triple fault does.
    TripleFault,
    /// It switched itself off.
    PowerOff,
    /// The user's time limit.
    TimeLimit,
    /// It hung: how.
    Hung(String),
    /// KVM or QEMU gave up on it.
    InternalError,
}

/// Exit status of the runner, and a line about it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Verdict {
    /// 0 to 3.
    pub exit: u8,
    /// What to tell, unless the machine has said it itself.
    pub line: Option<String>,
}

/// The meaning of QEMU's end. The values are those of the kernel's exit device: QEMU's status is twice the value plus
/// one.
pub fn verdict(status: ExitStatus, death: Option<&Death>, events: &[Value]) -> Verdict {
    let quiet = |exit| Verdict { exit, line: None };
    let told = |exit, line: String| Verdict {
        exit,
        line: Some(line),
    };
    match death {
        Some(Death::TripleFault) => {
            return told(
                3,
                "triple fault: the machine reset instead of reporting a fault".into(),
            );
        }
        Some(Death::PowerOff) => {
            return told(
                3,
                "the machine switched itself off instead of ending the program".into(),
            );
        }
        Some(Death::Hung(how)) => return told(3, format!("hung: {how}")),
        Some(Death::TimeLimit) => return told(3, "time limit reached".into()),
        Some(Death::InternalError) => {
            return told(
                3,
                "the accelerator gave up on the machine (KVM internal error)".into(),
            );
        }
        None => {}
    }
    match status.code() {
        Some(33) => quiet(0),
        Some(35) => told(1, format!("exit status {}", exit_code(events).unwrap_or(1))),
        Some(37 | 39) => quiet(2),
        Some(41) => quiet(3),
        Some(43) => quiet(1),
        Some(code) => told(
            3,
            format!("QEMU ended with status {code} before the program did"),
        ),
        None => told(
            3,
            format!("QEMU was ended by signal {}", status.signal().unwrap_or(0)),
        ),
    }
}

fn exit_code(events: &[Value]) -> Option<i64> {
    events.iter().rev().find(|event| event["event"] == "exit")?["code"].as_i64()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn of(code: i32) -> Verdict {
        verdict(
            ExitStatus::from_raw(code << 8),
            None,
            &[json!({"event": "exit", "code": 7})],
        )
    }

    #[test]
    fn statuses() {
        assert_eq!(
            of(33),
            Verdict {
                exit: 0,
                line: None
            }
        );
        assert_eq!(
            of(35),
            Verdict {
                exit: 1,
                line: Some("exit status 7".into())
            }
        );
        assert_eq!(of(37).exit, 2);
        assert_eq!(of(39).exit, 2);
        assert_eq!(of(41).exit, 3);
        assert_eq!(
            of(43),
            Verdict {
                exit: 1,
                line: None
            }
        );
        for other in [0, 1, 2, 32, 34, 45, 255] {
            assert_eq!(of(other).exit, 3, "{other}");
            assert!(of(other).line.is_some());
        }
    }

    #[test]
    fn deaths_come_first() {
        let status = ExitStatus::from_raw(33 << 8);
        assert_eq!(verdict(status, Some(&Death::TimeLimit), &[]).exit, 3);
        assert!(
            verdict(status, Some(&Death::TripleFault), &[])
                .line
                .unwrap()
                .starts_with("triple fault")
        );
        assert!(
            verdict(ExitStatus::from_raw(9), None, &[])
                .line
                .unwrap()
                .contains("signal 9")
        );
    }

    #[test]
    fn a_failed_program_without_an_event() {
        assert_eq!(
            verdict(ExitStatus::from_raw(35 << 8), None, &[])
                .line
                .unwrap(),
            "exit status 1"
        );
    }
}
