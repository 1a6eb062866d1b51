//! A warm Python: its template, which is replaced when it dies, and the sandboxes with one of its zygotes.

use std::collections::VecDeque;
use std::future::Future;
use std::io;
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::time::{Duration, Instant};

use prl_sandbox_guest::wire::{Event, Hatch, Order, Program, Sizes};
use tokio::sync::Mutex;

use super::profiles::Profile;
use super::template::{About, NotForked, Template};
use super::{FIRST, FIRST_BORN, check, eligible};
use crate::counts::{Birth, COUNTS, Kind};
use crate::error::SandboxError;
use crate::plan::{self, environment};
use crate::sandbox::Factory;
use crate::sandbox::Sandbox;
use crate::sandbox::{Exchange, Mux};

/// A zygote that is not ready after this time is lost.
const HATCH_DEADLINE: Duration = Duration::from_secs(15);
/// Pause between two attempts to start a template.
const RESTART_PAUSE: Duration = Duration::from_secs(1);

/// See the module.
#[derive(Debug)]
pub(crate) struct Python {
    factory: Arc<Factory>,
    profile: Profile,
    /// The environment of its programs, before their requests add to it.
    environment: Vec<String>,
    about: About,
    now: Mutex<Now>,
}

/// A zygote that waits in a sandbox for the program that it will lead.
#[derive(Debug)]
pub(crate) struct Parked {
    exchange: Exchange,
}

impl Parked {
    /// The id by which init knows it.
    pub(crate) fn id(&self) -> u64 {
        self.exchange.id
    }

    /// Whether it still waits: init reports when a zygote without a program ends.
    pub(crate) fn waits(&self) -> bool {
        self.exchange.silent()
    }
}

#[derive(Debug)]
struct Now {
    template: Option<Arc<Template>>,
    started: Instant,
}

impl Python {
    /// Starts the template. The error says why that is impossible.
    pub(crate) async fn start(factory: Arc<Factory>, profile: Profile, path: &str) -> Result<Self, String> {
        let mut environment = environment(path);
        environment.extend(profile.environment().iter().map(|entry| (*entry).to_owned()));
        let template = Template::start(&factory, &environment, &profile).await?;
        let missing = profile
            .libraries()
            .iter()
            .find(|name| !template.about.preloads.contains(name));
        if let Some(name) = missing {
            return Err(format!("{} cannot import {name}", template.about.executable));
        }
        let python = Self {
            factory,
            profile,
            environment,
            about: template.about.clone(),
            now: Mutex::new(Now {
                template: Some(Arc::new(template)),
                started: Instant::now(),
            }),
        };
        let example = python.make(true).await.map_err(|error| error.chain())?;
        let checked = check::check(&example);
        example.destroy().await;
        checked.map(|()| python)
    }

    pub(crate) fn about(&self) -> About {
        self.about.clone()
    }

    /// The reason why a command must be executed; `None` when it can run warm.
    pub(crate) fn refusal(&self, program: &Program) -> Option<&'static str> {
        eligible::refusal(program, &self.about.executable, &self.environment)
    }

    /// Variables that its programs find in addition to the usual ones.
    pub(crate) fn additions(&self) -> &'static [&'static str] {
        self.profile.environment()
    }

    /// Makes a sandbox with a zygote. A `sole` zygote becomes its one program. Any other forks more zygotes, and has
    /// already forked the first two. Limits and layers of the default sizes are made in advance, because most requests
    /// want them.
    pub(crate) async fn make(&self, sole: bool) -> Result<Sandbox, SandboxError> {
        let order = Order::Hatch(Hatch {
            sole,
            ..Hatch::default()
        });
        let mut sandbox = self.factory.make_with(0, Some((FIRST, order))).await?;
        let user = sandbox.uid.number;
        let born = within(async {
            let failed = |source| setup("talk to init", source);
            let (event, nest) = said(sandbox.events.receive().await.map_err(failed)?)?;
            expect(matches!(event, Event::Nest(_)), &event)?;
            self.fork(user, sole, nest, || ()).await?;
            let (event, _) = said(sandbox.events.receive().await.map_err(failed)?)?;
            expect(matches!(event, Event::Hatched(_)), &event)?;
            if sole {
                return Ok(());
            }
            let limits = plan::default_limits_of_group().into();
            sandbox.group.limit(limits).map_err(|source| setup("limits", source))?;
            for id in FIRST_BORN {
                let order = Order::Hatch(Hatch {
                    nursery: FIRST,
                    ahead: Some(plan::default_sizes()),
                    ..Hatch::default()
                });
                sandbox.orders.send(id, order, &[]).await.map_err(failed)?;
                let (event, _) = said(sandbox.events.receive().await.map_err(failed)?)?;
                expect(matches!(event, Event::Hatched(_)), &event)?;
            }
            Ok(())
        });
        match born.await {
            Ok(()) => Ok(sandbox),
            Err(error) => {
                sandbox.destroy().await;
                Err(error)
            }
        }
    }

    /// Puts a zygote that leads one exec into a sandbox in which other programs may run. `stuck`: as for
    /// `Template::fork`.
    pub(crate) async fn hatch(&self, mux: &Mux, user: u32, stuck: impl FnOnce()) -> Result<Parked, SandboxError> {
        within(async {
            let order = Order::Hatch(Hatch::default());
            let mut exchange = mux.call(order, Vec::new()).await?;
            let event_of = |event: Option<(Event, Vec<OwnedFd>)>| said(event.map(|(event, fds)| (0, event, fds)));
            let (event, nest) = event_of(exchange.event().await)?;
            expect(matches!(event, Event::Nest(_)), &event)?;
            self.fork(user, false, nest, stuck).await?;
            let (event, _) = event_of(exchange.event().await)?;
            expect(matches!(event, Event::Hatched(_)), &event)?;
            Ok(Parked { exchange })
        })
        .await
    }

    /// The zygotes that were made with the sandbox of this box: the nursery, and the zygotes that it has forked.
    pub(crate) fn hatched(mux: &Mux) -> Result<(Parked, VecDeque<Parked>), SandboxError> {
        let parked = |id| mux.listen(id).map(|exchange| Parked { exchange });
        let born: Result<_, _> = FIRST_BORN.into_iter().map(parked).collect();
        Ok((parked(FIRST)?, born?))
    }

    /// Makes a nursery fork a zygote, which becomes a program that is alone in the sandbox, on a layer of these sizes.
    pub(crate) async fn bear(mux: &Mux, nursery: &Parked, layer: Option<Sizes>) -> Result<Parked, SandboxError> {
        within(async {
            let order = Order::Hatch(Hatch {
                nursery: nursery.id(),
                layer,
                ..Hatch::default()
            });
            let mut exchange = mux.call(order, Vec::new()).await?;
            let (event, _) = said(exchange.event().await.map(|(event, fds)| (0, event, fds)))?;
            expect(matches!(event, Event::Hatched(_)), &event)?;
            Ok(Parked { exchange })
        })
        .await
    }

    /// Forks a zygote with the descriptors that init gave for it. It takes them, so that only the zygote holds them:
    /// when they close, the zygote has ended.
    async fn fork(&self, user: u32, sole: bool, nest: Vec<OwnedFd>, stuck: impl FnOnce()) -> Result<(), SandboxError> {
        let template = self.template().await?;
        match template.fork(user, sole, &nest, stuck).await {
            Ok(()) => Ok(()),
            Err(NotForked::Refused(error)) => Err(error),
            Err(NotForked::Silent(error)) => {
                self.give_up(&template).await;
                Err(error)
            }
        }
    }

    /// The template. It is started again when the last one is gone.
    async fn template(&self) -> Result<Arc<Template>, SandboxError> {
        let mut now = self.now.lock().await;
        if let Some(template) = &now.template {
            return Ok(Arc::clone(template));
        }
        if now.started.elapsed() < RESTART_PAUSE {
            return Err(setup("template", io::ErrorKind::NotConnected.into()));
        }
        now.started = Instant::now();
        let started = Template::start(&self.factory, &self.environment, &self.profile).await;
        let template = Arc::new(started.map_err(|reason| setup("template", io::Error::other(reason)))?);
        now.template = Some(Arc::clone(&template));
        COUNTS.template_restarted();
        Ok(template)
    }

    /// Gives up a template after a failure: the next zygote gets a new one.
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

async fn within<T>(work: impl Future<Output = Result<T, SandboxError>>) -> Result<T, SandboxError> {
    let birth = Birth::begin(Kind::Zygote);
    let done = tokio::time::timeout(HATCH_DEADLINE, work).await;
    let done = done.unwrap_or_else(|_| Err(setup("wait", io::ErrorKind::TimedOut.into())))?;
    birth.done();
    Ok(done)
}

/// The event that init sent, unless it reports a failure.
fn said(event: Option<(u64, Event, Vec<OwnedFd>)>) -> Result<(Event, Vec<OwnedFd>), SandboxError> {
    match event {
        Some((_, Event::Failed(failure), _)) => Err(setup(&failure.step, io::Error::from_raw_os_error(failure.errno))),
        Some((_, event, fds)) => Ok((event, fds)),
        None => Err(SandboxError::InitDied),
    }
}

fn expect(expected: bool, event: &Event) -> Result<(), SandboxError> {
    if expected {
        return Ok(());
    }
    Err(SandboxError::Protocol(format!("{event:?} for a zygote")))
}
