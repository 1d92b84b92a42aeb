//! A web server, a goroutine for each connection: `curl localhost:8080`, or a browser. The runner says which port of the host's leads
//! here. `curl -X POST localhost:8080/stop` ends it.
#![no_std]
#![no_main]
use core::sync::atomic::{AtomicU64, Ordering::Relaxed};
use ringo::net::http::{
    Handler, Method, Request, Response, Router, Server, Shutdown as Finish, serve,
};
use ringo::net::{Error, TcpListener, queue_pairs};
use ringo::{machine, prelude::*};
ringo::main!(main);

/// What a handler says.
type Result = core::result::Result<(), ringo::net::http::Error>;

/// All requests, whatever their answer; but for those that are no HTTP, or too large.
static SERVED: AtomicU64 = AtomicU64::new(0);

fn hello(request: &Request, response: &mut Response) -> Result {
    let name = request.param("name").unwrap_or("you");
    response.body(format!(
        "hello {name}, from goroutine {} on CPU {}\n",
        current().id(),
        machine::cpu()
    ))
}

fn state(_: &Request, response: &mut Response) -> Result {
    let mut text = format!(
        "goroutines {}\nP {}\nCPU {}\nserved {}\n",
        num_goroutine(),
        machine::procs(),
        num_cpu(),
        SERVED.load(Relaxed)
    );
    for (i, pair) in queue_pairs().into_iter().enumerate() {
        let (came, went) = (pair.frames_in, pair.frames_out);
        text += &format!("queues {i}: {came} frames came, {went} went\n")
    }
    response.body(text)
}

fn main() -> core::result::Result<(), Error> {
    let listener = Arc::new(TcpListener::bind("0.0.0.0:80")?);
    let finish = Finish::new();
    let stop = {
        let (listener, finish) = (listener.clone(), finish.clone());
        move |_: &Request, response: &mut Response| {
            finish.begin();
            listener.close();
            response.body("ended\n")
        }
    };
    let router = Router::new()
        .route(Method::Get, "/", hello)
        .route(Method::Get, "/hello/{name}", hello)
        .route(Method::Get, "/state", state)
        .route(Method::Post, "/stop", stop);
    let counted = move |request: &Request, response: &mut Response| {
        SERVED.fetch_add(1, Relaxed);
        router.handle(request, response)
    };
    println!("a web server, at port 80 of this machine");
    let connections = WaitGroup::new();
    serve(
        &Arc::new(Server::new(counted)),
        &mut &*listener,
        &finish,
        |task| {
            connections.go(move || {
                task.run();
            })
        },
    )?;
    connections.wait();
    println!("{} requests served", SERVED.load(Relaxed));
    Ok(())
}
