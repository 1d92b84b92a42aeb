//! Which handler answers which path and method.

use super::error::Result;
use super::handler::Handler;
use super::method::Method;
use super::percent::decoded;
use super::request::Request;
use super::response::Response;
use super::status::Status;
use alloc::boxed::Box;
use alloc::vec::Vec;
use core::fmt;

/// Handlers by method and path. In a pattern, `{name}` stands for one part of a path, `{name...}` at the end for the rest. Of several
/// patterns that fit, the one that says more at the first difference is taken. No pattern: 404; a pattern, but not with this method:
/// 405 with `Allow`. GET answers HEAD as well.
///
/// ```
/// use net::http::{Method, Request, Response, Router, Server, Status};
///
/// let router = Router::new()
///     .route(Method::Get, "/", |_: &Request, response: &mut Response| response.body(b"hello\n"))
///     .route(Method::Get, "/users/{id}", |request: &Request, response: &mut Response| {
///         let id: u64 = request.param("id").and_then(|id| id.parse().ok()).ok_or(Status::NOT_FOUND)?;
///         response.body(format!("user {id}\n"))
///     })
///     .route(Method::Put, "/files/{path...}", |request: &Request, response: &mut Response| {
///         response.status(Status::CREATED).body(request.param("path").unwrap_or(""))
///     });
/// let server = Server::new(router);
/// ```
#[derive(Default)]
pub struct Router {
    /// The more a pattern says, the earlier.
    routes: Vec<Route>,
}

struct Route {
    pattern: Pattern,
    handlers: Vec<(Method, Box<dyn Handler + Send + Sync>)>,
}

/// A path with gaps.
pub(crate) struct Pattern {
    text: Box<str>,
}

/// A part of a pattern.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Part<'p> {
    Literal(&'p str),
    One(&'p str),
    Rest(&'p str),
}

impl Router {
    /// A router that knows no path.
    ///
    /// ```
    /// let server = net::http::Server::new(net::http::Router::new());
    /// ```
    pub fn new() -> Router {
        Router::default()
    }

    /// Adds a handler.
    ///
    /// # Panics
    /// If the pattern is none, or this method has a handler under the same pattern, by whatever names.
    ///
    /// ```
    /// # use net::http::{Method, Request, Response, Router};
    /// let router = Router::new().route(Method::Get, "/ping", |_: &Request, r: &mut Response| r.body(b"pong\n"));
    /// ```
    pub fn route<H>(mut self, method: Method, pattern: &str, handler: H) -> Router
    where
        H: Handler + Send + Sync + 'static,
    {
        let pattern = Pattern::new(pattern);
        let handler: Box<dyn Handler + Send + Sync> = Box::new(handler);
        let at = self
            .routes
            .iter()
            .position(|route| route.pattern.same(&pattern));
        let at = at.unwrap_or_else(|| {
            let earlier = |route: &Route| route.pattern.rank().le(pattern.rank());
            let at = self
                .routes
                .iter()
                .take_while(|route| earlier(route))
                .count();
            let handlers = Vec::new();
            self.routes.insert(at, Route { pattern, handlers });
            at
        });
        let route = &mut self.routes[at];
        let is_new = route.handlers.iter().all(|(other, _)| *other != method);
        assert!(
            is_new,
            "{method} {} has a handler already",
            route.pattern.text
        );
        route.handlers.push((method, handler));
        self
    }

    fn find(&self, path: &str) -> Option<&Route> {
        self.routes.iter().find(|route| route.pattern.fits(path))
    }
}

impl Route {
    fn handler(&self, method: Method) -> Option<&(dyn Handler + Send + Sync)> {
        let of = |wanted| self.handlers.iter().find(|(method, _)| *method == wanted);
        let found = of(method).or_else(|| match method {
            Method::Head => of(Method::Get),
            _ => None,
        });
        found.map(|(_, handler)| &**handler)
    }

    fn refuse(&self, response: &mut Response<'_>) -> Result {
        let mut allowed: [&[u8]; Method::ALL.len()] = [b""; Method::ALL.len()];
        let mut n = 0;
        for method in Method::ALL {
            if self.handler(method).is_some() {
                allowed[n] = method.as_str().as_bytes();
                n += 1;
            }
        }
        response.status(Status::METHOD_NOT_ALLOWED);
        response.field("Allow", &allowed[..n])?;
        response.header("Content-Type", "text/plain")?;
        response.body(b"Method Not Allowed\n")
    }
}

impl Handler for Router {
    fn admit(&self, request: &Request<'_>) -> bool {
        let Some(route) = self.find(request.path()) else {
            return false;
        };
        let request = Request {
            pattern: Some(&route.pattern),
            ..*request
        };
        let handler = route.handler(request.method());
        handler.is_some_and(|handler| handler.admit(&request))
    }

    fn handle(&self, request: &Request<'_>, response: &mut Response<'_>) -> Result {
        let route = self.find(request.path()).ok_or(Status::NOT_FOUND)?;
        let request = Request {
            pattern: Some(&route.pattern),
            ..*request
        };
        match route.handler(request.method()) {
            Some(handler) => handler.handle(&request, response),
            None => route.refuse(response),
        }
    }
}

impl fmt::Debug for Router {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let routes = self.routes.iter().map(|route| {
            let methods: Vec<Method> = route.handlers.iter().map(|(method, _)| *method).collect();
            (&route.pattern.text, methods)
        });
        f.debug_map().entries(routes).finish()
    }
}

impl Pattern {
    fn new(text: &str) -> Pattern {
        let pattern = Pattern { text: text.into() };
        let is_name = |name: &str| !name.is_empty() && !name.contains(['{', '}']);
        let mut after_rest = false;
        let fine = text.starts_with('/')
            && pattern.parts().all(|part| {
                let fine = !after_rest
                    && match part {
                        Part::Literal(text) => !text.contains(['{', '}']),
                        Part::One(name) | Part::Rest(name) => is_name(name),
                    };
                after_rest = matches!(part, Part::Rest(_));
                fine
            });
        assert!(
            fine,
            "{text:?} is no pattern: right is /a/{{name}}/b, or /a/{{name...}}"
        );
        pattern
    }

    fn parts(&self) -> impl Iterator<Item = Part<'_>> {
        let parts = self.text.strip_prefix('/').unwrap_or_default().split('/');
        parts.map(|part| {
            let inner = part
                .strip_prefix('{')
                .and_then(|part| part.strip_suffix('}'));
            match inner {
                None => Part::Literal(part),
                Some(name) => match name.strip_suffix("...") {
                    Some(name) => Part::Rest(name),
                    None => Part::One(name),
                },
            }
        })
    }

    /// Kinds of parts, which patterns are sorted by.
    fn rank(&self) -> impl Iterator<Item = u8> {
        self.parts().map(|part| match part {
            Part::Literal(_) => 0,
            Part::One(_) => 1,
            Part::Rest(_) => 2,
        })
    }

    /// Do both fit the same paths?
    fn same(&self, other: &Pattern) -> bool {
        let nameless = |part| match part {
            Part::Literal(text) => Part::Literal(text),
            Part::One(_) => Part::One(""),
            Part::Rest(_) => Part::Rest(""),
        };
        self.parts().map(nameless).eq(other.parts().map(nameless))
    }

    fn fits(&self, path: &str) -> bool {
        let mut rest = path.strip_prefix('/');
        for part in self.parts() {
            let Some(left) = rest else { return false };
            let (first, after) = cut(left);
            match part {
                Part::Literal(text) if decoded(first).eq(text.bytes()) => rest = after,
                Part::Literal(_) => return false,
                Part::One(_) if first.is_empty() => return false,
                Part::One(_) => rest = after,
                Part::Rest(_) => return true,
            }
        }
        rest.is_none()
    }

    /// What stands for `name` in a path that fits.
    pub fn param<'p>(&self, path: &'p str, name: &str) -> Option<&'p str> {
        let mut rest = path.strip_prefix('/');
        for part in self.parts() {
            let (first, after) = cut(rest?);
            match part {
                Part::One(own) if own == name => return Some(first),
                Part::Rest(own) if own == name => return rest,
                _ => rest = after,
            }
        }
        None
    }
}

/// A path's first part, and what stands behind the slash after it.
fn cut(path: &str) -> (&str, Option<&str>) {
    match path.split_once('/') {
        Some((first, rest)) => (first, Some(rest)),
        None => (path, None),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn taken(patterns: &[&str], path: &str) -> Option<alloc::string::String> {
        let handler = |_: &Request<'_>, _: &mut Response<'_>| Ok(());
        let add = |router: Router, pattern: &&str| router.route(Method::Get, pattern, handler);
        let router = patterns.iter().fold(Router::new(), add);
        router
            .find(path)
            .map(|route| route.pattern.text.clone().into())
    }

    #[test]
    fn the_pattern_that_says_more() {
        let patterns = [
            "/{rest...}",
            "/a/{x}",
            "/{x}/b",
            "/a/b",
            "/a/{x}/c",
            "/",
            "/a/",
            "/f/{rest...}",
        ];
        let cases = [
            ("/", Some("/")),
            ("/a/b", Some("/a/b")),
            ("/a/%62", Some("/a/b")),
            ("/a/c", Some("/a/{x}")),
            ("/a/", Some("/a/")),
            ("/c/b", Some("/{x}/b")),
            ("/a/b/c", Some("/a/{x}/c")),
            ("/a", Some("/{rest...}")),
            ("/a//c", Some("/{rest...}")),
            ("/f/", Some("/f/{rest...}")),
            ("/f/x/y", Some("/f/{rest...}")),
            ("*", None),
        ];
        for backwards in [false, true] {
            let mut patterns = patterns.to_vec();
            if backwards {
                patterns.reverse();
            }
            for (path, pattern) in cases {
                assert_eq!(taken(&patterns, path).as_deref(), pattern, "{path}");
            }
        }
        assert_eq!(taken(&["/a/{x}"], "/a"), None);
        assert_eq!(taken(&["/a/{x}"], "/a/"), None);
    }

    #[test]
    fn params() {
        let pattern = Pattern::new("/u/{id}/f/{path...}");
        let path = "/u/7%20/f/a/b";
        assert_eq!(pattern.param(path, "id"), Some("7%20"));
        assert_eq!(pattern.param(path, "path"), Some("a/b"));
        assert_eq!(pattern.param(path, "u"), None);
    }

    #[test]
    #[should_panic(expected = "is no pattern")]
    fn the_rest_is_last() {
        Pattern::new("/{rest...}/x");
    }

    #[test]
    #[should_panic(expected = "has a handler already")]
    fn twice() {
        taken(&["/{a}", "/{b}"], "/");
    }
}
