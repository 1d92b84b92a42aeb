//! How much of everything a connection may use.

use core::time::Duration;

/// What a request may be at most. Whoever asks for more gets an answer that says which limit it was.
///
/// ```
/// let small = net::http::Limits { body_bytes: 1024, ..Default::default() };
/// assert_eq!(small.head_bytes, 8192);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Bytes of the request line (414). Not more than `head_bytes`.
    pub line_bytes: usize,
    /// Bytes of request line and header fields together, with the empty line at their end (431); 1 MiB at most.
    pub head_bytes: usize,
    /// Header fields (431); [`Limits::FIELDS_MOST`] at most.
    pub fields: usize,
    /// Bytes of a body (413). A body is in memory as a whole when its handler runs.
    pub body_bytes: usize,
    /// Bytes of chunk extensions and trailers of a body, which are read and dropped (431).
    pub extra_bytes: usize,
    /// Requests on one connection; the last is answered with `Connection: close`.
    pub requests: u64,
    /// Connections that [`serve`](super::serve()) has open at once; more are turned away with 503.
    pub connections: usize,
    /// Bytes that are read and dropped after a refusal, so that the peer gets to see the answer.
    pub linger_bytes: usize,
}

impl Limits {
    /// As many header fields as there can ever be.
    ///
    /// ```
    /// assert!(net::http::Limits::default().fields <= net::http::Limits::FIELDS_MOST);
    /// ```
    pub const FIELDS_MOST: usize = 128;

    /// The limits as they can be kept.
    pub(crate) fn sane(mut self) -> Limits {
        self.head_bytes = self.head_bytes.clamp(64, 1 << 20);
        self.line_bytes = self.line_bytes.min(self.head_bytes);
        self.fields = self.fields.min(Limits::FIELDS_MOST);
        self.body_bytes = self.body_bytes.min(1 << 40);
        self.requests = self.requests.max(1);
        self
    }
}

impl Default for Limits {
    fn default() -> Limits {
        Limits {
            line_bytes: 4096,
            head_bytes: 8192,
            fields: 64,
            body_bytes: 1 << 20,
            extra_bytes: 4096,
            requests: u64::MAX,
            connections: usize::MAX,
            linger_bytes: 64 << 10,
        }
    }
}

/// How long the peer may take; `None`: as long as it likes. The stream keeps the time, see
/// [`Stream::deadline`](super::Stream::deadline).
///
/// ```
/// use core::time::Duration;
/// let patient = net::http::Timeouts { idle: None, ..Default::default() };
/// assert_eq!(patient.head, Some(Duration::from_secs(10)));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Timeouts {
    /// From a connection's beginning, or from the first byte of a later request, to the end of its head (408).
    pub head: Option<Duration>,
    /// From the end of the head to the end of the body (408).
    pub body: Option<Duration>,
    /// Between two requests; then the connection is closed without a word.
    pub idle: Option<Duration>,
    /// For the peer to take anything of a response; then the connection is closed.
    pub write: Option<Duration>,
    /// For the peer to close after a refusal.
    pub linger: Option<Duration>,
}

impl Default for Timeouts {
    fn default() -> Timeouts {
        let seconds = |n| Some(Duration::from_secs(n));
        Timeouts {
            head: seconds(10),
            body: seconds(30),
            idle: seconds(60),
            write: seconds(30),
            linger: Some(Duration::from_millis(500)),
        }
    }
}
