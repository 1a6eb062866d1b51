//! The service of held sandboxes.

mod accepting;
mod making;

use std::sync::Arc;
use std::time::{Duration, Instant};

use prl_sandbox_proto::boxes_server::Boxes;
use prl_sandbox_proto::{
    ArchiveReply, Arrival, AttachRequest, Box as BoxInfo, BoxRequest, Chunk, CloseReply, CloseRequest, CreateRequest,
    DeleteSnapshotRequest, DialRequest, Directory, Empty, EvaluateReply, EvaluateRequest, ExecRequest, FileInfo,
    InputReply, InputRequest, ListDirectoryRequest, ListReply, ListRequest, MoveRequest, PathRequest, Piece, Process,
    ProcessEvent, ProcessList, ReadFileRequest, RemoveRequest, RenewReply, RenewRequest, ResizeRequest, RunOnceResult,
    SetLifetimeRequest, SignalRequest, SnapshotInfo, SnapshotList, SnapshotRequest, StartRequest, WatchEvent,
    WatchRequest, WriteFileRequest,
};
use tokio::sync::mpsc;
use tokio_stream::wrappers::ReceiverStream;
use tonic::codegen::BoxStream;
use tonic::{Request, Response, Status, Streaming};

use making::{check, make, shared};

use super::calls::InMemory;
use super::demand;
use super::once::{Publisher, once};
use crate::boxes::{Call, Claim, End, SandboxBox, attach, dial, exec, files, processes, repl};
use crate::egress::add_missing;
use crate::error::SandboxError;
use crate::plan;
use crate::runs::keys::mark;
use crate::runs::raised;
use crate::state::{DEFAULT_QUEUE, DaemonState};
use crate::tenants::Tenant;

const MIN_LEASE_MS: u64 = 100;
/// How long `Close` waits until the boxes were taken apart.
const CLOSE_PATIENCE: Duration = Duration::from_secs(10);
/// How long a caller that streams may take to name its box.
const FIRST_MESSAGE: Duration = Duration::from_secs(10);
const MAX_ID_BYTES: usize = 128;
/// How many parts of a stream may wait for a slow reader.
const WAITING_CHUNKS: usize = 4;

/// The service itself: a handle on the daemon's state.
#[derive(Clone, Debug)]
pub(crate) struct BoxService(pub(crate) Arc<DaemonState>);

impl BoxService {
    /// The box that a call names, held for the call.
    fn named(&self, tenant: &Tenant, id: &str) -> Result<Call, SandboxError> {
        self.0.boxes.find(&tenant.scoped(id), id)?.call()
    }

    /// Does the same for a request of one message.
    fn opened<T>(&self, request: Request<T>, id: impl Fn(&T) -> &String) -> Result<(Call, T), SandboxError> {
        let tenant = Tenant::of(&request);
        let request = request.into_inner();
        Ok((self.named(&tenant, id(&request))?, request))
    }

    fn describe(&self, held: &SandboxBox) -> BoxInfo {
        let lease = held.lease();
        let millis = |duration: Duration| u64::try_from(duration.as_millis()).unwrap_or(u64::MAX);
        BoxInfo {
            id: held.request.id.clone(),
            labels: held.request.labels.clone(),
            created_at: held.created_at,
            lease_ms: millis(lease.length()),
            remaining_ms: lease.remaining(Instant::now()).map(millis),
            isolation: held.isolation.into(),
            instance_id: self.0.instance.clone(),
            runtime: match held.request.runtime.as_str() {
                "" => "exec".to_owned(),
                named => named.to_owned(),
            },
        }
    }
}

/// Checks an id that a caller has chosen.
fn check_id(what: &str, id: &str) -> Result<(), SandboxError> {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.');
    if id.is_empty() || id.len() > MAX_ID_BYTES || !id.bytes().all(plain) {
        return Err(SandboxError::Invalid(format!(
            "the id of a {what} is 1 to {MAX_ID_BYTES} letters, digits, '-', '_', '.', not {id:?}"
        )));
    }
    Ok(())
}

#[tonic::async_trait]
impl Boxes for BoxService {
    async fn create(&self, request: Request<CreateRequest>) -> Result<Response<BoxInfo>, Status> {
        let tenant = Tenant::of(&request);
        let counted = InMemory::of(&request);
        let request = request.into_inner();
        let state = &self.0;
        check(&request)?;
        demand(&state.probe, request.min_isolation)?;
        let name = tenant.scoped(&request.id);
        let mut plain = request.clone();
        // The time that the request may wait does not change the box.
        plain.queue_ms = None;
        let maps = [std::mem::take(&mut plain.labels), std::mem::take(&mut plain.env)];
        let mark = mark(&plain, maps);
        let claim = state.boxes.claim(&name, &request.id, mark)?;
        let mut made = match claim {
            Claim::Live(held) => {
                let held = held.call()?;
                return Ok(Response::new(self.describe(&held)));
            }
            Claim::Making(made) => made,
            Claim::New(sender) => {
                let made = sender.subscribe();
                // The snapshot is kept from here on, even when it is deleted meanwhile.
                let wanted = Some(&request.from_snapshot).filter(|id| !id.is_empty());
                let snapshot = wanted
                    .map(|id| state.snapshots.find(&tenant.scoped(id), id))
                    .transpose();
                let state = Arc::clone(state);
                tokio::spawn(async move {
                    let draining = *state.draining.borrow();
                    let ready = if draining {
                        Err(SandboxError::Draining)
                    } else {
                        snapshot
                    };
                    let made = match ready {
                        Ok(snapshot) => make(state, name, mark, request, snapshot).await,
                        Err(error) => {
                            let made = Err(Arc::new(error));
                            state.boxes.made(&name, mark, &made);
                            made
                        }
                    };
                    drop(counted);
                    sender.send_replace(Some(made));
                });
                made
            }
        };
        let made = made.wait_for(Option::is_some).await;
        let made = made
            .map_err(|_| SandboxError::Protocol("a box's task ended early".to_owned()))?
            .clone();
        match made {
            Some(Ok(held)) => {
                held.renew();
                Ok(Response::new(self.describe(&held)))
            }
            Some(Err(error)) => Err(shared(&error).into()),
            None => Err(SandboxError::Protocol("a box was neither made nor refused".to_owned()).into()),
        }
    }

    async fn renew(&self, request: Request<RenewRequest>) -> Result<Response<RenewReply>, Status> {
        let tenant = Tenant::of(&request);
        let mut gone = Vec::new();
        for id in request.into_inner().ids {
            // Beginning and ending a call renews the lease.
            if self.named(&tenant, &id).is_err() {
                gone.push(id);
            }
        }
        Ok(Response::new(RenewReply { gone }))
    }

    async fn set_lifetime(&self, request: Request<SetLifetimeRequest>) -> Result<Response<BoxInfo>, Status> {
        let (held, request) = self.opened(request, |request| &request.r#box)?;
        held.set_lifetime(request.lifetime_ms.map(Duration::from_millis));
        Ok(Response::new(self.describe(&held)))
    }

    async fn list(&self, request: Request<ListRequest>) -> Result<Response<ListReply>, Status> {
        let tenant = Tenant::of(&request);
        let found = self.0.boxes.list(&tenant.prefix(), &request.into_inner().labels);
        let live = found.iter().filter(|(_, held)| held.ended().is_none());
        let boxes = live.map(|(_, held)| self.describe(held)).collect();
        Ok(Response::new(ListReply { boxes }))
    }

    async fn close(&self, request: Request<CloseRequest>) -> Result<Response<CloseReply>, Status> {
        let tenant = Tenant::of(&request);
        let request = request.into_inner();
        let mut found: Vec<Arc<SandboxBox>> = Vec::new();
        if !request.labels.is_empty() {
            let labelled = self.0.boxes.list(&tenant.prefix(), &request.labels);
            found.extend(labelled.into_iter().map(|(_, held)| held));
        }
        for id in &request.ids {
            if let Ok(held) = self.0.boxes.find(&tenant.scoped(id), id)
                && !found.iter().any(|known| Arc::ptr_eq(known, &held))
            {
                found.push(held);
            }
        }
        found.retain(|held| held.ended().is_none());
        for held in &found {
            held.end_with(End::Closed);
        }
        // They end together. A box that takes longer is closed too.
        let gone = async {
            for held in &found {
                held.gone().await;
            }
        };
        if tokio::time::timeout(CLOSE_PATIENCE, gone).await.is_err() {
            tracing::warn!("boxes take longer than {} s to end", CLOSE_PATIENCE.as_secs());
        }
        let closed = found.iter().map(|held| held.request.id.clone()).collect();
        Ok(Response::new(CloseReply { closed }))
    }

    async fn exec(&self, request: Request<ExecRequest>) -> Result<Response<RunOnceResult>, Status> {
        let tenant = Tenant::of(&request);
        let counted = InMemory::of(&request);
        let request = request.into_inner();
        let state = &self.0;
        let held = self.named(&tenant, &request.r#box)?;
        let mut plan = plan_exec(&request, &held, state)?;
        plan.stdin = InMemory::tie(counted, plan.stdin);
        let (mut key, mut fingerprint) = (String::new(), 0);
        if !request.idempotency_key.is_empty() {
            key = tenant.key(&request.r#box, &request.idempotency_key);
            let mut plain = request.clone();
            let env = std::mem::take(&mut plain.env);
            fingerprint = mark(&plain, [env]);
        }
        let running = Arc::clone(&held);
        let python = state.warm.python(&plan);
        let share = state.results.of(&tenant);
        let results = share.clone();
        let work = |mut cancel, publisher: Publisher| async move {
            let room = tokio::select! {
                room = results.room(DEFAULT_QUEUE) => room,
                // The exec was cancelled: it ends as soon as it begins.
                () = raised(&mut cancel) => Ok(()),
            };
            publisher.publish(match room {
                Ok(()) => Ok(Arc::new(exec::exec(&running, plan, python, cancel).await)),
                Err(error) => Err(Arc::new(error)),
            });
        };
        Ok(once(state, &share, key, fingerprint, work).await?)
    }

    async fn start(&self, request: Request<StartRequest>) -> Result<Response<Process>, Status> {
        let tenant = Tenant::of(&request);
        let counted = InMemory::of(&request);
        let request = request.into_inner();
        let exec = request.exec.clone().unwrap_or_default();
        check_id("process", &request.process)?;
        let held = self.named(&tenant, &exec.r#box)?;
        let mut exec = exec;
        if !request.repl.is_empty() {
            exec.command = interpreter(&request)?;
        }
        let mut plan = plan_exec(&exec, &held, &self.0)?;
        plan.stdin = InMemory::tie(counted, plan.stdin);
        let mut plain = request.clone();
        let env = plain.exec.as_mut().map(|exec| std::mem::take(&mut exec.env));
        let mark = mark(&plain, [env.unwrap_or_default()]);
        // When the caller goes away, the start is still completed.
        let starting = tokio::spawn({
            let held = Arc::clone(&held);
            let python = self.0.warm.python(&plan);
            async move { processes::start(&held, &request, mark, plan, python).await }
        });
        let process = starting
            .await
            .map_err(|error| SandboxError::Protocol(error.to_string()))??;
        Ok(Response::new(process.describe(&exec.r#box)))
    }

    async fn list_processes(&self, request: Request<BoxRequest>) -> Result<Response<ProcessList>, Status> {
        let tenant = Tenant::of(&request);
        let id = request.into_inner().r#box;
        let held = self.named(&tenant, &id)?;
        let processes = held.processes.list().iter().map(|one| one.describe(&id)).collect();
        Ok(Response::new(ProcessList { processes }))
    }

    type AttachStream = BoxStream<ProcessEvent>;

    async fn attach(&self, request: Request<AttachRequest>) -> Result<Response<Self::AttachStream>, Status> {
        let (held, request) = self.opened(request, |request| &request.r#box)?;
        let process = held.processes.find(&request.process)?;
        let (sender, events) = mpsc::channel(WAITING_CHUNKS);
        tokio::spawn(attach::attach(held, process, request, sender));
        Ok(Response::new(Box::pin(ReceiverStream::new(events))))
    }

    async fn input(&self, request: Request<InputRequest>) -> Result<Response<InputReply>, Status> {
        let counted = InMemory::of(&request);
        let (held, request) = self.opened(request, |request| &request.r#box)?;
        let process = held.processes.find(&request.process)?;
        let data = InMemory::tie(counted, request.data);
        let accepted = process.input.append(request.offset, data, request.end).await?;
        Ok(Response::new(InputReply { accepted }))
    }

    async fn signal_process(&self, request: Request<SignalRequest>) -> Result<Response<Empty>, Status> {
        let (held, request) = self.opened(request, |request| &request.r#box)?;
        let process = held.processes.find(&request.process)?;
        process
            .signal(&held, i32::try_from(request.signal).unwrap_or(0))
            .await?;
        Ok(Response::new(Empty {}))
    }

    async fn resize_pty(&self, request: Request<ResizeRequest>) -> Result<Response<Empty>, Status> {
        let (held, request) = self.opened(request, |request| &request.r#box)?;
        held.processes
            .find(&request.process)?
            .resize(request.pty.unwrap_or_default())?;
        Ok(Response::new(Empty {}))
    }

    async fn evaluate(&self, request: Request<EvaluateRequest>) -> Result<Response<EvaluateReply>, Status> {
        let results = self.0.results.of(&Tenant::of(&request));
        let (held, request) = self.opened(request, |request| &request.r#box)?;
        let process = held.processes.find(&request.process)?;
        results.room(DEFAULT_QUEUE).await?;
        let reply = repl::evaluate(&held, &process, &request.code, request.limits).await?;
        Ok(results.counted(reply))
    }

    type ReadFileStream = BoxStream<Chunk>;

    async fn read_file(&self, request: Request<ReadFileRequest>) -> Result<Response<Self::ReadFileStream>, Status> {
        let (held, request) = self.opened(request, |request| &request.r#box)?;
        let (sender, chunks) = mpsc::channel(WAITING_CHUNKS);
        files::read(held, request, sender).await?;
        Ok(Response::new(Box::pin(ReceiverStream::new(chunks))))
    }

    async fn write_file(&self, request: Request<Streaming<WriteFileRequest>>) -> Result<Response<FileInfo>, Status> {
        let tenant = Tenant::of(&request);
        let mut stream = request.into_inner();
        let first = files::first(&mut stream).await?;
        let held = self.named(&tenant, &first.r#box)?;
        Ok(Response::new(files::write(&held, first, stream).await?))
    }

    async fn stat(&self, request: Request<PathRequest>) -> Result<Response<FileInfo>, Status> {
        let (held, request) = self.opened(request, |request| &request.r#box)?;
        Ok(Response::new(files::stat(&held, request).await?))
    }

    async fn list_directory(&self, request: Request<ListDirectoryRequest>) -> Result<Response<Directory>, Status> {
        let (held, request) = self.opened(request, |request| &request.r#box)?;
        Ok(Response::new(files::list(&held, request).await?))
    }

    async fn make_directory(&self, request: Request<PathRequest>) -> Result<Response<FileInfo>, Status> {
        let (held, request) = self.opened(request, |request| &request.r#box)?;
        Ok(Response::new(files::make_directory(&held, request).await?))
    }

    async fn r#move(&self, request: Request<MoveRequest>) -> Result<Response<FileInfo>, Status> {
        let (held, request) = self.opened(request, |request| &request.r#box)?;
        Ok(Response::new(files::move_to(&held, request).await?))
    }

    async fn remove(&self, request: Request<RemoveRequest>) -> Result<Response<Empty>, Status> {
        let (held, request) = self.opened(request, |request| &request.r#box)?;
        files::remove(&held, request).await?;
        Ok(Response::new(Empty {}))
    }

    type WatchStream = BoxStream<WatchEvent>;

    async fn watch(&self, request: Request<WatchRequest>) -> Result<Response<Self::WatchStream>, Status> {
        let (held, request) = self.opened(request, |request| &request.r#box)?;
        let (sender, events) = mpsc::channel(WAITING_CHUNKS);
        files::watch(held, request, sender).await?;
        Ok(Response::new(Box::pin(ReceiverStream::new(events))))
    }

    type ReadArchiveStream = BoxStream<Chunk>;

    async fn read_archive(&self, request: Request<PathRequest>) -> Result<Response<Self::ReadArchiveStream>, Status> {
        let (held, request) = self.opened(request, |request| &request.r#box)?;
        let (sender, chunks) = mpsc::channel(WAITING_CHUNKS);
        files::read_archive(held, request, sender).await?;
        Ok(Response::new(Box::pin(ReceiverStream::new(chunks))))
    }

    async fn write_archive(
        &self,
        request: Request<Streaming<WriteFileRequest>>,
    ) -> Result<Response<ArchiveReply>, Status> {
        let tenant = Tenant::of(&request);
        let mut stream = request.into_inner();
        let first = files::first(&mut stream).await?;
        let held = self.named(&tenant, &first.r#box)?;
        Ok(Response::new(files::write_archive(&held, first, stream).await?))
    }

    async fn snapshot(&self, request: Request<SnapshotRequest>) -> Result<Response<SnapshotInfo>, Status> {
        let tenant = Tenant::of(&request);
        let (held, request) = self.opened(request, |request| &request.r#box)?;
        check_id("snapshot", &request.id)?;
        let name = tenant.scoped(&request.id);
        let info = SnapshotInfo {
            id: request.id,
            labels: request.labels,
            ..SnapshotInfo::default()
        };
        Ok(Response::new(self.0.snapshots.take(&held, &name, info).await?))
    }

    async fn list_snapshots(&self, request: Request<ListRequest>) -> Result<Response<SnapshotList>, Status> {
        let tenant = Tenant::of(&request);
        let snapshots = self.0.snapshots.list(&tenant.prefix(), &request.into_inner().labels);
        Ok(Response::new(SnapshotList { snapshots }))
    }

    async fn delete_snapshot(&self, request: Request<DeleteSnapshotRequest>) -> Result<Response<Empty>, Status> {
        let tenant = Tenant::of(&request);
        let id = request.into_inner().id;
        self.0.snapshots.delete(&tenant.scoped(&id), &id)?;
        Ok(Response::new(Empty {}))
    }

    type DialStream = BoxStream<Chunk>;

    async fn dial(&self, request: Request<Streaming<DialRequest>>) -> Result<Response<Self::DialStream>, Status> {
        let tenant = Tenant::of(&request);
        let mut incoming = request.into_inner();
        let first = tokio::time::timeout(FIRST_MESSAGE, incoming.message()).await;
        let first = first.map_err(|_| Status::deadline_exceeded("no first message"))??;
        let first = first.ok_or_else(|| SandboxError::Invalid("a dial without a message".to_owned()))?;
        let held = self.named(&tenant, &first.r#box)?;
        let stream = dial::connect(&held, first.port).await?;
        let chunks = dial::relay(held, stream, first.data, incoming);
        Ok(Response::new(Box::pin(chunks)))
    }

    type AcceptStream = BoxStream<Arrival>;

    async fn accept(&self, request: Request<BoxRequest>) -> Result<Response<Self::AcceptStream>, Status> {
        let (held, _) = self.opened(request, |request| &request.r#box)?;
        let (sender, arrivals) = mpsc::channel(WAITING_CHUNKS);
        accepting::accept(Arc::clone(&held), sender)?;
        Ok(Response::new(Box::pin(ReceiverStream::new(arrivals))))
    }

    type CarryStream = BoxStream<Piece>;

    async fn carry(&self, request: Request<Streaming<Piece>>) -> Result<Response<Self::CarryStream>, Status> {
        let tenant = Tenant::of(&request);
        let mut incoming = request.into_inner();
        let first = tokio::time::timeout(FIRST_MESSAGE, incoming.message()).await;
        let first = first.map_err(|_| Status::deadline_exceeded("no first message"))??;
        let first = first.ok_or_else(|| SandboxError::Invalid("a carry without a message".to_owned()))?;
        let held = self.named(&tenant, &first.r#box)?;
        let pieces = accepting::carry(&held, &first, incoming)?;
        Ok(Response::new(Box::pin(pieces)))
    }
}

/// The command of the interpreter that a request names by `repl`.
fn interpreter(request: &StartRequest) -> Result<Vec<String>, SandboxError> {
    let command = request.exec.as_ref().map_or(0, |exec| exec.command.len());
    if command > 0 || request.pty.is_some() {
        return Err(SandboxError::Invalid(
            "a repl has neither a command nor a pty".to_owned(),
        ));
    }
    repl::command(&request.repl)
}

/// Checks an exec for this box on this machine. `start.zygote` says whether it is to run warm; the box's standby
/// chooses the zygote.
fn plan_exec(request: &ExecRequest, held: &SandboxBox, state: &DaemonState) -> Result<plan::Plan, SandboxError> {
    let mut plan = plan::plan_exec(request, &held.request, state.terms())?;
    if plan.start.program.nobody && !held.has_two_users() {
        return Err(SandboxError::Unsupported("user `nobody` where the daemon is not root"));
    }
    add_missing(&mut plan.start.program.env, &held.network_variables());
    // A box without a runtime executes commands that ask for none.
    let runtimes = [&request.runtime, &held.request.runtime];
    let runtime = runtimes.into_iter().find(|name| !name.is_empty());
    plan.runtime = runtime.map_or_else(|| "exec".to_owned(), String::clone);
    plan.insists = !request.runtime.is_empty();
    state.warm.choose(&mut plan)?;
    Ok(plan)
}
