//! HTTP over streams made by hand: tables, splits at every byte, damaged input by the million, and Python's client and server.
#![cfg(not(any(ringo_loom, ringo_kernel)))]

#[path = "http/client.rs"]
mod client;
#[path = "http/fuzz.rs"]
mod fuzz;
#[path = "http/limits.rs"]
mod limits;
#[path = "http/memory.rs"]
mod memory;
#[path = "http/python.rs"]
mod python;
#[path = "http/refusals.rs"]
mod refusals;
#[path = "http/responses.rs"]
mod responses;
#[path = "http/serve.rs"]
mod serve;
#[path = "http/site.rs"]
mod site;
#[path = "http/splits.rs"]
mod splits;
#[path = "http/table.rs"]
mod table;
#[path = "http/times.rs"]
mod times;
#[path = "http/wire.rs"]
mod wire;
