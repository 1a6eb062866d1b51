//! The daemon's side of a template interpreter: a warm Python outside every sandbox that forks zygotes into sandboxes.
//!
//! The scripts in `python/` say how it works. It never runs code of a guest. When it is gone, no sandbox is harmed;
//! only new zygotes are missing.

use std::io::{self, Read};
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::time::Duration;

use prl_sandbox_guest::defence;
use prl_sandbox_guest::filter;
use prl_sandbox_guest::sys::{pidfd_signal, pipe, set_nonblocking};
use prl_sandbox_guest::wire::{Program, Spawn};
use prl_sandbox_guest::zygotes::python::{LOADER, PARTS};
use tokio::sync::Mutex;

use super::profiles::Profile;
use crate::error::SandboxError;
use crate::sandbox::Factory;
use crate::sandbox::Packets;

/// Loading modules takes a second on a slow machine.
const START_DEADLINE: Duration = Duration::from_secs(30);
/// A fork that takes longer hangs. `FORK_DEADLINE` also includes the forks of others that come before it.
const STUCK_AFTER: Duration = Duration::from_secs(3);
const FORK_DEADLINE: Duration = Duration::from_secs(10);
const READY_BYTES: usize = 64 << 10;
const ANSWER_BYTES: usize = 512;

/// A template's description of itself.
#[derive(Clone, Debug)]
pub(crate) struct About {
    pub(crate) version: String,
    /// The path of the interpreter.
    pub(crate) executable: String,
    /// Names of the modules that it has loaded.
    pub(crate) preloads: Vec<String>,
}

/// Why a zygote was not forked.
pub(crate) enum NotForked {
    /// The template refused, and can still fork others.
    Refused(SandboxError),
    /// The template did not answer, or sent an answer without meaning.
    Silent(SandboxError),
}

/// See the module.
#[derive(Debug)]
pub(crate) struct Template {
    socket: Packets,
    /// The last request's number. It is locked while a request and its answer are on the socket.
    turn: Mutex<u64>,
    pub(crate) about: About,
    /// Its standard streams are pipes, like those of programs, and stay open.
    _stdio: [OwnedFd; 3],
    _life: Life,
}

/// Ends the process when it is dropped: a process that hangs would not notice that its socket is closed.
#[derive(Debug)]
struct Life(OwnedFd);

impl Drop for Life {
    fn drop(&mut self) {
        // An error means that the process is gone already.
        let _gone = pidfd_signal(self.0.as_fd(), libc::SIGKILL);
    }
}

impl Template {
    /// Starts a template that loads this profile's modules, as far as the machine has them. The error says why that is
    /// impossible.
    pub(crate) async fn start(factory: &Factory, environment: &[String], profile: &Profile) -> Result<Self, String> {
        tokio::time::timeout(START_DEADLINE, Self::begin(factory, environment, profile))
            .await
            .unwrap_or_else(|_| Err(format!("not ready after {} s", START_DEADLINE.as_secs())))
    }

    async fn begin(factory: &Factory, environment: &[String], profile: &Profile) -> Result<Self, String> {
        let said = |error: io::Error| error.to_string();
        let (socket, theirs) = Packets::pair().map_err(said)?;
        let (stdin_guest, stdin) = pipe().map_err(said)?;
        let (stdout, stdout_guest) = pipe().map_err(said)?;
        let (stderr, stderr_guest) = pipe().map_err(said)?;
        set_nonblocking(stderr.as_fd()).map_err(said)?;
        let spawn = Spawn {
            wanted: true,
            interpreter: Some(Program {
                command: ["python3", "-c", LOADER].map(str::to_owned).to_vec(),
                env: environment.to_vec(),
                ..Program::default()
            }),
            ..Spawn::default()
        };
        let fds = vec![stdin_guest, stdout_guest, stderr_guest, theirs];
        let (_, pidfd) = factory.order(spawn, fds).await.map_err(|error| error.chain())?;
        let life = Life(pidfd);
        let ready = introduce(&socket, profile).await;
        let ready = ready.map_err(said)?.ok_or_else(|| last_words(&stderr))?;
        let mut fields = ready.split('\0').map(str::to_owned);
        if fields.next().as_deref() != Some("ready") {
            return Err(format!("it says {ready:?}"));
        }
        Ok(Self {
            socket,
            turn: Mutex::new(0),
            about: About {
                version: fields.next().unwrap_or_default(),
                executable: fields.next().unwrap_or_default(),
                preloads: fields.collect(),
            },
            _stdio: [stdin, stdout, stderr],
            _life: life,
        })
    }

    /// Forks a zygote with the descriptors that init gave for it. A `sole` zygote will become the sandbox's only
    /// program: it enters the sandbox's groups and gives up its rights at once. Any other zygote enters the groups when
    /// it gets a program. A successful fork promises nothing: the zygote reports to init, or init notices that it is
    /// gone. `stuck` is called when the sandbox holds the template up, where its programs could stop the process that
    /// forks.
    pub(crate) async fn fork(
        &self,
        user: u32,
        sole: bool,
        nest: &[OwnedFd],
        stuck: impl FnOnce(),
    ) -> Result<(), NotForked> {
        let failed = |step: &str, source: io::Error| SandboxError::Setup {
            step: format!("zygote: {step}"),
            source,
        };
        let asked = tokio::time::timeout(FORK_DEADLINE, self.ask(user, sole, nest, stuck)).await;
        let answered = asked.unwrap_or_else(|_| Err(io::ErrorKind::TimedOut.into()));
        let answer = answered.map_err(|error| NotForked::Silent(failed("ask the template", error)))?;
        match answer.split('\0').collect::<Vec<_>>().as_slice() {
            ["forked"] => Ok(()),
            [step, errno] => {
                let errno = errno.parse().unwrap_or(libc::EIO);
                Err(NotForked::Refused(failed(step, io::Error::from_raw_os_error(errno))))
            }
            _ => {
                let nonsense = SandboxError::Protocol(format!("the template says {answer:?}"));
                Err(NotForked::Silent(nonsense))
            }
        }
    }

    /// Sends one request and waits for its answer. A late answer to an earlier request is skipped.
    async fn ask(&self, user: u32, sole: bool, nest: &[OwnedFd], stuck: impl FnOnce()) -> io::Result<String> {
        let mut turn = self.turn.lock().await;
        *turn += 1;
        let name = turn.to_string();
        let request = format!("{name}\0{user}\0{}", u8::from(sole));
        let fds: Vec<_> = nest.iter().map(AsRawFd::as_raw_fd).collect();
        self.socket.send(request.as_bytes(), &fds).await?;
        let answer = self.answer(&name);
        tokio::pin!(answer);
        match tokio::time::timeout(STUCK_AFTER, &mut answer).await {
            Ok(answer) => answer,
            Err(_) => {
                stuck();
                answer.await
            }
        }
    }

    async fn answer(&self, name: &str) -> io::Result<String> {
        loop {
            let answer = self.socket.receive(ANSWER_BYTES).await?;
            let (answer, _) = answer.ok_or(io::ErrorKind::UnexpectedEof)?;
            let answer = String::from_utf8_lossy(&answer).into_owned();
            if let Some((to, answer)) = answer.split_once('\0')
                && to == name
            {
                return Ok(answer.to_owned());
            }
        }
    }
}

/// Sends the bootstrap and the configuration. Returns the template's description when it is ready; `None` when it
/// ended.
async fn introduce(socket: &Packets, profile: &Profile) -> io::Result<Option<String>> {
    let (first, last) = filter::build_in_two()?;
    let filters = [first, last].map(|filters| filters.iter().map(hex).collect::<Vec<_>>().join(","));
    let off = defence::off().join(" ");
    let libraries = profile.libraries().join(" ");
    let configuration: Vec<&str> = filters
        .iter()
        .map(String::as_str)
        .chain([off.as_str(), libraries.as_str()])
        .chain(profile.modules())
        .collect();
    for (name, source) in PARTS {
        socket.send(format!("{name}\0{source}").as_bytes(), &[]).await?;
    }
    socket.send(configuration.join("\0").as_bytes(), &[]).await?;
    let ready = socket.receive(READY_BYTES).await?;
    Ok(ready.map(|(bytes, _)| String::from_utf8_lossy(&bytes).into_owned()))
}

/// A filter's instructions in the kernel's format, in hexadecimal.
fn hex(program: &seccompiler::BpfProgram) -> String {
    program
        .iter()
        .flat_map(|one| {
            let [a, b] = one.code.to_ne_bytes();
            let [c, d, e, f] = one.k.to_ne_bytes();
            [a, b, one.jt, one.jf, c, d, e, f]
        })
        .map(|byte| format!("{byte:02x}"))
        .collect()
}

/// The error output of an interpreter that ended.
fn last_words(stderr: &OwnedFd) -> String {
    let mut text = String::new();
    let read = stderr
        .try_clone()
        .and_then(|fd| std::fs::File::from(fd).take(4096).read_to_string(&mut text));
    let last = text.lines().last().unwrap_or("without a message; is there a python3?");
    match read {
        Ok(_) => format!("it ended: {last}"),
        Err(error) => format!("it ended: {last} ({error})"),
    }
}
