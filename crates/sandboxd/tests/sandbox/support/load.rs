//! Endless runs from many callers, each of which knows what its answer must be.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use prl_sandbox_proto::{Cause, RunOnceRequest};
use tokio::task::JoinSet;

use super::{Client, cause, command, describe, slowness, text};

/// Much longer than any run of the load takes.
const PATIENCE: Duration = Duration::from_secs(40);

/// The numbers of answers by kind.
#[derive(Debug, Default)]
pub(crate) struct Tally {
    pub(crate) right: AtomicUsize,
    /// Answers that say that the infrastructure failed.
    pub(crate) infra: AtomicUsize,
    /// Calls without an answer: the connection was lost.
    pub(crate) lost: AtomicUsize,
}

/// See the module.
pub(crate) struct Load {
    stop: Arc<AtomicBool>,
    pub(crate) tally: Arc<Tally>,
    lanes: JoinSet<Vec<String>>,
}

impl Load {
    /// Every lane stops at its first lost call, or on demand.
    pub(crate) fn start(client: &Client, lanes: usize) -> Self {
        let mut load = Self {
            stop: Arc::default(),
            tally: Arc::default(),
            lanes: JoinSet::new(),
        };
        for lane in 0..lanes {
            let mut client = client.clone();
            let (stop, tally) = (Arc::clone(&load.stop), Arc::clone(&load.tally));
            load.lanes.spawn(async move {
                let mut wrong = Vec::new();
                for turn in 0.. {
                    if stop.load(Ordering::Relaxed) {
                        break;
                    }
                    let (request, wanted, output) = work(lane, turn);
                    let answer = match tokio::time::timeout(PATIENCE, client.run_once(request)).await {
                        Ok(answer) => answer,
                        Err(_) => {
                            wrong.push(format!("lane {lane}, turn {turn}: no answer"));
                            break;
                        }
                    };
                    let Ok(result) = answer else {
                        tally.lost.fetch_add(1, Ordering::Relaxed);
                        break;
                    };
                    let result = result.get_ref();
                    if cause(result) == Cause::Infra {
                        tally.infra.fetch_add(1, Ordering::Relaxed);
                    } else if cause(result) == wanted && text(&result.stdout) == output {
                        tally.right.fetch_add(1, Ordering::Relaxed);
                    } else {
                        wrong.push(format!("lane {lane}, turn {turn}: {}", describe(result)));
                    }
                }
                wrong
            });
        }
        load
    }

    /// Lets every lane end; returns the answers that were neither right nor INFRA.
    pub(crate) async fn end(mut self) -> Vec<String> {
        self.stop.store(true, Ordering::Relaxed);
        let mut wrong = Vec::new();
        while let Some(lane) = self.lanes.join_next().await {
            wrong.extend(lane.unwrap_or_else(|error| vec![error.to_string()]));
        }
        wrong
    }
}

/// Short and long programs, children that are left behind, and runs that reach a limit.
fn work(lane: usize, turn: usize) -> (RunOnceRequest, Cause, String) {
    let mark = format!("{lane}.{turn}");
    let line = match (lane + turn) % 5 {
        0 => format!("echo {mark}"),
        1 => format!("sleep 0.05; echo {mark}"),
        2 => format!("(setsid sleep 20 &) ; echo {mark}"),
        3 => format!("echo {mark}; sleep 9"),
        _ => format!("echo {mark} > f; cat f; rm f"),
    };
    let python = format!("import time; time.sleep(0.01); print('{mark}')");
    // On a warm interpreter where there is one.
    let mut request = if (lane + turn) % 10 == 6 {
        command(&["python3", "-c", &python])
    } else {
        command(&["sh", "-c", &line])
    };
    let limited = (lane + turn) % 5 == 3;
    if limited {
        request.limits.get_or_insert_default().wall_ms = Some(100 * u64::from(slowness()));
    }
    let cause = if limited { Cause::WallTimeout } else { Cause::Exited };
    (request, cause, format!("{mark}\n"))
}
