//! (being laid out)

pub mod config;
