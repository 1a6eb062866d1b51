//! Warm runtimes: interpreters that have started before a program asks for one.
//!
//! A template interpreter outside of every sandbox has loaded modules; from it a zygote is forked into each sandbox that
//! is parked for Python, and becomes the program that the sandbox is given. Every zygote is used once. Which commands
//! are run so is in `eligible`; what they can notice of it, in `python/guest.py`: nothing that we know of but the time,
//! the hash seed and the addresses of a template's zygotes, which are the same.

mod eligible;
pub(crate) mod interpreter;
mod python;
mod template;

use std::sync::Arc;

use prl_sandbox_proto::{Facility, Runtime};

use crate::error::SandboxError;
use crate::factory::Factory;
use crate::plan::Plan;
use crate::pool::Pool;
use crate::sandbox::Sandbox;

pub(crate) use python::{Parked, Python};

/// The id by which the first zygote of a sandbox is known to init: no other order has it.
pub(crate) const FIRST: u64 = u64::MAX;

/// The warm runtimes of a daemon.
#[derive(Debug)]
pub(crate) struct Warm {
    python: Result<(Arc<Python>, Arc<Pool>), String>,
}

impl Warm {
    /// Every program is executed.
    pub(crate) fn none(reason: &str) -> Self {
        Self {
            python: Err(reason.to_owned()),
        }
    }

    /// Starts them. What the machine lacks is reported, and its programs are executed. `python`: how many to park.
    pub(crate) async fn start(factory: &Arc<Factory>, python: usize) -> Self {
        if python == 0 {
            return Self::none("--warm python=0");
        }
        let started = Python::start(Arc::clone(factory)).await;
        if let Err(reason) = &started {
            tracing::warn!(reason, "no warm Python");
        }
        let parked = |started| {
            let started = Arc::new(started);
            let pool = Pool::new(Maker::Python(Arc::clone(&started)), python);
            (started, pool)
        };
        Self {
            python: started.map(parked),
        }
    }

    /// Chooses what a plan's command runs on. Returns the pool to take a sandbox from when it is a warm one.
    pub(crate) fn choose(&self, plan: &mut Plan) -> Result<Option<Arc<Pool>>, SandboxError> {
        let refused = |reason: &str| SandboxError::Runtime {
            wanted: plan.runtime.clone(),
            reason: reason.to_owned(),
        };
        if plan.image > 0 {
            return match plan.runtime.as_str() {
                "" | "exec" => Ok(None),
                _ => Err(refused("images have no warm runtimes")),
            };
        }
        match (plan.runtime.as_str(), &self.python) {
            ("exec", _) | ("", Err(_)) => Ok(None),
            ("" | "python", Ok((python, pool))) => match python.refusal(&plan.start.program) {
                None => {
                    plan.start.zygote = FIRST;
                    Ok(Some(Arc::clone(pool)))
                }
                Some(_) if plan.runtime.is_empty() => Ok(None),
                Some(reason) => Err(refused(reason)),
            },
            ("python", Err(reason)) => Err(refused(reason)),
            ("node", _) => Err(refused("this daemon parks no node")),
            (other, _) => Err(SandboxError::Invalid(format!("runtime {other:?} is not known"))),
        }
    }

    /// The warm Python, if there is one.
    pub(crate) fn python(&self) -> Option<Arc<Python>> {
        self.python.as_ref().ok().map(|(python, _)| Arc::clone(python))
    }

    /// What the execs of a box with this runtime are to run on, and whether one waits for them all the time.
    pub(crate) fn of_box(&self, runtime: &str, image: bool) -> Result<Option<(Arc<Python>, bool)>, SandboxError> {
        let refused = |reason: &str| SandboxError::Runtime {
            wanted: runtime.to_owned(),
            reason: reason.to_owned(),
        };
        match (runtime, &self.python) {
            ("exec", _) => Ok(None),
            ("", python) => Ok(python.as_ref().ok().map(|(python, _)| (Arc::clone(python), false))),
            ("python", _) if image => Err(refused("images have no warm runtimes")),
            ("python", Ok((python, _))) => Ok(Some((Arc::clone(python), true))),
            ("python", Err(reason)) => Err(refused(reason)),
            ("node", _) => Err(refused("this daemon parks no node")),
            (other, _) => Err(SandboxError::Invalid(format!("runtime {other:?} is not known"))),
        }
    }

    /// For the capability report.
    pub(crate) fn report(&self) -> Vec<Runtime> {
        let report = |(python, pool): &(Arc<Python>, Arc<Pool>)| {
            let about = python.about();
            Runtime {
                name: "python".to_owned(),
                version: about.version,
                preloads: about.preloads,
                parked: u32::try_from(pool.parked()).unwrap_or(u32::MAX),
            }
        };
        self.python.iter().map(report).collect()
    }

    pub(crate) fn facilities(&self) -> Vec<Facility> {
        vec![Facility {
            name: "runtime.python".to_owned(),
            available: self.python.is_ok(),
            detail: match &self.python {
                Ok((python, _)) => python.about().executable,
                Err(reason) => format!("{reason}; every command is executed"),
            },
        }]
    }

    /// Sandboxes made in advance.
    pub(crate) fn parked(&self) -> usize {
        self.python.iter().map(|(_, pool)| pool.parked()).sum()
    }

    /// Destroys what is parked.
    pub(crate) async fn close(&self) {
        if let Ok((_, pool)) = &self.python {
            pool.close().await;
        }
    }
}

/// Where parked sandboxes come from.
#[derive(Clone, Debug)]
pub(crate) enum Maker {
    Plain(Arc<Factory>),
    Python(Arc<Python>),
}

impl Maker {
    /// `image`: its number, counted from 1; 0 is the only one that warm runtimes have.
    pub(crate) async fn make(&self, image: u32) -> Result<Sandbox, SandboxError> {
        match self {
            Self::Plain(factory) => factory.make(image).await,
            Self::Python(python) => python.make().await,
        }
    }
}
