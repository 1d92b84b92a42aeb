//! The server that most tests ask.

use embedded_io::Write;
use net::http::{Error, Method, Request, Response, Router, Server, Status};

pub type Site = Server<Router>;

pub const LARGE: usize = 20_000;

pub fn site() -> Site {
    use Method::{Delete, Get, Post, Put};
    let router = Router::new()
        .route(Get, "/hello", |_: &Request, r: &mut Response| {
            r.header("Content-Type", "text/plain")?.body("hello\n")
        })
        .route(Post, "/echo", |q: &Request, r: &mut Response| {
            r.body(q.body())
        })
        .route(Put, "/echo", |q: &Request, r: &mut Response| {
            r.status(Status::CREATED).body(q.body())
        })
        .route(
            Get,
            "/users/{id}/{rest...}",
            |q: &Request, r: &mut Response| {
                let query = q.query_value("q").unwrap_or("-");
                r.body(format!(
                    "{} {} {query} {} {}",
                    q.param("id").unwrap(),
                    q.param("rest").unwrap(),
                    q.host(),
                    q.peer().port()
                ))
            },
        )
        .route(Get, "/chunks", |_: &Request, r: &mut Response| {
            let mut body = r.chunked()?;
            body.write_all(b"")?;
            for word in ["one ", "two ", "three"] {
                body.write_all(word.as_bytes())?;
            }
            body.write_all(&vec![b'x'; LARGE])
        })
        .route(Get, "/large", |_: &Request, r: &mut Response| {
            r.body(vec![b'y'; LARGE])
        })
        .route(Get, "/sized", |_: &Request, r: &mut Response| {
            let mut body = r.sized(6)?;
            body.write_all(b"abc")?;
            body.write_all(b"def")?;
            body.finish()
        })
        .route(Get, "/empty", |_: &Request, _: &mut Response| Ok(()))
        .route(Delete, "/empty", |_: &Request, r: &mut Response| {
            r.status(Status::NO_CONTENT).body("")
        })
        .route(Get, "/close", |_: &Request, r: &mut Response| {
            r.close().body("last\n")
        })
        .route(Get, "/teapot", |_: &Request, _: &mut Response| {
            Err(Status::new(418).unwrap().into())
        })
        .route(Get, "/inject", |_: &Request, r: &mut Response| {
            r.header("X-Name", "a\r\nSet-Cookie: b")?.body("no")
        })
        .route(Get, "/short", |_: &Request, r: &mut Response| {
            r.sized(6)?.write_all(b"abc")
        })
        .route(Get, "/long", |_: &Request, r: &mut Response| {
            r.sized(2)?.write_all(b"abc")
        })
        .route(Get, "/late", |_: &Request, r: &mut Response| {
            r.chunked()?.write_all(b"abc")?;
            Err(Status::NOT_FOUND.into())
        })
        .route(Get, "/twice", |_: &Request, r: &mut Response| {
            r.body("once")?;
            assert_eq!(r.body("twice"), Err(Error::Begun));
            assert_eq!(r.header("X", "y").err(), Some(Error::Begun));
            Ok(())
        });
    Server::new(router)
}
