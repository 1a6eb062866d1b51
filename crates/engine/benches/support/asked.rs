//! The options of a bench of the engine, from the command line and the environment, and the shapes of its models.

use std::sync::Arc;

use prl_engine::{Compute, EngineError, Tier};

/// `config.json` of the models that benches make, by their names.
pub(crate) const SHAPES: [(&str, &str); 2] = [
    ("12m", include_str!("../../../../benches/shapes/12m.json")),
    ("100m", include_str!("../../../../benches/shapes/100m.json")),
];

/// `[-- part-of-a-name]`; `PRL_BENCH_THREADS` sets the compute threads (default 2), `PRL_BENCH_ISA` the instruction set (default the best).
pub(crate) struct Asked {
    pub(crate) compute: Arc<Compute>,
    /// Part of the names of figures to measure.
    pub(crate) wanted: String,
    /// A test runner runs a bench with --test: one pass over what is small is enough to see that it works.
    pub(crate) quick: bool,
}

impl Asked {
    /// None when a test runner lists a bench's tests: there is nothing to measure.
    pub(crate) fn read() -> Result<Option<Self>, EngineError> {
        if std::env::args().any(|argument| argument == "--list") {
            return Ok(None);
        }
        let threads = std::env::var("PRL_BENCH_THREADS")
            .ok()
            .and_then(|value| value.parse().ok());
        let isa = std::env::var("PRL_BENCH_ISA").ok();
        let isa = isa.map(|name| Tier::from_name(&name)).transpose()?;
        Ok(Some(Self {
            compute: Compute::new(threads.unwrap_or(2), isa)?,
            wanted: std::env::args()
                .skip(1)
                .find(|argument| !argument.starts_with('-'))
                .unwrap_or_default(),
            quick: std::env::args().any(|argument| argument == "--test"),
        }))
    }
}
