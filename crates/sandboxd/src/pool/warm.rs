//! The pools of warm runtimes: which of them a program gets its sandbox from, and the report about them.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use prl_sandbox_proto::{Facility, Runtime};

use super::Pool;
use crate::error::SandboxError;
use crate::plan::Plan;
use crate::sandbox::Factory;
use crate::warm::{FIRST, Form, Maker, NODE, Node, PYTHON, Profile, Profiles, Python};

/// At most this many sandboxes with a nursery are kept.
const MAX_NURSERIES: usize = 4;
/// How long after a request the nursery that it took is replaced: until then the request should have the processors.
const LULL: Duration = Duration::from_millis(50);

/// The warm runtimes of a daemon.
#[derive(Debug)]
pub(crate) struct Warm {
    /// The Pythons by the names of their profiles.
    pythons: BTreeMap<String, Result<Running, String>>,
    node: Result<Nodes, String>,
    /// The names of the runtimes that the command line asks for.
    wanted: BTreeSet<String>,
}

#[derive(Debug)]
struct Running {
    python: Arc<Python>,
    pool: Arc<Pool>,
    /// Sandboxes with a nursery, which has forked the zygotes of the first two cases. None are kept before the first
    /// request for tests.
    nurseries: Arc<Pool>,
    most_nurseries: usize,
}

/// Nodes that wait for code, and Nodes that wait for a file.
#[derive(Debug)]
struct Nodes {
    node: Arc<Node>,
    code: Arc<Pool>,
    file: Arc<Pool>,
}

impl Nodes {
    async fn start(factory: &Arc<Factory>, parked: usize, path: &str) -> Result<Self, String> {
        if parked == 0 {
            return Err("not asked for with --warm node=N".to_owned());
        }
        let node = Arc::new(Node::start(Arc::clone(factory), path).await?);
        let pool = |form| Pool::new(Maker::Node(Arc::clone(&node), form), parked);
        let (code, file) = (pool(Form::Code), pool(Form::File));
        Ok(Self { node, code, file })
    }

    fn parked(&self) -> usize {
        self.code.parked() + self.file.parked()
    }
}

impl Warm {
    /// Without any warm runtime: every program is executed.
    pub(crate) fn none(profiles: &Profiles, reason: &str) -> Self {
        let without = |(name, _): (&str, &Profile)| (name.to_owned(), Err(reason.to_owned()));
        Self {
            pythons: profiles.iter().map(without).collect(),
            node: Err(reason.to_owned()),
            wanted: [PYTHON.to_owned()].into(),
        }
    }

    /// Starts the warm runtimes. A runtime that the machine lacks is reported, and its programs are executed. `path`:
    /// where programs look for programs.
    pub(crate) async fn start(factory: &Arc<Factory>, profiles: &Profiles, path: &str) -> Self {
        let mut warm = Self::none(profiles, "");
        for (name, profile) in profiles.iter() {
            let started = if profile.parked == 0 {
                Err(format!("--warm {name}=0"))
            } else {
                let started = Python::start(Arc::clone(factory), profile.clone(), path).await;
                if let Err(reason) = &started {
                    tracing::warn!(name, reason, "no warm Python");
                }
                started
            };
            let running = started.map(|python| {
                let python = Arc::new(python);
                let maker = |sole| Maker::Python {
                    python: Arc::clone(&python),
                    sole,
                };
                let (pool, nurseries) = (
                    Pool::new(maker(true), profile.parked),
                    Pool::patient(maker(false), LULL),
                );
                let most_nurseries = profile.parked.min(MAX_NURSERIES);
                Running {
                    python,
                    pool,
                    nurseries,
                    most_nurseries,
                }
            });
            warm.pythons.insert(name.to_owned(), running);
            if profile.parked > 0 {
                warm.wanted.insert(name.to_owned());
            }
        }
        warm.node = Nodes::start(factory, profiles.nodes, path).await;
        if let Some(reason) = warm.node.as_ref().err().filter(|_| profiles.nodes > 0) {
            tracing::warn!(reason, "no parked Node");
        }
        warm
    }

    /// Like `choose`, for a program that is alone in its sandbox. Such a program may also run on a parked Node.
    pub(crate) fn choose_for_run(&self, plan: &mut Plan) -> Result<Option<Arc<Pool>>, SandboxError> {
        let insists = plan.runtime == NODE;
        let suits = plan.runtime.is_empty() && plan.start.program.command.first().is_some_and(|name| name == "node");
        if !insists && !suits {
            return self.choose(plan);
        }
        let refused = |reason: &str| {
            let wanted = NODE.to_owned();
            let reason = reason.to_owned();
            insists.then_some(SandboxError::Runtime { wanted, reason })
        };
        let found = match &self.node {
            _ if plan.image > 0 => Err(refused("images have no warm runtimes")),
            Err(reason) => Err(refused(reason)),
            Ok(nodes) => match nodes.node.form(plan) {
                Ok(Form::Code) => Ok(&nodes.code),
                Ok(Form::File) => Ok(&nodes.file),
                Err(reason) => Err(refused(reason)),
            },
        };
        match found {
            Ok(pool) => {
                plan.start.zygote = FIRST;
                plan.runtime = NODE.to_owned();
                Ok(Some(Arc::clone(pool)))
            }
            Err(Some(refusal)) => Err(refusal),
            Err(None) => Ok(None),
        }
    }

    /// Chooses a runtime for the command of a plan. For a warm one it returns the pool to take a sandbox from. Then,
    /// and only then, the plan's `zygote` is set, and its `runtime` is the chosen one.
    pub(crate) fn choose(&self, plan: &mut Plan) -> Result<Option<Arc<Pool>>, SandboxError> {
        let suits = plan.runtime.is_empty();
        if suits {
            plan.runtime = PYTHON.to_owned();
        }
        let refused = |reason: &str| SandboxError::Runtime {
            wanted: plan.runtime.clone(),
            reason: reason.to_owned(),
        };
        let running = match self.find(&plan.runtime, plan.image > 0) {
            Ok(Some(running)) => running,
            Ok(None) => return Ok(None),
            Err(SandboxError::Runtime { .. }) if suits => return Ok(None),
            Err(error) => return Err(error),
        };
        let program = &mut plan.start.program;
        for entry in running.python.additions() {
            let name = entry.split_inclusive('=').next().unwrap_or_default();
            if !program.env.iter().any(|one| one.starts_with(name)) {
                program.env.push((*entry).to_owned());
            }
        }
        match running.python.refusal(program) {
            None => {
                plan.start.zygote = FIRST;
                Ok(Some(Arc::clone(&running.pool)))
            }
            Some(reason) if plan.insists => Err(refused(reason)),
            Some(_) => Ok(None),
        }
    }

    /// The runtime with this name; `None` when programs are to be executed.
    fn find(&self, name: &str, image: bool) -> Result<Option<&Running>, SandboxError> {
        let refused = |reason: &str| SandboxError::Runtime {
            wanted: name.to_owned(),
            reason: reason.to_owned(),
        };
        match self.pythons.get(name) {
            _ if name == "exec" => Ok(None),
            None if name == NODE => Err(refused("a parked Node is for one program that has its sandbox alone")),
            None => Err(SandboxError::Invalid(format!("runtime {name:?} is not known"))),
            Some(_) if image => Err(refused("images have no warm runtimes")),
            Some(Err(reason)) => Err(refused(reason)),
            Some(Ok(running)) => Ok(Some(running)),
        }
    }

    /// The warm Python that was chosen for a plan.
    pub(crate) fn python(&self, plan: &Plan) -> Option<Arc<Python>> {
        let running = self.pythons.get(&plan.runtime)?.as_ref().ok()?;
        (plan.start.zygote > 0).then(|| Arc::clone(&running.python))
    }

    /// Sandboxes with a nursery for the cases of such a plan. From now on some are kept.
    pub(crate) fn nurseries(&self, plan: &Plan) -> Option<&Arc<Pool>> {
        let running = self.pythons.get(&plan.runtime)?.as_ref().ok()?;
        let nurseries = (plan.start.zygote > 0).then_some(&running.nurseries)?;
        nurseries.keep(running.most_nurseries);
        Some(nurseries)
    }

    /// The runtime for the execs of a box; `None` when they are executed.
    pub(crate) fn of_box(&self, runtime: &str, image: bool) -> Result<Option<Arc<Python>>, SandboxError> {
        let name = if runtime.is_empty() { "exec" } else { runtime };
        Ok(self.find(name, image)?.map(|running| Arc::clone(&running.python)))
    }

    fn running(&self) -> impl Iterator<Item = (&str, &Running)> {
        let named = self.pythons.iter();
        named.filter_map(|(name, running)| Some((name.as_str(), running.as_ref().ok()?)))
    }

    /// The runtimes in the capability report.
    pub(crate) fn report(&self) -> Vec<Runtime> {
        let report = |(name, running): (&str, &Running)| {
            let about = running.python.about();
            Runtime {
                name: name.to_owned(),
                version: about.version,
                preloads: about.preloads,
                parked: u32::try_from(running.pool.parked()).unwrap_or(u32::MAX),
            }
        };
        let nodes = self.node.iter().map(|nodes| {
            let about = nodes.node.about();
            Runtime {
                name: NODE.to_owned(),
                version: about.version,
                preloads: about.preloads,
                parked: u32::try_from(nodes.parked()).unwrap_or(u32::MAX),
            }
        });
        self.running().map(report).chain(nodes).collect()
    }

    pub(crate) fn facilities(&self) -> Vec<Facility> {
        let facility = |(name, running): (&String, &Result<Running, String>)| Facility {
            name: format!("runtime.{name}"),
            available: running.is_ok(),
            detail: match running {
                Ok(running) => running.python.about().executable,
                Err(reason) => format!("{reason}; every command is executed"),
            },
        };
        let wanted = self.pythons.iter().filter(|(name, _)| self.wanted.contains(*name));
        let node = Facility {
            name: "runtime.node".to_owned(),
            available: self.node.is_ok(),
            detail: match &self.node {
                Ok(nodes) => nodes.node.about().executable,
                Err(reason) => format!("{reason}; node is executed"),
            },
        };
        wanted.map(facility).chain([node]).collect()
    }

    /// How many sandboxes were made in advance.
    pub(crate) fn parked(&self) -> usize {
        let nodes = self.node.iter().map(Nodes::parked);
        self.running()
            .map(|(_, running)| running.pool.parked())
            .chain(nodes)
            .sum()
    }

    /// How many parked sandboxes have a nursery, by runtime; `parked` does not count them.
    pub(crate) fn parked_for_tests(&self) -> impl Iterator<Item = (&str, usize)> {
        self.running().map(|(name, running)| (name, running.nurseries.parked()))
    }

    /// Destroys the parked sandboxes.
    pub(crate) async fn close(&self) {
        for (_, running) in self.running() {
            running.pool.close().await;
            running.nurseries.close().await;
        }
        if let Ok(nodes) = &self.node {
            nodes.code.close().await;
            nodes.file.close().await;
        }
    }
}
