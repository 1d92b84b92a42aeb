//! The control channel: diagnostics for people, and between them events, each one JSON object on a line that starts
//! with byte 1.

use serde_json::Value;

/// Marks an event.
const EVENT_MARK: u8 = 1;
/// Longest event that is believed; more is text.
const EVENT_LIMIT: usize = 64 << 10;

/// Splits the channel's bytes into text and events.
#[derive(Debug, Default)]
pub struct ControlSplitter {
    event: Option<Vec<u8>>,
}

impl ControlSplitter {
    /// Takes bytes as they come; hands text to `text` and complete events to `event`, in their order.
    pub fn feed(
        &mut self,
        mut bytes: &[u8],
        mut text: impl FnMut(&[u8]),
        mut event: impl FnMut(Value),
    ) {
        while !bytes.is_empty() {
            if let Some(line) = &mut self.event {
                let end = bytes.iter().position(|byte| *byte == b'\n');
                line.extend_from_slice(&bytes[..end.unwrap_or(bytes.len())]);
                bytes = end.map_or(&[][..], |end| &bytes[end + 1..]);
                if end.is_some() || line.len() > EVENT_LIMIT {
                    let line = self.event.take().unwrap_or_default();
                    match serde_json::from_slice::<Value>(&line) {
                        Ok(value) if value.is_object() => event(value),
                        _ => {
                            text(&line);
                            text(b"\n");
                        }
                    }
                }
            } else {
                let mark = bytes.iter().position(|byte| *byte == EVENT_MARK);
                let before = mark.unwrap_or(bytes.len());
                if before > 0 {
                    text(&bytes[..before]);
                }
                bytes = &bytes[before..];
                if mark.is_some() {
                    self.event = Some(Vec::new());
                    bytes = &bytes[1..];
                }
            }
        }
    }

    /// What is left of an event that never ended.
    pub fn rest(&mut self) -> Option<Vec<u8>> {
        self.event.take().filter(|rest| !rest.is_empty())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn split(chunks: &[&[u8]]) -> (String, Vec<Value>) {
        let mut splitter = ControlSplitter::default();
        let (mut text, mut events) = (Vec::new(), Vec::new());
        for chunk in chunks {
            splitter.feed(chunk, |t| text.extend_from_slice(t), |e| events.push(e));
        }
        text.extend(splitter.rest().unwrap_or_default());
        (String::from_utf8(text).unwrap(), events)
    }

    #[test]
    fn text_and_events() {
        let all = b"one\n\x01{\"event\":\"main\",\"since_start_ns\":5}\ntwo\n\x01{\"event\":\"exit\",\"code\":3}\n";
        let (text, events) = split(&[all]);
        assert_eq!(text, "one\ntwo\n");
        assert_eq!(events[0]["since_start_ns"], 5);
        assert_eq!(events[1]["code"], 3);
        // However it is cut.
        for cut in 1..all.len() {
            assert_eq!(
                split(&[&all[..cut], &all[cut..]]),
                (text.clone(), events.clone()),
                "{cut}"
            );
        }
    }

    #[test]
    fn an_event_after_text_without_a_line_end() {
        let (text, events) = split(&[b"50 %\x01{\"event\":\"exit\",\"code\":1}\n"]);
        assert_eq!(text, "50 %");
        assert_eq!(events.len(), 1);
    }

    #[test]
    fn what_is_no_event_stays_text() {
        assert_eq!(split(&[b"\x01garbage\nx"]), ("garbage\nx".into(), vec![]));
        assert_eq!(split(&[b"\x01{\"event\":"]), ("{\"event\":".into(), vec![]));
        assert_eq!(split(&[b"\x01[1]\n"]), ("[1]\n".into(), vec![]));
    }
}
