//! Parked Nodes: each was executed in a separate sandbox before its program was known. It becomes one program.
//!
//! A Node cannot be forked as a Python can, since it has threads from its start. So init executes it as the guest that
//! it will be, with all rights given up, and a script of ours (`node/parked.cjs`) waits in it for its program. There
//! are two forms, because an interpreter decides at its start whether it runs code or a file. Nothing of this is
//! trusted: a parked Node has no more rights than its program, and never runs another program.

mod commands;
mod trial;

use std::io;
use std::os::fd::AsFd;
use std::sync::Arc;
use std::time::Duration;

use prl_sandbox_guest::wire::{Event, Order, PerProcess, Program};
use prl_sandbox_guest::zygotes::node::{LINK, SCRIPT_PLACE};

use super::template::About;
use super::{FIRST, check};
use crate::error::SandboxError;
use crate::plan::{OPEN_FILES, Plan, environment};
use crate::sandbox::Factory;
use crate::sandbox::Sandbox;
use crate::sandbox::pipes;

pub(crate) use commands::Form;

/// Stand for the program that is still unknown. They are never looked up.
const NO_CODE: &str = "0";
const NO_FILE: &str = "/.program";
/// On every machine a Node starts within this time.
const DEADLINE: Duration = Duration::from_secs(20);

/// See the module.
#[derive(Debug)]
pub(crate) struct Node {
    factory: Arc<Factory>,
    /// The environment of its programs, before their requests add to it.
    environment: Vec<String>,
    about: About,
}

impl Node {
    /// Tries both forms. The error says why parked Nodes are not available.
    pub(crate) async fn start(factory: Arc<Factory>, path: &str) -> Result<Self, String> {
        let mut node = Self {
            factory,
            environment: environment(path),
            about: About {
                version: String::new(),
                executable: String::new(),
                preloads: Vec::new(),
            },
        };
        for form in [Form::Code, Form::File] {
            let mut example = node.make(form).await.map_err(|error| error.chain())?;
            let found = match check::check(&example) {
                Ok(()) => trial::run(&mut example, form, &node.environment).await,
                Err(reason) => Err(reason),
            };
            example.destroy().await;
            node.about = found?;
        }
        Ok(node)
    }

    pub(crate) fn about(&self) -> About {
        self.about.clone()
    }

    /// The form in which a plan's command can be run. The error says why the command must be executed.
    pub(crate) fn form(&self, plan: &Plan) -> Result<Form, &'static str> {
        commands::form(plan, &self.environment, OPEN_FILES)
    }

    /// Makes a sandbox with a Node that becomes its one program.
    pub(crate) async fn make(&self, form: Form) -> Result<Sandbox, SandboxError> {
        let mut sandbox = self.factory.make(0).await?;
        // It gives way to other programs while it starts.
        sandbox.group.set_yielding(true);
        let started = tokio::time::timeout(DEADLINE, self.advance(&mut sandbox, form)).await;
        match started.unwrap_or_else(|_| Err(setup("wait", io::ErrorKind::TimedOut.into()))) {
            Ok(()) => Ok(sandbox),
            Err(error) => {
                sandbox.destroy().await;
                Err(error)
            }
        }
    }

    async fn advance(&self, sandbox: &mut Sandbox, form: Form) -> Result<(), SandboxError> {
        let streams = pipes().map_err(|source| setup("pipes", source))?;
        let guests = streams.1.each_ref().map(AsFd::as_fd);
        let order = Order::Advance(self.program(form));
        let sent = sandbox.orders.send(FIRST, order, &guests).await;
        sent.map_err(|source| setup("talk to init", source))?;
        let event = sandbox.events.receive().await;
        match event.map_err(|source| setup("talk to init", source))? {
            Some((_, Event::Hatched(_), _)) => {
                sandbox.streams = Some(streams);
                Ok(())
            }
            Some((_, Event::NotExecuted(failure) | Event::Failed(failure), _)) => {
                Err(setup(&failure.step, io::Error::from_raw_os_error(failure.errno)))
            }
            Some((_, other, _)) => Err(SandboxError::Protocol(format!("{other:?} for a parked Node"))),
            None => Err(SandboxError::InitDied),
        }
    }

    fn program(&self, form: Form) -> Program {
        let link = LINK.to_string();
        let arguments = match form {
            Form::Code => ["-e", NO_CODE, &link].to_vec(),
            Form::File => [NO_FILE, &link].to_vec(),
        };
        let command = ["node", "--require", SCRIPT_PLACE].into_iter().chain(arguments);
        Program {
            command: command.map(str::to_owned).collect(),
            env: self.environment.clone(),
            // An interpreter looks around where it starts, and remembers which files are missing.
            cwd: "/".to_owned(),
            open_files: OPEN_FILES,
            cpu_seconds: 0,
            nobody: false,
            alone: Some(Box::new(PerProcess::default())),
        }
    }
}

fn setup(step: &str, source: io::Error) -> SandboxError {
    SandboxError::Setup {
        step: format!("parked Node: {step}"),
        source,
    }
}
