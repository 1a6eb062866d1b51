//! Where and how kernels run: the thread pool and the instruction-set tier.

use std::sync::Arc;

use crate::error::EngineError;
use crate::isa::Tier;
use crate::pool::Pool;

/// More threads than cores bring nothing; this bound keeps a mistyped number from starting thousands.
const MOST_THREADS: usize = 1024;

/// A thread pool and an instruction-set tier. Results depend on the tier, never on the number of threads.
pub struct Compute {
    pool: Pool,
    tier: Tier,
}

impl Compute {
    /// A pool of `threads` threads (0 = one per core that this process may use) that runs kernels of tier `isa` (None = the best).
    ///
    /// # Errors
    /// [`EngineError::Isa`] when this machine lacks `isa`; [`EngineError::Input`] for more than 1024 threads; [`EngineError::Capacity`] when the threads cannot be started.
    pub fn new(threads: usize, isa: Option<Tier>) -> Result<Arc<Self>, EngineError> {
        let tier = isa.unwrap_or_else(Tier::detect).checked()?;
        let threads = if threads == 0 {
            std::thread::available_parallelism().map_or(1, usize::from)
        } else {
            threads
        };
        if threads > MOST_THREADS {
            return Err(EngineError::Input(format!(
                "{threads} compute threads: at most {MOST_THREADS}"
            )));
        }
        let pool = Pool::new(threads)
            .map_err(|e| EngineError::Capacity(format!("cannot start {threads} compute threads: {e}")))?;
        Ok(Arc::new(Self { pool, tier }))
    }

    /// The number of threads that work in a parallel loop.
    pub fn threads(&self) -> usize {
        self.pool.threads()
    }

    /// The tier of the kernels.
    pub fn tier(&self) -> Tier {
        self.tier
    }

    /// Runs `task(0..count)` on the pool; see [`Pool::run`].
    pub(crate) fn run(&self, count: usize, task: impl Fn(usize) + Sync) {
        self.pool.run(count, &task);
    }
}
