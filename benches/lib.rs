//! Benches that need more than one crate; each prints ours beside the named rival and writes `target/prl-bench/<name>.json`.
