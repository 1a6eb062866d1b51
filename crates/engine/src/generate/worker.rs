//! The generation thread: commands between steps, then one step of the running requests, over and over.
//!
//! A step plans shares (`scheduler`), computes them with the current weights, draws one token for each request whose tokens are
//! all computed, and posts the results. Weights change only between two steps, so a token's version is that of
//! the whole step. Requests keep their keys and values over a change; only the prefix cache is emptied.

use std::collections::HashSet;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, TryRecvError};

use super::mailbox::{Mailbox, Post};
use super::measures::{StepSizes, count_adapters};
use super::request::{FinishReason, GeneratorStats, PauseMode, RequestError};
use super::sampler::Drawn;
use super::scheduler::{Scheduler, Share};
use super::scoring::{RankedScores, Scoring, score_ranked};
use super::sequence::{Finish, SampledToken, Sequence};
use super::step::{Outcome, compute_step};
use crate::compute::Compute;
use crate::error::EngineError;
use crate::model::{KvCache, Model};

/// Where the answer to a command goes.
pub(super) type Reply<T> = Sender<Result<T, EngineError>>;

/// A request of the handle to the thread.
pub(super) enum Command {
    Submit(Vec<Sequence>),
    Abort(Vec<String>),
    Pause(PauseMode, Reply<()>),
    Resume,
    Swap {
        model: Arc<Model>,
        version: u64,
        digest: Option<String>,
        reply: Reply<()>,
    },
    ResetPrefixCache(Reply<()>),
    Sleep(Reply<()>),
    WakeUp(Reply<()>),
    Score {
        input_ids: Vec<u32>,
        cu_seqlens: Vec<u32>,
        temperatures: Vec<f32>,
        reply: Reply<Vec<f32>>,
    },
    ScoreRanked {
        scoring: Scoring,
        top: u32,
        reply: Reply<RankedScores>,
    },
    Close,
    #[cfg(test)]
    Panic,
}

enum Flow {
    Running,
    /// Requests that arrived before the barrier finish; then the thread pauses and answers.
    Draining {
        barrier: u64,
        replies: Vec<Reply<()>>,
    },
    Paused,
}

/// State of the thread.
pub(super) struct Worker {
    pub(super) model: Arc<Model>,
    pub(super) compute: Arc<Compute>,
    pub(super) kv: KvCache,
    pub(super) scheduler: Scheduler,
    pub(super) mailbox: Arc<Mailbox>,
    pub(super) max_model_len: usize,
    pub(super) version: u64,
    pub(super) digest: Option<String>,
    flow: Flow,
    /// The cache has no memory, so nothing is computed.
    asleep: bool,
    shares: Vec<Share>,
    steps: u64,
    step_sizes: StepSizes,
    generation_tokens: u64,
}

/// How a sequence left a step.
struct Ended {
    arrival: u64,
    end: Result<Finish, RequestError>,
}

impl Worker {
    #[expect(
        clippy::too_many_arguments,
        reason = "one call, by the handle, of everything the thread owns"
    )]
    pub(super) fn new(
        model: Arc<Model>,
        compute: Arc<Compute>,
        kv: KvCache,
        scheduler: Scheduler,
        mailbox: Arc<Mailbox>,
        max_model_len: usize,
        version: u64,
        digest: Option<String>,
    ) -> Self {
        Worker {
            model,
            compute,
            kv,
            scheduler,
            mailbox,
            max_model_len,
            version,
            digest,
            flow: Flow::Running,
            asleep: false,
            shares: Vec::new(),
            steps: 0,
            step_sizes: StepSizes::default(),
            generation_tokens: 0,
        }
    }

    /// Runs until a close, or until the handle is dropped.
    pub(super) fn run(&mut self, commands: &Receiver<Command>) {
        self.publish_stats();
        loop {
            let idle = match self.flow {
                Flow::Paused => true,
                Flow::Running | Flow::Draining { .. } => !self.has_work(),
            };
            let mut next = if idle {
                commands.recv().map_err(|_| TryRecvError::Disconnected)
            } else {
                commands.try_recv()
            };
            loop {
                match next {
                    Ok(Command::Close) | Err(TryRecvError::Disconnected) => return self.abort_where(|_| true),
                    Ok(command) => {
                        let scores = matches!(command, Command::Score { .. } | Command::ScoreRanked { .. });
                        prl_progress::work("a command to the generator", || self.obey(command));
                        // A scoring lasts as long as a step or more: however many wait, the sequences have a step between two.
                        if scores {
                            break;
                        }
                    }
                    Err(TryRecvError::Empty) => break,
                }
                next = commands.try_recv();
            }
            self.finish_draining();
            if !matches!(self.flow, Flow::Paused) && self.has_work() {
                prl_progress::work("a step of generation", || self.step());
                self.finish_draining();
            }
        }
    }

    fn barrier(&self) -> u64 {
        match self.flow {
            Flow::Draining { barrier, .. } => barrier,
            Flow::Running | Flow::Paused => u64::MAX,
        }
    }

    fn has_work(&self) -> bool {
        !self.asleep && self.scheduler.has_before(self.barrier())
    }

    fn obey(&mut self, command: Command) {
        match command {
            Command::Submit(sequences) => sequences
                .into_iter()
                .for_each(|sequence| self.scheduler.enqueue(sequence)),
            Command::Abort(ids) => {
                let ids: HashSet<String> = ids.into_iter().collect();
                self.abort_where(|sequence| ids.contains(&sequence.request.id));
            }
            Command::Pause(mode, reply) => self.pause(mode, reply),
            Command::Resume => {
                self.leave_draining(Flow::Running, "the generator was resumed before the pause was reached")
            }
            Command::Swap {
                model,
                version,
                digest,
                reply,
            } => {
                self.model = model;
                self.version = version;
                self.digest = digest;
                self.scheduler.weights_changed();
                self.publish_stats();
                answer(&reply, Ok(()));
            }
            Command::ResetPrefixCache(reply) => {
                self.scheduler.forget_prefixes();
                self.publish_stats();
                answer(&reply, Ok(()));
            }
            Command::Sleep(reply) => {
                self.scheduler.give_cache_up();
                self.kv = self.model.kv_cache(0);
                self.asleep = true;
                self.publish_stats();
                answer(&reply, Ok(()));
            }
            Command::WakeUp(reply) => answer(&reply, self.wake_up()),
            Command::Score {
                input_ids,
                cu_seqlens,
                temperatures,
                reply,
            } => {
                let scores = self
                    .model
                    .logprobs(&self.compute, &input_ids, &cu_seqlens, &temperatures);
                answer(&reply, scores.and_then(|scores| self.finite(scores, |scores| scores)));
            }
            Command::ScoreRanked { scoring, top, reply } => {
                let scores = score_ranked(&self.model, &self.compute, &scoring, top);
                answer(
                    &reply,
                    scores.and_then(|scores| self.finite(scores, |scores| &scores.logprobs)),
                );
            }
            Command::Close => unreachable!("the loop handles close"),
            #[cfg(test)]
            Command::Panic => panic!("the test asked for a panic"),
        }
        self.publish_stats();
    }

    /// Refuses scores that are not finite: the tokens and temperatures were checked, so it is the fault of the weights.
    fn finite<T>(&self, scores: T, logprobs: impl Fn(&T) -> &[f32]) -> Result<T, EngineError> {
        match logprobs(&scores).iter().position(|logprob| !logprob.is_finite()) {
            None => Ok(scores),
            Some(place) => Err(EngineError::Computation(format!(
                "the score of token {place} is not finite: the weights of version {} are damaged",
                self.version
            ))),
        }
    }

    fn pause(&mut self, mode: PauseMode, reply: Reply<()>) {
        match mode {
            PauseMode::Wait => {
                let barrier = self.mailbox.next_arrival();
                match &mut self.flow {
                    Flow::Draining { replies, .. } => replies.push(reply),
                    Flow::Running | Flow::Paused => {
                        self.flow = Flow::Draining {
                            barrier,
                            replies: vec![reply],
                        }
                    }
                }
                return;
            }
            PauseMode::Keep => {}
            PauseMode::Abort => self.abort_where(|_| true),
        }
        self.leave_draining(Flow::Paused, "another pause came before the one that waits was reached");
        self.publish_stats();
        answer(&reply, Ok(()));
    }

    fn wake_up(&mut self) -> Result<(), EngineError> {
        if self.asleep {
            let blocks = self.scheduler.manager.total();
            KvCache::check_memory(self.model.config(), self.compute.tier(), blocks)?;
            self.kv = self.model.kv_cache(blocks);
            self.asleep = false;
        }
        Ok(())
    }

    fn leave_draining(&mut self, next: Flow, why: &str) {
        if let Flow::Draining { replies, .. } = std::mem::replace(&mut self.flow, next) {
            for reply in replies {
                answer(&reply, Err(EngineError::Input(why.to_owned())));
            }
        }
    }

    fn finish_draining(&mut self) {
        if matches!(self.flow, Flow::Draining { .. })
            && !self.has_work()
            && let Flow::Draining { replies, .. } = std::mem::replace(&mut self.flow, Flow::Paused)
        {
            self.publish_stats();
            replies.iter().for_each(|reply| answer(reply, Ok(())));
        }
    }

    fn abort_where(&mut self, gone: impl FnMut(&Sequence) -> bool) {
        let mut aborted = self.scheduler.remove(gone);
        let finish = Finish {
            reason: FinishReason::Abort,
            stop_token: None,
        };
        let posts = aborted.iter_mut().map(|sequence| Post {
            sequence,
            end: Some(Ok(finish)),
        });
        self.mailbox.post(posts, self.stats());
    }

    fn publish_stats(&self) {
        self.mailbox.post(std::iter::empty(), self.stats());
    }

    fn stats(&self) -> GeneratorStats {
        let totals = self.scheduler.totals;
        let adapters = self
            .scheduler
            .running
            .iter()
            .filter_map(|sequence| sequence.request.adapter.as_ref());
        GeneratorStats {
            running: self.scheduler.running.len(),
            waiting: self.scheduler.waiting(),
            running_adapters: count_adapters(adapters.filter_map(|adapter| adapter.name())),
            kv_usage: self.scheduler.usage(),
            kv_cache_tokens: self.scheduler.manager.total() * self.scheduler.manager.block_tokens(),
            steps: self.steps,
            step_sizes: self.step_sizes,
            preemptions: totals.preemptions,
            prompt_tokens_total: totals.prompt_tokens,
            generation_tokens_total: self.generation_tokens,
            prefix_queries: totals.prefix_queries,
            prefix_hits: totals.prefix_hits,
            version: self.version,
            digest: self.digest.clone(),
            paused: matches!(self.flow, Flow::Paused),
        }
    }

    // ---- one step ----

    fn step(&mut self) {
        let mut shares = std::mem::take(&mut self.shares);
        self.scheduler.schedule(self.barrier(), &mut shares);
        self.steps += 1;
        if !shares.is_empty() {
            self.step_sizes.add(shares.iter().map(|share| share.count).sum());
        }
        for copy in &self.scheduler.copies {
            self.kv.copy_block(copy.from, copy.to);
        }
        let running = &self.scheduler.running;
        let ended = match compute_step(&self.model, &self.compute, &mut self.kv, running, &shares) {
            Ok(drawn) => self.take_in(&shares, drawn),
            Err(error) => shares
                .iter()
                .map(|share| Ended {
                    arrival: self.scheduler.running[share.index].arrival,
                    end: Err(RequestError::Computation(format!("the step failed: {error}"))),
                })
                .collect(),
        };
        self.shares = shares;
        self.post(ended);
    }

    fn take_in(&mut self, shares: &[Share], outcomes: Vec<Outcome>) -> Vec<Ended> {
        let mut ended = Vec::new();
        for (share, outcome) in shares.iter().zip(outcomes) {
            self.scheduler.advance(*share);
            let sequence = &mut self.scheduler.running[share.index];
            if let Some(recording) = &mut sequence.recording {
                recording.read(&self.kv, &sequence.blocks, sequence.computed);
            }
            let end = match outcome {
                Outcome::Incomplete => None,
                Outcome::Ended => Some(Ok(Finish {
                    reason: FinishReason::Stop,
                    stop_token: None,
                })),
                Outcome::Failed(why) => Some(Err(why.error(sequence.tokens.len(), self.version))),
                Outcome::Token(Drawn { id, logprob, ranked }) => {
                    self.generation_tokens += 1;
                    let token = SampledToken {
                        id,
                        logprob,
                        ranked,
                        version: self.version,
                    };
                    sequence.push(token, self.model.config(), self.max_model_len).map(Ok)
                }
            };
            ended.extend(end.map(|end| Ended {
                arrival: sequence.arrival,
                end,
            }));
        }
        ended
    }

    fn post(&mut self, mut ended: Vec<Ended>) {
        ended.sort_unstable_by_key(|ended| ended.arrival);
        let place = |sequence: &Sequence| ended.binary_search_by_key(&sequence.arrival, |ended| ended.arrival);
        let mut gone = if ended.is_empty() {
            Vec::new()
        } else {
            self.scheduler.remove_running(|sequence| place(sequence).is_ok())
        };
        let ends: Vec<_> = gone
            .iter()
            .map(|sequence| place(sequence).map(|at| ended[at].end.clone()).ok())
            .collect();
        let stats = self.stats();
        let finished = gone.iter_mut().zip(ends).map(|(sequence, end)| Post { sequence, end });
        let going = self
            .scheduler
            .running
            .iter_mut()
            .filter(|sequence| !sequence.request.final_only && !sequence.unsent.is_empty())
            .map(|sequence| Post { sequence, end: None });
        self.mailbox.post(going.chain(finished), stats);
    }
}

fn answer<T>(reply: &Reply<T>, result: Result<T, EngineError>) {
    if reply.send(result).is_err() {
        tracing::debug!("the caller of a generator command is gone");
    }
}
