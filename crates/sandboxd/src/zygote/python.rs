//! Python: its template, which is replaced when it dies, and the sandboxes with a zygote in them.

use std::io;
use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::sync::Mutex;

use super::template::{About, Template};
use super::{FIRST, eligible};
use crate::error::SandboxError;
use crate::factory::Factory;
use crate::sandbox::Sandbox;
use crate::wire::{Event, Order, Program};

/// What programs of the kind that is run here use most, of the standard library.
const MODULES: [&str; 49] = [
    "argparse",
    "array",
    "ast",
    "asyncio",
    "bisect",
    "cmath",
    "collections",
    "contextlib",
    "copy",
    "csv",
    "dataclasses",
    "datetime",
    "decimal",
    "enum",
    "fractions",
    "functools",
    "hashlib",
    "heapq",
    "inspect",
    "io",
    "itertools",
    "json",
    "logging",
    "math",
    "numbers",
    "operator",
    "pathlib",
    "pprint",
    "queue",
    "random",
    "re",
    "secrets",
    "select",
    "shutil",
    "signal",
    "socket",
    "statistics",
    "string",
    "struct",
    "subprocess",
    "tempfile",
    "textwrap",
    "threading",
    "traceback",
    "types",
    "typing",
    "unicodedata",
    "unittest",
    "uuid",
];
/// A zygote that is not there by then will not come.
const HATCH_DEADLINE: Duration = Duration::from_secs(10);
/// Pause between two attempts to start a template.
const RESTART_PAUSE: Duration = Duration::from_secs(1);

/// See the module.
#[derive(Debug)]
pub(crate) struct Python {
    factory: Arc<Factory>,
    about: About,
    now: Mutex<Now>,
}

#[derive(Debug)]
struct Now {
    template: Option<Arc<Template>>,
    started: Instant,
}

impl Python {
    /// Starts the template. The error says why there is none.
    pub(crate) async fn start(factory: Arc<Factory>) -> Result<Self, String> {
        let template = Template::start(&factory, &MODULES).await?;
        Ok(Self {
            factory,
            about: template.about.clone(),
            now: Mutex::new(Now {
                template: Some(Arc::new(template)),
                started: Instant::now(),
            }),
        })
    }

    pub(crate) fn about(&self) -> About {
        self.about.clone()
    }

    /// Why a command must be executed.
    pub(crate) fn refusal(&self, program: &Program) -> Option<&'static str> {
        eligible::refusal(program, &self.about.executable)
    }

    /// Makes a sandbox with a zygote that becomes its one program.
    pub(crate) async fn make(&self) -> Result<Sandbox, SandboxError> {
        let mut sandbox = self.factory.make(0).await?;
        match self.hatch(&mut sandbox).await {
            Ok(()) => Ok(sandbox),
            Err(error) => {
                sandbox.destroy().await;
                Err(error)
            }
        }
    }

    async fn hatch(&self, sandbox: &mut Sandbox) -> Result<(), SandboxError> {
        let hatched = tokio::time::timeout(HATCH_DEADLINE, async {
            let failed = |source| setup("talk to init", source);
            let template = self.template().await?;
            sandbox
                .orders
                .send(FIRST, Order::Hatch(true), &[])
                .await
                .map_err(failed)?;
            let nest = match sandbox.events.receive().await.map_err(failed)? {
                Some((_, Event::Nest(_), fds)) => fds,
                other => return Err(unexpected(other.map(|(_, event, _)| event))),
            };
            if let Err(error) = template.fork(sandbox.uid.number, true, &nest, &sandbox.group).await {
                self.give_up(&template).await;
                return Err(error);
            }
            match sandbox.events.receive().await.map_err(failed)? {
                Some((_, Event::Hatched(_), _)) => Ok(()),
                other => Err(unexpected(other.map(|(_, event, _)| event))),
            }
        });
        hatched
            .await
            .unwrap_or_else(|_| Err(setup("wait", io::ErrorKind::TimedOut.into())))
    }

    /// The template, started again when the last one is gone.
    async fn template(&self) -> Result<Arc<Template>, SandboxError> {
        let mut now = self.now.lock().await;
        if let Some(template) = &now.template {
            return Ok(Arc::clone(template));
        }
        if now.started.elapsed() < RESTART_PAUSE {
            return Err(setup("template", io::ErrorKind::NotConnected.into()));
        }
        now.started = Instant::now();
        let started = Template::start(&self.factory, &MODULES).await;
        let template = Arc::new(started.map_err(|reason| setup("template", io::Error::other(reason)))?);
        now.template = Some(Arc::clone(&template));
        Ok(template)
    }

    /// After a failure: the next zygote gets a new template.
    async fn give_up(&self, failed: &Arc<Template>) {
        let mut now = self.now.lock().await;
        if now
            .template
            .as_ref()
            .is_some_and(|template| Arc::ptr_eq(template, failed))
        {
            now.template = None;
        }
    }
}

fn setup(step: &str, source: io::Error) -> SandboxError {
    SandboxError::Setup {
        step: format!("zygote: {step}"),
        source,
    }
}

fn unexpected(event: Option<Event>) -> SandboxError {
    match event {
        Some(Event::Failed(failure)) => setup(&failure.step, io::Error::from_raw_os_error(failure.errno)),
        Some(other) => SandboxError::Protocol(format!("{other:?} for a zygote")),
        None => SandboxError::InitDied,
    }
}
