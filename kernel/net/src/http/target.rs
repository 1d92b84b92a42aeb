//! Forms of a request's target (RFC 9112, 3.2).

/// A target taken apart.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Target<'a> {
    pub path: &'a str,
    pub query: Option<&'a str>,
    /// Of the absolute form: it goes before Host.
    pub authority: Option<&'a str>,
}

impl<'a> Target<'a> {
    pub fn parse(target: &'a str) -> Option<Target<'a>> {
        if !target.bytes().all(|b| b.is_ascii_graphic() && b != b'#') {
            return None;
        }
        let (authority, rest) = match target.as_bytes().first()? {
            b'/' => (None, target),
            b'*' if target.len() == 1 => (None, target),
            _ => {
                let (scheme, rest) = target.split_at_checked("http://".len())?;
                let end = rest.find(['/', '?']).unwrap_or(rest.len());
                let known = scheme.eq_ignore_ascii_case("http://");
                let authority = known.then_some(&rest[..end])?;
                if authority.is_empty() || !is_host(authority.as_bytes()) {
                    return None;
                }
                (Some(authority), &rest[end..])
            }
        };
        let (path, query) = match rest.split_once('?') {
            Some((path, query)) => (path, Some(query)),
            None => (rest, None),
        };
        // `http://host` means its root; the slash is lent by the scheme, as all parts lie in the head.
        let path = match path.is_empty() {
            true => &target["http:".len()..][..1],
            false => path,
        };
        escapes_are_whole(path).then_some(Target {
            path,
            query,
            authority,
        })
    }
}

/// Could that be `host` or `host:port` (RFC 3986, 3.2, without user)? Empty is allowed.
pub(crate) fn is_host(value: &[u8]) -> bool {
    let fine = |&b: &u8| b.is_ascii_alphanumeric() || b"-._~%!$&'()*+,;=:[]".contains(&b);
    value.iter().all(fine)
}

fn escapes_are_whole(path: &str) -> bool {
    let mut after = path.split('%');
    after.next();
    after.all(|part| {
        let digits = part.as_bytes().get(..2);
        digits.is_some_and(|digits| digits.iter().all(u8::is_ascii_hexdigit))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn forms() {
        let good = [
            ("/", "/", None, None),
            ("/a/b%20c?d=e?f", "/a/b%20c", Some("d=e?f"), None),
            ("/?", "/", Some(""), None),
            ("//x", "//x", None, None),
            ("*", "*", None, None),
            ("http://h:80/p?q", "/p", Some("q"), Some("h:80")),
            ("HTTP://[::1]", "/", None, Some("[::1]")),
            ("http://h?q", "/", Some("q"), Some("h")),
        ];
        for (target, path, query, authority) in good {
            let want = Target {
                path,
                query,
                authority,
            };
            assert_eq!(Target::parse(target), Some(want), "{target}");
        }
        let bad = [
            "",
            "a",
            "**",
            "*/",
            "/#f",
            "/ü",
            "/%",
            "/%2",
            "/%2x",
            "http://",
            "http:///p",
            "http://u@h/",
            "https://h/",
            "ftp://h/",
            "host:80",
            "/\u{1}",
            "/a b",
        ];
        for target in bad {
            assert_eq!(Target::parse(target), None, "{target}");
        }
    }
}
