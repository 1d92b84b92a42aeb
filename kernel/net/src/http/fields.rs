//! Header fields of a head that has been taken apart.

use super::bytes::Span;

/// A field's place in its head.
#[derive(Clone, Copy)]
pub(crate) struct FieldAt {
    pub name: Span,
    pub value: Span,
}

/// Header fields of a request or a response, in their order.
///
/// ```
/// use net::http::{Request, Response, Result};
/// fn show(request: &Request, response: &mut Response) -> Result {
///     for (name, value) in request.fields().iter() {
///         log::info!("{name}: {}", value.escape_ascii());
///     }
///     response.body(b"shown\n")
/// }
/// ```
#[derive(Clone, Copy)]
pub struct Fields<'a> {
    pub(crate) head: &'a [u8],
    pub(crate) at: &'a [FieldAt],
}

impl<'a> Fields<'a> {
    /// The first value under a name, whose case does not matter. Spaces and tabs around it are gone.
    ///
    /// ```
    /// # fn f(request: &net::http::Request) -> Option<()> {
    /// let agent: &[u8] = request.fields().get("user-agent")?;
    /// # Some(()) }
    /// ```
    pub fn get(&self, name: &str) -> Option<&'a [u8]> {
        let same = |field: &&FieldAt| {
            let other = field.name.get(self.head);
            other.eq_ignore_ascii_case(name.as_bytes())
        };
        let field = self.at.iter().find(same)?;
        Some(field.value.get(self.head))
    }

    /// All names and values.
    ///
    /// ```
    /// # fn f(request: &net::http::Request) {
    /// let cookies = request.fields().iter().filter(|(name, _)| name.eq_ignore_ascii_case("cookie"));
    /// # let _ = cookies; }
    /// ```
    pub fn iter(&self) -> impl Iterator<Item = (&'a str, &'a [u8])> + use<'a> {
        let head = self.head;
        let field = move |field: &FieldAt| (field.name.text(head), field.value.get(head));
        self.at.iter().map(field)
    }

    /// How many there are.
    ///
    /// ```
    /// # fn f(request: &net::http::Request) {
    /// assert!(request.fields().len() <= net::http::Limits::FIELDS_MOST);
    /// # }
    /// ```
    pub fn len(&self) -> usize {
        self.at.len()
    }

    /// Is there none?
    ///
    /// ```
    /// # fn f(request: &net::http::Request) {
    /// let bare = request.fields().is_empty();
    /// # let _ = bare; }
    /// ```
    pub fn is_empty(&self) -> bool {
        self.at.is_empty()
    }
}
