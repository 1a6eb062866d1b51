//! One version to eight receivers.

fn main() {}
