//! Says hello from ring 3.
fn main() {}
