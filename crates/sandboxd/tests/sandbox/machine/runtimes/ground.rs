//! A container runtime for one test: containerd, and dockerd on it, in new namespaces (`ground.sh`). The runtimes of the
//! machine, its network and its directories are not used.

use std::error::Error;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use super::image;
use crate::support::{Outcome, slowness};

/// How long the runtimes may take to answer.
const START: Duration = Duration::from_secs(60);
/// The limit of each container, which holds programs where the daemon cannot: 512 MiB.
const MEMORY: &str = "536870912";
/// The directories of programs of the system, which not every PATH has.
const SYSTEM: &str = "/usr/local/sbin:/usr/sbin:/sbin";

/// What the script says of a group that a container left, and when it has removed everything.
const LEFT: &str = "left behind: ";
const ENDED: &str = "the ground is empty";

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Runtime {
    Docker,
    Containerd,
}

impl Runtime {
    /// The programs that it needs.
    fn programs(self) -> &'static [&'static str] {
        match self {
            Self::Docker => &[
                "unshare",
                "dockerd",
                "docker",
                "containerd",
                "containerd-shim-runc-v2",
                "runc",
            ],
            Self::Containerd => &["unshare", "ctr", "containerd", "containerd-shim-runc-v2", "runc"],
        }
    }
}

const NAMESPACES: [&str; 8] = [
    "--mount",
    "--cgroup",
    "--net",
    "--pid",
    "--ipc",
    "--fork",
    "--kill-child",
    "--mount-proc",
];

pub(super) struct Ground {
    runtime: Runtime,
    namespaces: Child,
    directory: tempfile::TempDir,
    group: String,
    /// The group of the machine, on v2 alone, that these namespaces take for the root.
    root: Option<PathBuf>,
}

impl Ground {
    /// Starts a runtime and gives it the image. `Err`: the reason why it cannot be had here.
    pub(super) fn start(runtime: Runtime) -> Result<Result<Self, String>, Box<dyn Error>> {
        if let Some(reason) = hindrance(runtime)? {
            return Ok(Err(reason));
        }
        let directory = tempfile::Builder::new().prefix("prl-ground-").tempdir()?;
        let group = format!("prl-test-{}-{runtime:?}", std::process::id()).to_lowercase();
        let root = new_root(&group)?;
        let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/sandbox/machine/runtimes/ground.sh");
        let log = fs::File::create(directory.path().join("log"))?;
        let mut command = Command::new("bash");
        command
            .arg(script)
            .arg(directory.path())
            .arg(&group)
            .arg(if runtime == Runtime::Docker { "docker" } else { "" })
            .arg(root.as_deref().unwrap_or(Path::new("")))
            .env("PATH", path())
            .stdin(Stdio::piped())
            .stdout(log.try_clone()?)
            .stderr(log);
        let mut ground = Self {
            runtime,
            namespaces: command.spawn()?,
            directory,
            group,
            root,
        };
        ground.answers()?;
        ground.load()?;
        Ok(Ok(ground))
    }

    /// Waits until the runtime answers.
    fn answers(&mut self) -> Outcome {
        let deadline = Instant::now() + START * slowness();
        loop {
            let asked = self.client().arg("version").output()?;
            if asked.status.success() {
                return Ok(());
            }
            let ended = self.namespaces.try_wait()?;
            if ended.is_some() || Instant::now() > deadline {
                let complaint = String::from_utf8_lossy(&asked.stderr).into_owned();
                return Err(format!("{:?} does not answer: {complaint}\n{}", self.runtime, self.log()).into());
            }
            std::thread::sleep(Duration::from_millis(100));
        }
    }

    fn load(&self) -> Outcome {
        let archive = self.directory.path().join("image.tar");
        image::write(&archive)?;
        let mut load = self.client();
        match self.runtime {
            Runtime::Docker => load.args(["load", "--quiet", "--input"]).arg(&archive),
            Runtime::Containerd => load.args(["images", "import"]).arg(&archive),
        };
        self.succeeds(&mut load)?;
        fs::remove_file(archive)?;
        Ok(())
    }

    /// Runs a command to its end. Returns what it wrote.
    pub(super) fn succeeds(&self, command: &mut Command) -> Result<String, Box<dyn Error>> {
        let done = command.stdin(Stdio::null()).output()?;
        let (out, errors) = (
            String::from_utf8_lossy(&done.stdout),
            String::from_utf8_lossy(&done.stderr),
        );
        if done.status.success() {
            return Ok(out.into_owned());
        }
        Err(format!("{command:?}: {}\n{out}{errors}\n{}", done.status, self.log()).into())
    }

    /// The runtime's command.
    pub(super) fn client(&self) -> Command {
        let at = |socket: &str| self.directory.path().join(socket);
        let mut client;
        match self.runtime {
            Runtime::Docker => {
                client = Command::new("docker");
                client
                    .arg("--host")
                    .arg(format!("unix://{}", at("docker.sock").display()));
                // The caller's own settings.
                client.arg("--config").arg(at("none"));
            }
            Runtime::Containerd => {
                client = Command::new("ctr");
                client.arg("--address").arg(at("containerd.sock"));
            }
        }
        client.env("PATH", path());
        client
    }

    /// The command that runs a container with these arguments, which sees `shared` and starts the image's entry point, or
    /// a shell line with the arguments that follow.
    pub(super) fn run(&self, name: &str, arguments: &[&str], shared: &Path, line: Option<&str>) -> Command {
        let mut run = self.client();
        let shared = shared.display();
        match self.runtime {
            Runtime::Docker => {
                run.args(["run", "--rm", "--name", name, "--volume", &format!("{shared}:{shared}")]);
                run.args(["--memory", MEMORY, "--memory-swap", MEMORY, "--pids-limit", "300"]);
                run.args(arguments);
                match line {
                    Some(_) => run.args(["--entrypoint", "sh", image::NAME]),
                    None => run.arg(image::NAME),
                };
            }
            Runtime::Containerd => {
                let mount = format!("type=bind,src={shared},dst={shared},options=rbind:rw");
                run.args(["run", "--rm", "--mount", &mount, "--memory-limit", MEMORY]);
                run.args(["--cgroup", &format!("/{}/{name}", self.group)]);
                run.arg("--fifo-dir").arg(self.fifos());
                run.args(arguments).args([image::NAME, name]);
                // An argument takes the place of the entry point too.
                run.arg(if line.is_some() { "sh" } else { "prl-sandboxd" });
            }
        }
        if let Some(line) = line {
            run.args(["-c", line, "sh"]);
        }
        run
    }

    /// Runs a program in a container that runs already. Returns what it wrote.
    pub(super) fn exec(&self, name: &str, program: &[&str]) -> Result<String, Box<dyn Error>> {
        let mut exec = self.client();
        match self.runtime {
            Runtime::Docker => exec.args(["exec", name]),
            Runtime::Containerd => exec
                .args(["tasks", "exec", "--exec-id", "another", "--fifo-dir"])
                .arg(self.fifos())
                .arg(name),
        };
        self.succeeds(exec.args(program))
    }

    /// What a container wrote to standard error; `None` where the runtime keeps nothing.
    pub(super) fn logs(&self, name: &str) -> Result<Option<String>, Box<dyn Error>> {
        if self.runtime == Runtime::Containerd {
            return Ok(None);
        }
        let logs = self.client().args(["logs", name]).output()?;
        Ok(Some(String::from_utf8_lossy(&logs.stderr).into_owned()))
    }

    fn fifos(&self) -> PathBuf {
        self.directory.path().join("fifo")
    }

    /// The names of all containers.
    pub(super) fn containers(&self) -> Result<String, Box<dyn Error>> {
        let list: &[&str] = match self.runtime {
            Runtime::Docker => &["ps", "--all", "--quiet"],
            Runtime::Containerd => &["containers", "list", "--quiet"],
        };
        self.succeeds(self.client().args(list))
    }

    /// Ends the runtime. Fails when a container left a group.
    pub(super) fn end(mut self) -> Outcome {
        drop(self.namespaces.stdin.take());
        self.namespaces.wait()?;
        let log = fs::read_to_string(self.directory.path().join("log"))?;
        let left: Vec<&str> = log.lines().filter(|line| line.starts_with(LEFT)).collect();
        assert!(left.is_empty() && log.contains(ENDED), "{left:#?}\n{}", self.log());
        Ok(())
    }

    fn log(&self) -> String {
        let log = fs::read_to_string(self.directory.path().join("log")).unwrap_or_default();
        let lines: Vec<&str> = log.lines().collect();
        lines[lines.len().saturating_sub(30)..].join("\n")
    }
}

impl Drop for Ground {
    /// The namespaces end when their input does.
    fn drop(&mut self) {
        drop(self.namespaces.stdin.take());
        let _reaped = self.namespaces.wait();
        if let Some(root) = &self.root {
            for group in [&root.join(format!("{}-ground", self.group)), root] {
                let _left = fs::remove_dir(group);
            }
        }
    }
}

/// Why a runtime cannot be started here; `None` where nothing speaks against it.
fn hindrance(runtime: Runtime) -> Result<Option<String>, Box<dyn Error>> {
    // SAFETY: reads an attribute of this process.
    if unsafe { libc::geteuid() } != 0 {
        return Ok(Some("only root starts a container runtime".to_owned()));
    }
    let path = path();
    let is_there = |name: &&str| std::env::split_paths(&path).any(|directory| directory.join(name).is_file());
    let missing: Vec<_> = runtime.programs().iter().filter(|name| !is_there(name)).collect();
    if !missing.is_empty() {
        return Ok(Some(format!("{runtime:?} is not installed: no {missing:?}")));
    }
    let tried = Command::new("unshare").args(NAMESPACES).arg("true").output()?;
    let complaint = String::from_utf8_lossy(&tried.stderr).into_owned();
    Ok((!tried.status.success()).then(|| format!("this machine gives no namespaces: {complaint}")))
}

fn path() -> std::ffi::OsString {
    let mut path = std::env::var_os("PATH").unwrap_or_default();
    path.push(":");
    path.push(SYSTEM);
    path
}

/// A new group of v2 for everything that the runtime does. `None` where v1 has the controllers.
fn new_root(name: &str) -> Result<Option<PathBuf>, Box<dyn Error>> {
    let mounts = fs::read_to_string("/proc/self/mounts")?;
    let of_kind = |wanted: &'static str| {
        let mut all = mounts.lines().map(|line| line.split(' ').collect::<Vec<_>>());
        all.find(|fields| fields.get(2) == Some(&wanted))
            .and_then(|fields| fields.get(1).map(PathBuf::from))
    };
    let (None, Some(point)) = (of_kind("cgroup"), of_kind("cgroup2")) else {
        return Ok(None);
    };
    let root = point.join(name);
    fs::create_dir(&root)?;
    Ok(Some(root))
}
