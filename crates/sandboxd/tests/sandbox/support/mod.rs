//! A new daemon for each test, a client for it, and checks of the machine afterwards.

pub(crate) mod census;
pub(crate) mod ground;
pub(crate) mod load;
pub(crate) mod tcp;

use std::collections::BTreeSet;
use std::error::Error;
use std::fs;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use prl_sandbox_proto::sandboxes_client::SandboxesClient;
use prl_sandbox_proto::{
    Cause, HealthRequest, Isolation, Limits, MAX_MESSAGE_BYTES, Output, RunOnceRequest, RunOnceResult,
};
use tonic::transport::{Channel, Endpoint};

pub(crate) type Outcome = Result<(), Box<dyn Error>>;

/// How long the machine may take to return to its state.
pub(crate) const SETTLE: Duration = Duration::from_secs(10);

/// The variable that says how many times slower than usual an emulated machine is.
pub(crate) const SLOWNESS: &str = "PRL_TEST_SLOWNESS";

/// See `SLOWNESS`.
pub(crate) fn slowness() -> u32 {
    let configured = std::env::var(SLOWNESS).ok().and_then(|text| text.parse().ok());
    configured.unwrap_or(1)
}

/// The users of sandboxes: each sandbox has two.
const SANDBOX_USERS: std::ops::Range<u32> = 1_879_048_192..1_879_048_192 + 2 * 16_384;

/// Prints why a test proves nothing here.
#[expect(clippy::print_stderr, reason = "a skipped test says so")]
pub(crate) fn skip(reason: &str) {
    eprintln!("skipped: {reason}");
}

pub(crate) struct Daemon {
    child: Child,
    pub(crate) socket: PathBuf,
    pub(crate) announced: serde_json::Value,
    _directory: tempfile::TempDir,
}

impl Daemon {
    /// Starts a daemon; `None`, with the reason printed, where the machine cannot isolate at all.
    pub(crate) fn start(arguments: &[&str]) -> Result<Option<Self>, Box<dyn Error>> {
        Self::start_with(arguments, &[])
    }

    /// Starts a daemon with more variables in its environment.
    pub(crate) fn start_with(arguments: &[&str], environment: &[(&str, &str)]) -> Result<Option<Self>, Box<dyn Error>> {
        let mut command = Command::new(env!("CARGO_BIN_EXE_prl-sandboxd"));
        command.envs(environment.iter().copied()).stdin(Stdio::null());
        let Some(daemon) = Self::start_by(command, tempfile::tempdir()?, arguments)? else {
            return Ok(None);
        };
        if daemon.announced["isolation"] == "process" && !arguments.contains(&"--tier") {
            skip("this machine gives no namespaces; the process tier has separate tests");
            return Ok(None);
        }
        Ok(Some(daemon))
    }

    /// Starts a daemon by a command, which further arguments are added to. `None` as in `start`, except that any tier
    /// is enough.
    pub(crate) fn start_by(
        mut command: Command,
        directory: tempfile::TempDir,
        arguments: &[&str],
    ) -> Result<Option<Self>, Box<dyn Error>> {
        let socket = directory.path().join("sandboxd.sock");
        let mut child = command
            .arg("--socket")
            .arg(&socket)
            .args(arguments)
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()?;
        let mut line = String::new();
        let stdout = child.stdout.take().ok_or("no standard output")?;
        BufReader::new(stdout).read_line(&mut line)?;
        if line.is_empty() {
            let mut complaint = String::new();
            let stderr = child.stderr.take().ok_or("no standard error")?;
            std::io::Read::read_to_string(&mut BufReader::new(stderr), &mut complaint)?;
            child.wait()?;
            if complaint.contains("PRL_SANDBOX_SETUP") {
                skip(&format!("this machine cannot make sandboxes: {}", complaint.trim()));
                return Ok(None);
            }
            return Err(format!("the daemon did not start: {complaint}").into());
        }
        let announced: serde_json::Value = serde_json::from_str(&line)?;
        Ok(Some(Self {
            child,
            socket,
            announced,
            _directory: directory,
        }))
    }

    pub(crate) fn pid(&self) -> u32 {
        self.child.id()
    }

    pub(crate) async fn client(&self) -> Result<Client, Box<dyn Error>> {
        connect(&self.socket).await
    }

    pub(crate) fn is_full(&self) -> bool {
        self.announced["isolation"] == "full"
    }

    /// Whether each of its boxes has separate users.
    pub(crate) fn is_root(&self) -> bool {
        // SAFETY: reads an attribute of this process.
        unsafe { libc::geteuid() == 0 }
    }

    /// Asks it to stop and waits for it.
    pub(crate) fn stop(mut self) -> Outcome {
        // SAFETY: our own child, not reaped yet.
        unsafe { libc::kill(self.child.id() as i32, libc::SIGTERM) };
        let status = self.child.wait()?;
        assert!(status.success(), "the daemon ended with {status}");
        Ok(())
    }

    /// Waits until it ends by itself.
    pub(crate) async fn ended(&mut self) -> Result<ExitStatus, Box<dyn Error>> {
        let deadline = Instant::now() + SETTLE * slowness();
        loop {
            if let Some(status) = self.child.try_wait()? {
                return Ok(status);
            }
            if Instant::now() > deadline {
                return Err("the daemon goes on".into());
            }
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    }

    /// Kills it as the kernel would.
    pub(crate) fn kill(&mut self) -> Outcome {
        self.child.kill()?;
        self.child.wait()?;
        Ok(())
    }
}

impl Drop for Daemon {
    fn drop(&mut self) {
        let _ended = self.child.kill();
        let _reaped = self.child.wait();
    }
}

pub(crate) type Client = SandboxesClient<Channel>;

pub(crate) async fn channel(socket: &Path) -> Result<Channel, Box<dyn Error>> {
    Ok(Endpoint::from_shared(format!("unix:{}", socket.display()))?
        .connect()
        .await?)
}

pub(crate) async fn connect(socket: &Path) -> Result<Client, Box<dyn Error>> {
    Ok(SandboxesClient::new(channel(socket).await?)
        .max_decoding_message_size(MAX_MESSAGE_BYTES)
        .max_encoding_message_size(MAX_MESSAGE_BYTES))
}

/// Limits that are small enough that no bomb hurts the machine.
pub(crate) fn tight() -> Limits {
    Limits {
        wall_ms: Some(5000 * u64::from(slowness())),
        cpu_ms: Some(3000 * u64::from(slowness())),
        memory_bytes: Some(128 << 20),
        processes: Some(32),
        disk_bytes: Some(16 << 20),
        inodes: Some(2000),
        output_bytes: Some(64 << 10),
        output_kill_bytes: Some(8 << 20),
        ..Limits::default()
    }
}

pub(crate) fn command(argv: &[&str]) -> RunOnceRequest {
    RunOnceRequest {
        command: argv.iter().map(|text| (*text).to_owned()).collect(),
        limits: Some(tight()),
        min_isolation: Isolation::Any.into(),
        ..RunOnceRequest::default()
    }
}

pub(crate) fn text(output: &Option<Output>) -> String {
    let output = output.clone().unwrap_or_default();
    format!(
        "{}{}",
        String::from_utf8_lossy(&output.head),
        String::from_utf8_lossy(&output.tail)
    )
}

pub(crate) fn cause(result: &RunOnceResult) -> Cause {
    Cause::try_from(result.cause).unwrap_or_default()
}

/// A result as text for people.
pub(crate) fn describe(result: &RunOnceResult) -> String {
    format!(
        "{:?} ({}) code {:?} signal {:?} limits {:?}\nstdout: {}\nstderr: {}",
        cause(result),
        result.reason,
        result.exit_code,
        result.signal,
        result.limits_hit().collect::<Vec<_>>(),
        text(&result.stdout).chars().take(2000).collect::<String>(),
        text(&result.stderr).chars().take(2000).collect::<String>()
    )
}

/// The parts of sandboxes that are on the machine: processes of sandbox users, control groups of a daemon, mounts,
/// temporary files.
pub(crate) fn traces(daemon_pid: u32) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    for entry in fs::read_dir("/proc").into_iter().flatten().flatten() {
        let name = entry.file_name().to_string_lossy().into_owned();
        let Ok(status) = fs::read_to_string(entry.path().join("status")) else {
            continue;
        };
        let field = |key: &str| {
            status
                .lines()
                .find_map(|line| line.strip_prefix(key))
                .unwrap_or("")
                .trim()
                .to_owned()
        };
        let uid: u32 = field("Uid:")
            .split_whitespace()
            .next()
            .and_then(|text| text.parse().ok())
            .unwrap_or(0);
        let cgroups = fs::read_to_string(entry.path().join("cgroup")).unwrap_or_default();
        // Other daemons of the machine have the same users, and so have those in containers of `machine::runtimes`.
        let nobodys =
            SANDBOX_USERS.contains(&uid) && !["prl-sandboxd-", "prl-test-"].iter().any(|one| cgroups.contains(one));
        if nobodys || cgroups.contains(&format!("prl-sandboxd-{daemon_pid}-")) {
            found.insert(format!("process {name} {}", field("Name:")));
        }
    }
    groups(Path::new("/sys/fs/cgroup"), 0, daemon_pid, &mut found);
    found
}

fn groups(path: &Path, depth: usize, daemon_pid: u32, found: &mut BTreeSet<String>) {
    for entry in fs::read_dir(path).into_iter().flatten().flatten() {
        if !entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            continue;
        }
        let name = entry.file_name().to_string_lossy().into_owned();
        if name.starts_with(&format!("prl-sandboxd-{daemon_pid}-")) {
            for group in fs::read_dir(entry.path()).into_iter().flatten().flatten() {
                // The group of all inits exists as long as the daemon.
                if group.file_type().is_ok_and(|kind| kind.is_dir()) && group.file_name() != "inits" {
                    found.insert(format!("group {}", group.path().display()));
                }
            }
            found.insert(format!("directory {}", entry.path().display()));
        } else if depth < 5 {
            groups(&entry.path(), depth + 1, daemon_pid, found);
        }
    }
}

/// Waits until the machine satisfies `wanted`, or fails and says what is left.
pub(crate) async fn settles(daemon_pid: u32, wanted: impl Fn(&BTreeSet<String>) -> bool) -> Outcome {
    let deadline = Instant::now() + SETTLE * slowness();
    loop {
        let found = traces(daemon_pid);
        if wanted(&found) {
            return Ok(());
        }
        if Instant::now() > deadline {
            return Err(format!("left behind: {found:#?}").into());
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

/// Waits until the condition is true.
pub(crate) async fn until(what: &str, mut true_now: impl AsyncFnMut() -> Result<bool, Box<dyn Error>>) -> Outcome {
    let deadline = Instant::now() + Duration::from_secs(10) * slowness();
    while !true_now().await? {
        if Instant::now() > deadline {
            return Err(format!("never {what}").into());
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    Ok(())
}

/// How many runs go on.
pub(crate) async fn running(client: &mut Client) -> Result<u32, Box<dyn Error>> {
    Ok(client.health(HealthRequest {}).await?.into_inner().running)
}
