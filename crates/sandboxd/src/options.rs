//! The daemon's command line.

use std::net::{Ipv4Addr, SocketAddr};
use std::path::PathBuf;
use std::time::Duration;

use prl_sandbox_guest::template::covered;

use crate::egress::{Grants, Service};
use crate::error::SandboxError;
use crate::images::{Source, default_cache};
use crate::isolation::{Tier, Wanted};
use crate::warm::Profiles;

/// The address that no other machine can reach.
const LOOPBACK: Ipv4Addr = Ipv4Addr::LOCALHOST;

/// Printed for `--help`.
pub(crate) const HELP: &str = "usage: prl-sandboxd [--socket PATH] [--listen ADDRESS:PORT --token-file PATH]
  --socket PATH        serve on a Unix socket of mode 0600
  --listen ADDR:PORT   serve on TCP; every call needs a bearer token, or a client certificate, or both
  --token-file PATH    lines TENANT:TOKEN, or one token; or set PRL_SANDBOX_TOKEN to one token
  --tls-cert PATH      encrypt TCP with this certificate (PEM)
  --tls-key PATH       and its key (PEM)
  --tls-client-ca PATH refuse clients without a certificate of this authority (PEM)
  --max-connections N  connections at a time (default 1024)
  --drain-ms N         how long runs may go on when the daemon stops (default 5000)
  --max-running N      runs at a time (default 4 per core, at least 8)
  --max-queued N       runs that may wait (default 4096)
  --max-held N         boxes held at a time (default 1000)
  --journal DIR        remember there which keys were begun, for the daemon that is started after this one; one daemon
                       at a time; default: nowhere; then only a call that repeats the instance_id reports the restart
  --snapshot-bytes N   bytes of all snapshots together (default 4 GiB)
  --result-bytes N     bytes of results that their callers have not read yet, all together (default 1 GiB); while
                       there are more, no program is begun
  --park N             sandboxes made in advance (default 2 per core)
  --warm NAME=N,...    how many sandboxes wait with a Python that has started: `python`, `numpy`, or a profile of
                       --preload; `node`: with a Node that has started, N for code and N for files, each about 30 MB
                       (default: python, 2 per core; --park alone: none)
  --preload NAME=MODULE,...  a profile: a warm Python that has loaded these modules; may be given again
  --python PATH        the Python that programs find first as python3, warm or not; it and its virtual environment are shown
                       to them, read-only (default: that of the sandboxes' PATH)
  --allow-forward TO   on TCP: let callers forward to this service (host:port, unix:/path) or allow this private
                       address (address:port); may be given again. Callers of the Unix socket alone may open anything
  --readable DIR       show one more directory of the machine, read-only; may be given again
  --image NAME=DIR     a root file system that requests may name: an unpacked directory or an OCI layout; may be given again
  --image-cache DIR    where OCI layouts are unpacked (default: prl-sandboxd in the user's cache directory)
  --cpus N             give each sandbox at most the time of N processors, for example 0.5; default: no limit
  --tier TIER          any, namespaces, rootless or process: how boxes are isolated (default any: the strongest that works)
  --rootless           any tier that does not need root
  --work-dir DIR       where boxes of the process tier have their files (default: the directory for temporary files)
  --metrics-address [ADDR:]PORT  answer GET /metrics there, for Prometheus, without a token; without ADDR on 127.0.0.1; default: off
  --stop-with-stdin    stop when standard input is closed: the starter is gone
When it serves, one line of JSON goes to standard output: pid, socket, address, instance_id,
isolation, metrics (an address).";

/// See `HELP`.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Options {
    pub(crate) socket: Option<PathBuf>,
    pub(crate) listen: Option<SocketAddr>,
    pub(crate) token_file: Option<PathBuf>,
    pub(crate) tls_cert: Option<PathBuf>,
    pub(crate) tls_key: Option<PathBuf>,
    pub(crate) tls_client_ca: Option<PathBuf>,
    pub(crate) max_connections: usize,
    pub(crate) drain: Duration,
    pub(crate) max_running: usize,
    pub(crate) max_queued: usize,
    pub(crate) max_held: usize,
    pub(crate) journal: Option<PathBuf>,
    pub(crate) snapshot_bytes: u64,
    pub(crate) result_bytes: usize,
    pub(crate) park: usize,
    pub(crate) profiles: Profiles,
    pub(crate) python: Option<PathBuf>,
    pub(crate) allow_forward: Vec<Service>,
    pub(crate) readable: Vec<PathBuf>,
    pub(crate) images: Vec<Source>,
    pub(crate) image_cache: PathBuf,
    pub(crate) cpus: Option<f64>,
    pub(crate) tier: Wanted,
    pub(crate) work_dir: PathBuf,
    pub(crate) stop_with_stdin: bool,
    /// The address at which Prometheus finds `/metrics`.
    pub(crate) metrics: Option<SocketAddr>,
}

impl Options {
    /// The services and addresses of this machine and its neighbours that callers may open.
    pub(crate) fn grants(&self) -> Grants {
        if self.listen.is_none() {
            return Grants::Everything;
        }
        Grants::Only(self.allow_forward.clone())
    }

    /// Reads the arguments that follow the program's name.
    pub(crate) fn parse(arguments: &[String]) -> Result<Self, SandboxError> {
        let mut options = Self::defaults();
        let mut warm = Vec::new();
        let mut rest = arguments.iter();
        while let Some(name) = rest.next() {
            let mut argument = Argument { name, rest: &mut rest };
            match name.as_str() {
                "--warm" => warm.push(argument.value()?),
                _ => options.set(&mut argument)?,
            }
        }
        // Applied last, so that profiles may be named later on the command line.
        for text in warm {
            let parked = options.profiles.park(text);
            parked.map_err(|wrong| SandboxError::Usage(format!("--warm: {wrong}; see --help")))?;
        }
        if options.socket.is_none() && options.listen.is_none() {
            let nothing = "nothing to serve on: give --socket or --listen; see --help";
            return Err(SandboxError::Usage(nothing.to_owned()));
        }
        Ok(options)
    }

    /// The options of an empty command line.
    fn defaults() -> Self {
        let cores = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
        Self {
            socket: None,
            listen: None,
            token_file: None,
            tls_cert: None,
            tls_key: None,
            tls_client_ca: None,
            max_connections: 1024,
            drain: Duration::from_secs(5),
            max_running: (4 * cores).max(8),
            max_queued: 4096,
            max_held: 1000,
            journal: None,
            snapshot_bytes: 4 << 30,
            result_bytes: 1 << 30,
            park: 2 * cores,
            profiles: Profiles::new(2 * cores),
            python: None,
            allow_forward: Vec::new(),
            readable: Vec::new(),
            images: Vec::new(),
            image_cache: default_cache(),
            cpus: None,
            tier: Wanted::Any,
            work_dir: std::env::temp_dir(),
            stop_with_stdin: false,
            metrics: None,
        }
    }

    /// Applies one argument, except `--warm`.
    fn set(&mut self, argument: &mut Argument<'_, '_>) -> Result<(), SandboxError> {
        match argument.name {
            "--socket" => self.socket = Some(argument.path()?),
            "--listen" => self.listen = Some(listen_address(argument.value()?)?),
            "--token-file" => self.token_file = Some(argument.path()?),
            "--tls-cert" => self.tls_cert = Some(argument.path()?),
            "--tls-key" => self.tls_key = Some(argument.path()?),
            "--tls-client-ca" => self.tls_client_ca = Some(argument.path()?),
            "--max-connections" => self.max_connections = argument.number()?.max(1),
            "--drain-ms" => self.drain = Duration::from_millis(argument.number()? as u64),
            "--max-running" => self.max_running = argument.number()?.max(1),
            "--max-queued" => self.max_queued = argument.number()?,
            "--max-held" => self.max_held = argument.number()?,
            "--journal" => self.journal = Some(argument.path()?),
            "--snapshot-bytes" => self.snapshot_bytes = argument.number()? as u64,
            "--result-bytes" => self.result_bytes = argument.number()?.max(1),
            "--park" => {
                self.park = argument.number()?;
                self.profiles.park_none();
            }
            "--preload" => {
                let added = self.profiles.preload(argument.value()?);
                added.map_err(|wrong| SandboxError::Usage(format!("--preload: {wrong}; see --help")))?;
            }
            "--python" => self.python = Some(python_path(argument.path()?)?),
            "--allow-forward" => {
                let service = Service::parse(argument.value()?);
                let wrong = |wrong| SandboxError::Usage(format!("--allow-forward: {wrong}"));
                self.allow_forward.push(service.map_err(wrong)?);
            }
            "--readable" => self.readable.push(readable_directory(argument.path()?)?),
            "--image" => {
                let source = Source::parse(argument.value()?);
                let wrong = |wrong| SandboxError::Usage(format!("--image: {wrong}"));
                self.images.push(source.map_err(wrong)?);
            }
            "--image-cache" => self.image_cache = argument.path()?,
            "--cpus" => self.cpus = Some(cpus(argument.value()?)?),
            "--tier" => {
                let wrong = |wrong| SandboxError::Usage(format!("--tier: {wrong}; see --help"));
                self.tier = Tier::parse(argument.value()?).map_err(wrong)?;
            }
            "--rootless" => self.tier = Wanted::WithoutRights,
            "--work-dir" => self.work_dir = argument.path()?,
            "--metrics-address" => self.metrics = Some(metrics_address(argument.value()?)?),
            "--stop-with-stdin" => self.stop_with_stdin = true,
            name => return Err(SandboxError::Usage(format!("unknown argument {name:?}; see --help"))),
        }
        Ok(())
    }
}

/// One argument, and those behind it, of which the first may be its value.
struct Argument<'a, 'r> {
    name: &'a str,
    rest: &'r mut std::slice::Iter<'a, String>,
}

impl<'a> Argument<'a, '_> {
    fn value(&mut self) -> Result<&'a String, SandboxError> {
        let value = self.rest.next();
        value.ok_or_else(|| SandboxError::Usage(format!("{} needs a value; see --help", self.name)))
    }

    fn path(&mut self) -> Result<PathBuf, SandboxError> {
        Ok(PathBuf::from(self.value()?))
    }

    fn number(&mut self) -> Result<usize, SandboxError> {
        let text = self.value()?;
        let wrong = |_| SandboxError::Usage(format!("{} needs a number, not {text:?}; see --help", self.name));
        text.parse().map_err(wrong)
    }
}

fn listen_address(text: &str) -> Result<SocketAddr, SandboxError> {
    let wrong = |_| SandboxError::Usage(format!("--listen needs ADDRESS:PORT, not {text:?}"));
    text.parse().map_err(wrong)
}

fn python_path(path: PathBuf) -> Result<PathBuf, SandboxError> {
    if !path.is_absolute() {
        return Err(SandboxError::Usage(format!(
            "--python needs an absolute path, not {}",
            path.display()
        )));
    }
    Ok(path)
}

fn readable_directory(path: PathBuf) -> Result<PathBuf, SandboxError> {
    let plain = path.is_absolute() && path.components().all(|part| part.as_os_str() != "..");
    if !plain || path.parent().is_none() {
        return Err(SandboxError::Usage(format!(
            "--readable {} is not usable",
            path.display()
        )));
    }
    if let Some(own) = covered(&path) {
        return Err(SandboxError::Usage(format!(
            "--readable {}: programs have a separate {own}, which would cover it",
            path.display()
        )));
    }
    Ok(path)
}

fn cpus(text: &str) -> Result<f64, SandboxError> {
    let cpus = text.parse::<f64>().ok().filter(|cpus| (0.01..=4096.0).contains(cpus));
    cpus.ok_or_else(|| SandboxError::Usage(format!("--cpus needs a number like 0.5, not {text:?}; see --help")))
}

fn metrics_address(text: &str) -> Result<SocketAddr, SandboxError> {
    let address = text
        .parse()
        .or_else(|_| text.parse().map(|port| (LOOPBACK, port).into()));
    address.map_err(|_| SandboxError::Usage(format!("--metrics-address needs [ADDRESS:]PORT, not {text:?}")))
}

#[cfg(test)]
mod tests {
    use super::{Options, Wanted};

    fn parse(text: &str) -> Result<Options, crate::error::SandboxError> {
        Options::parse(&text.split_whitespace().map(str::to_owned).collect::<Vec<_>>())
    }

    #[test]
    fn wrong_arguments_are_named() {
        for (text, needle) in [
            ("", "nothing to serve on"),
            ("--socket", "--socket needs a value"),
            ("--park many --socket s", "\"many\""),
            ("--listen here", "ADDRESS:PORT"),
            ("--socket s --readable ../x", "--readable"),
            ("--socket s --cpus 0", "--cpus"),
            ("--socket s --metrics-address 65536", "65536"),
            ("--socket s --metrics-address :9400", ":9400"),
            ("--socket s --warm python=1,node=", "node="),
            ("--socket s --allow-forward x", "--allow-forward"),
            ("--socket s --warm ruby=1", "ruby=1"),
            ("--socket s --warm python=x", "python=x"),
            ("--socket s --frobnicate", "--frobnicate"),
        ] {
            let message = parse(text)
                .map(|_| String::new())
                .unwrap_or_else(|error| error.to_string());
            assert!(message.contains(needle), "{text}: {message}");
        }
        for (text, address) in [("9400", "127.0.0.1:9400"), ("[::1]:0", "[::1]:0")] {
            let options = parse(&format!("--socket s --metrics-address {text}"));
            assert_eq!(options.ok().and_then(|options| options.metrics), address.parse().ok());
        }
        assert!(
            parse("--socket s --park 0 --rootless")
                .is_ok_and(|options| options.park == 0 && options.tier == Wanted::WithoutRights)
        );
    }
}
