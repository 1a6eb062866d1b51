//! How strongly this machine can isolate boxes, found out by trying: the strongest way that works is taken, and the
//! reasons against the stronger ones are reported. A request that wants more is refused (see `min_isolation`).

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use prl_sandbox_guest::process;

use crate::cgroup::{Layout, own_directory, remove_leftover_homes};
use crate::error::SandboxError;
use crate::images::Images;
use crate::sandbox::{Factory, FactoryOptions};

/// The ways of isolation, the strongest first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Tier {
    /// Namespaces, and a separate user for every box.
    Namespaces,
    /// Namespaces inside a user namespace of this user.
    Rootless,
    /// Landlock, a filter and rlimits (see `prl_sandbox_guest::process`).
    Process,
}

/// The tiers that the command line allows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Wanted {
    Any,
    /// This tier and no other.
    Only(Tier),
    /// Any tier that needs no rights.
    WithoutRights,
}

/// The parts of this machine from which sandboxes are made.
pub(crate) struct Site<'a> {
    /// The directory for homes of boxes, in the process tier.
    pub(crate) work_dir: &'a Path,
    /// Directories that sandboxes may read besides those of the system.
    pub(crate) readable: &'a [PathBuf],
    pub(crate) layout: &'a Arc<Layout>,
    pub(crate) images: &'a Images,
}

/// The way that works, and why the stronger ones do not.
#[derive(Debug)]
pub(crate) struct Chosen {
    pub(crate) tier: Tier,
    pub(crate) factory: Arc<Factory>,
    pub(crate) refused: Vec<(Tier, String)>,
}

impl Tier {
    /// # Errors
    /// The accepted values.
    pub(crate) fn parse(text: &str) -> Result<Wanted, String> {
        match text {
            "any" => Ok(Wanted::Any),
            "namespaces" => Ok(Wanted::Only(Self::Namespaces)),
            "rootless" => Ok(Wanted::Only(Self::Rootless)),
            "process" => Ok(Wanted::Only(Self::Process)),
            _ => Err(format!("{text:?} is not any, namespaces, rootless or process")),
        }
    }
}

impl Wanted {
    fn candidates(self) -> Vec<Tier> {
        // SAFETY: reads a process attribute.
        let root = unsafe { libc::geteuid() } == 0;
        match self {
            Self::Only(tier) => vec![tier],
            Self::Any if root => vec![Tier::Namespaces, Tier::Rootless, Tier::Process],
            Self::Any | Self::WithoutRights => vec![Tier::Rootless, Tier::Process],
        }
    }
}

/// Tries one tier after the other.
///
/// # Errors
/// Why the last of them does not work.
pub(crate) async fn choose(wanted: Wanted, site: &Site<'_>) -> Result<Chosen, SandboxError> {
    remove_leftover_homes(site.work_dir);
    let mut refused = Vec::new();
    let mut last = None;
    for tier in wanted.candidates() {
        match attempt(tier, site).await {
            Ok(factory) => {
                for (stronger, reason) in &refused {
                    tracing::warn!(?tier, ?stronger, reason, "isolation is weaker than it could be");
                }
                return Ok(Chosen { tier, factory, refused });
            }
            Err(error @ SandboxError::Setup { .. }) => {
                refused.push((tier, error.chain()));
                last = Some(error);
            }
            Err(error) => return Err(error),
        }
    }
    refused.pop();
    for (tier, reason) in &refused {
        tracing::warn!(?tier, reason, "this isolation is not available");
    }
    Err(last.unwrap_or(SandboxError::Unsupported("isolation on this machine")))
}

/// Starts a spawner and makes one complete sandbox, so that whatever the machine lacks is an error here and not at the
/// first run.
async fn attempt(tier: Tier, site: &Site<'_>) -> Result<Arc<Factory>, SandboxError> {
    // SAFETY: reads a process attribute.
    if tier == Tier::Process && unsafe { libc::geteuid() } == 0 && !process::may_change_users() {
        return Err(SandboxError::Setup {
            step: "boxes would be root, without capabilities but owning the machine's files".to_owned(),
            source: std::io::Error::from_raw_os_error(libc::EPERM),
        });
    }
    let homes = match tier {
        Tier::Process => Some(make_homes(site.work_dir)?),
        Tier::Namespaces | Tier::Rootless => None,
    };
    let roots: Vec<PathBuf> = site.images.roots().map(Path::to_owned).collect();
    if homes.is_some() && !roots.is_empty() {
        return Err(SandboxError::Setup {
            step: "images in the process tier".to_owned(),
            source: std::io::ErrorKind::Unsupported.into(),
        });
    }
    let factory = Factory::start(
        &FactoryOptions {
            rootless: tier == Tier::Rootless,
            readable: site.readable.to_owned(),
            images: roots,
            homes,
        },
        site.layout,
    )?;
    match factory.make(0).await {
        Ok(sandbox) => {
            sandbox.destroy().await;
            Ok(Arc::new(factory))
        }
        Err(error) => {
            factory.stop();
            Err(error)
        }
    }
}

fn make_homes(work_dir: &Path) -> Result<PathBuf, SandboxError> {
    let homes = work_dir.join(own_directory());
    let failed = |source| SandboxError::Setup {
        step: format!("make {}", homes.display()),
        source,
    };
    // An earlier attempt of this process left them.
    if homes.exists() {
        process::remove_own(&homes);
    }
    fs::create_dir_all(work_dir).map_err(failed)?;
    process::make(&homes, 0o711).map_err(failed)?;
    Ok(homes)
}
