//! Generation: many requests in one batch over a paged key-value cache, with per-token log-probabilities.
//!
//! [`Generator`] is the handle. It owns one thread (`worker`), which alone touches the cache and the requests; the handle sends
//! commands and picks up increments (`mailbox`). `scheduler` decides what a step computes, `step` computes it, `blocks` records which
//! sequence holds which part of the cache, and `sampler` draws tokens.
//!
//! A request's tokens and log-probabilities depend on its own fields and the weights only: not on what else runs, the
//! order of arrival, chunking, preemption, cached prefixes or threads. Without truncation, changes of logits, a format and min_tokens the
//! log-probabilities are those of [`Model::logprobs`] bit for bit, for tokens whose keys and values were all computed under
//! one version.

mod blocks;
mod constraint;
mod controls;
mod mailbox;
mod measures;
mod ranking;
mod recording;
mod request;
mod sampler;
mod scheduler;
mod scoring;
mod sequence;
mod step;
mod worker;

pub use constraint::{Next, TokenConstraint, TokenFormat};
pub use controls::{LogitControls, MAX_BAD_WORD_TOKENS, MAX_BAD_WORDS, MAX_LOGIT_BIASES};
pub use measures::{AdapterCounts, RequestTimes, STEP_SIZE_BOUNDS, StepSizes};
pub use ranking::{MAX_TOP_LOGPROBS, Ranked};
pub use request::{
    FinishReason, GenerateRequest, GeneratorOptions, GeneratorStats, Increment, MIN_TEMPERATURE, PauseMode,
    RequestError,
};
pub use scoring::{RankedScores, Scoring};

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use crate::compute::Compute;
use crate::config::ModelConfig;
use crate::error::EngineError;
use crate::model::{KvCache, Model};
use blocks::BlockManager;
use mailbox::Mailbox;
use scheduler::{Limits, Scheduler};
use sequence::Sequence;
use worker::{Command, Reply, Worker};

/// Largest default size of the key-value cache.
const DEFAULT_KV_BYTES: usize = 256 << 20;
/// How long a call waits for a dead thread to say why it died.
const END_REPORT_DEADLINE: Duration = Duration::from_secs(10);
/// A caller that waits for the thread says so often that it does not count as hanging.
const STILL_WAITS: Duration = Duration::from_secs(1);

/// A running generator. All methods take `&self` and may be called from any thread; dropping it closes it.
pub struct Generator {
    commands: Sender<Command>,
    mailbox: Arc<Mailbox>,
    config: ModelConfig,
    max_model_len: usize,
    max_held: usize,
    thread: Mutex<Option<JoinHandle<()>>>,
}

impl Generator {
    /// Starts the generation thread.
    ///
    /// # Errors
    /// `Input` for a size of 0 or a `max_model_len` above the model's; `Capacity` when the cache cannot hold one sequence of
    /// `max_model_len` tokens, when it needs more memory than the machine gives, or when the thread cannot start.
    pub fn start(model: Arc<Model>, compute: Arc<Compute>, options: GeneratorOptions) -> Result<Self, EngineError> {
        let config = model.config().clone();
        let max_model_len = check_sizes(&config, &options)?;
        let block_bytes = KvCache::bytes_per_block(&config, compute.tier());
        let num_blocks = kv_blocks(block_bytes, &options, max_model_len)?;
        KvCache::check_memory(&config, compute.tier(), num_blocks)?;
        let kv = model.kv_cache(num_blocks);
        let limits = Limits {
            max_num_seqs: options.max_num_seqs,
            max_batched_tokens: options.max_batched_tokens,
            prefix_cache: options.prefix_cache,
        };
        let scheduler = Scheduler::new(BlockManager::new(num_blocks, KvCache::BLOCK_TOKENS), limits);
        let mailbox = Arc::new(Mailbox::default());
        let mut worker = Worker::new(
            model,
            compute,
            kv,
            scheduler,
            Arc::clone(&mailbox),
            max_model_len,
            options.version,
            options.digest,
        );
        let (commands, receiver) = channel();
        let thread = std::thread::Builder::new()
            .name("prl-generate".to_owned())
            .spawn(move || run_thread(&mut worker, &receiver))
            .map_err(|error| EngineError::Capacity(format!("cannot start the generation thread: {error}")))?;
        let max_held = options.max_num_seqs.saturating_add(options.max_waiting);
        Ok(Generator {
            commands,
            mailbox,
            config,
            max_model_len,
            max_held,
            thread: Mutex::new(Some(thread)),
        })
    }

    /// Hands over requests. A request gets an increment with an `error` when it cannot run or when too many requests are held; the
    /// others continue.
    ///
    /// # Errors
    /// `Input` when an id is in use (its last increment was not picked up) or occurs twice: then none is taken. `Closed` or
    /// `Failed` when the thread is gone.
    pub fn submit(&self, requests: Vec<GenerateRequest>) -> Result<(), EngineError> {
        let (first, live) = self
            .mailbox
            .register(requests.iter().map(|request| request.id.as_str()))?;
        let room = self.max_held.saturating_sub(live);
        let mut sequences = Vec::with_capacity(requests.len());
        for (arrival, request) in (first..).zip(requests) {
            let rejected = if sequences.len() >= room {
                Some(RequestError::Full(format!(
                    "the generator holds {} requests already; submit fewer at once or wait",
                    self.max_held
                )))
            } else {
                request
                    .reject(&self.config, self.max_model_len)
                    .map(RequestError::Input)
            };
            match rejected {
                Some(error) => self.mailbox.reject(arrival, &request.id, error),
                None => sequences.push(Sequence::new(arrival, request, &self.config)),
            }
        }
        self.send(Command::Submit(sequences))
    }

    /// Ends a request that cannot be made, as [`Self::submit`] ends one that cannot run: its only increment has this error.
    ///
    /// # Errors
    /// `Input` when the id is in use; `Closed` or `Failed` when the thread is gone.
    pub fn refuse(&self, id: &str, error: RequestError) -> Result<(), EngineError> {
        let (arrival, _) = self.mailbox.register(std::iter::once(id))?;
        self.mailbox.reject(arrival, id, error);
        Ok(())
    }

    /// Ends the live requests with these ids as aborted; others are ignored.
    ///
    /// # Errors
    /// `Closed` or `Failed` when the thread is gone.
    pub fn abort(&self, ids: &[String]) -> Result<(), EngineError> {
        self.send(Command::Abort(ids.to_vec()))
    }

    /// Pauses and returns when no step runs any more. Requests submitted meanwhile wait.
    ///
    /// # Errors
    /// `Input` when a `Wait` was overtaken by `resume` or another pause; `Closed` or `Failed` when the thread is gone.
    pub fn pause(&self, mode: PauseMode) -> Result<(), EngineError> {
        self.ask(|reply| Command::Pause(mode, reply))
    }

    /// Continues after a pause; does nothing when there is none.
    ///
    /// # Errors
    /// `Closed` or `Failed` when the thread is gone.
    pub fn resume(&self) -> Result<(), EngineError> {
        self.send(Command::Resume)
    }

    /// Changes the weights between two steps, paused or not, and returns when it is done. Live requests keep their keys and
    /// values; the prefix cache is emptied.
    ///
    /// # Errors
    /// `Input` with the key in which the config of `model` has another shape, other mathematics or other ends of sequences than the model
    /// that the generator started with; `Closed` or `Failed` when the thread is gone.
    pub fn swap(&self, model: Arc<Model>, version: u64, digest: Option<String>) -> Result<(), EngineError> {
        if let Some((name, ours, theirs)) = self.config.difference(model.config()) {
            return Err(EngineError::Input(format!(
                "cannot swap to weights with {name} {theirs}: the model has {ours}"
            )));
        }
        self.ask(|reply| Command::Swap {
            model,
            version,
            digest,
            reply,
        })
    }

    /// Forgets all cached prefixes.
    ///
    /// # Errors
    /// `Closed` or `Failed` when the thread is gone.
    pub fn reset_prefix_cache(&self) -> Result<(), EngineError> {
        self.ask(Command::ResetPrefixCache)
    }

    /// Frees the memory of the key-value cache. Requests keep their tokens and wait, those submitted meanwhile too; scores and swaps go on.
    ///
    /// # Errors
    /// `Closed` or `Failed` when the thread is gone.
    pub fn sleep(&self) -> Result<(), EngineError> {
        self.ask(Command::Sleep)
    }

    /// Takes the memory again after [`Self::sleep`]; does nothing when awake. Requests go on, except while paused.
    ///
    /// # Errors
    /// `Capacity` when the machine does not give the memory any more; `Closed` or `Failed` when the thread is gone.
    pub fn wake_up(&self) -> Result<(), EngineError> {
        self.ask(Command::WakeUp)
    }

    /// Returns everything that came since the last call, one increment per request. Waits until there is something or `deadline` has
    /// passed; the result is empty then.
    ///
    /// # Errors
    /// `Closed` or `Failed` when the thread is gone and everything was picked up.
    pub fn next(&self, deadline: Instant) -> Result<Vec<Increment>, EngineError> {
        self.mailbox.take(deadline)
    }

    /// [`Model::logprobs`] with the current weights, computed between two steps.
    ///
    /// # Errors
    /// Those of [`Model::logprobs`]; `Closed` or `Failed` when the thread is gone.
    pub fn score(
        &self,
        input_ids: Vec<u32>,
        cu_seqlens: Vec<u32>,
        temperatures: Vec<f32>,
    ) -> Result<Vec<f32>, EngineError> {
        self.ask(|reply| Command::Score {
            input_ids,
            cu_seqlens,
            temperatures,
            reply,
        })
    }

    /// The same with ranks and the `top` most probable tokens of each place, at most [`MAX_TOP_LOGPROBS`].
    ///
    /// # Errors
    /// Those of [`Model::logprobs`]; `Input` for a larger `top`; `Closed` or `Failed` when the thread is gone.
    pub fn score_ranked(&self, scoring: Scoring, top: u32) -> Result<RankedScores, EngineError> {
        self.ask(|reply| Command::ScoreRanked { scoring, top, reply })
    }

    /// Fails when the thread has ended.
    ///
    /// # Errors
    /// `Closed` or `Failed`.
    pub fn check(&self) -> Result<(), EngineError> {
        self.mailbox.check()
    }

    /// Counters and gauges after the last step.
    pub fn stats(&self) -> GeneratorStats {
        self.mailbox.stats()
    }

    /// The longest prompt with its completion, in tokens.
    pub fn max_model_len(&self) -> usize {
        self.max_model_len
    }

    /// Ends live requests as aborted (their increments can still be picked up), stops the thread and waits for it.
    pub fn close(&self) {
        let thread = self.thread.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(thread) = thread {
            if self.commands.send(Command::Close).is_err() {
                tracing::debug!("the generation thread ended before it was closed");
            }
            if thread.join().is_err() {
                tracing::error!("the generation thread panicked outside of its guard");
            }
        }
    }

    fn send(&self, command: Command) -> Result<(), EngineError> {
        self.commands
            .send(command)
            .map_err(|_| self.mailbox.why_ended(Instant::now() + END_REPORT_DEADLINE))
    }

    fn ask<T>(&self, command: impl FnOnce(Reply<T>) -> Command) -> Result<T, EngineError> {
        let (reply, answer) = channel();
        self.send(command(reply))?;
        loop {
            match answer.recv_timeout(STILL_WAITS) {
                Ok(result) => return result,
                // A pause waits until requests have ended. The thread that they run on is watched itself.
                Err(RecvTimeoutError::Timeout) => prl_progress::made(),
                Err(RecvTimeoutError::Disconnected) => {
                    return Err(self.mailbox.why_ended(Instant::now() + END_REPORT_DEADLINE));
                }
            }
        }
    }
}

impl Drop for Generator {
    fn drop(&mut self) {
        self.close();
    }
}

impl std::fmt::Debug for Generator {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Generator")
            .field("stats", &self.stats())
            .finish_non_exhaustive()
    }
}

/// The thread's body. However `worker` ends, the mailbox records it before the command channel closes.
fn run_thread(worker: &mut Worker, commands: &Receiver<Command>) {
    let mailbox = Arc::clone(&worker.mailbox);
    match catch_unwind(AssertUnwindSafe(|| worker.run(commands))) {
        Ok(()) => mailbox.closed(),
        Err(panic) => {
            let text = panic
                .downcast_ref::<String>()
                .map(String::as_str)
                .or_else(|| panic.downcast_ref::<&str>().copied())
                .unwrap_or("no message");
            tracing::error!(panic = text, "the generation thread panicked");
            mailbox.failed(&format!("the generation thread panicked: {text}"));
        }
    }
}

fn check_sizes(config: &ModelConfig, options: &GeneratorOptions) -> Result<usize, EngineError> {
    let limit = config.max_position_embeddings;
    let max_model_len = options.max_model_len.unwrap_or(limit);
    if max_model_len > limit {
        return Err(EngineError::Input(format!(
            "max_model_len {max_model_len} is above the model's {limit} positions"
        )));
    }
    let sizes = [
        ("max_num_seqs", options.max_num_seqs),
        ("max_batched_tokens", options.max_batched_tokens),
        ("max_model_len", max_model_len),
    ];
    match sizes.into_iter().find(|(_, size)| *size == 0) {
        Some((name, _)) => Err(EngineError::Input(format!("{name} is 0; it must be at least 1"))),
        None => Ok(max_model_len),
    }
}

fn kv_blocks(block_bytes: usize, options: &GeneratorOptions, max_model_len: usize) -> Result<usize, EngineError> {
    let for_one = max_model_len.div_ceil(KvCache::BLOCK_TOKENS);
    let blocks = match (options.kv_blocks, options.kv_bytes) {
        (Some(blocks), _) => blocks,
        (None, Some(bytes)) => bytes / block_bytes,
        (None, None) => {
            let for_all = for_one.saturating_mul(options.max_num_seqs);
            for_all.min(DEFAULT_KV_BYTES / block_bytes).max(for_one)
        }
    };
    if blocks < for_one || u32::try_from(blocks).is_err() {
        return Err(EngineError::Capacity(format!(
            "a key-value cache of {blocks} blocks ({} bytes) cannot hold one sequence of max_model_len {max_model_len}: \
             it needs {for_one} blocks of {block_bytes} bytes",
            blocks.saturating_mul(block_bytes)
        )));
    }
    Ok(blocks)
}

#[cfg(test)]
mod tests;
