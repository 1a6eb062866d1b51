//! Calls to the operating system that Node.js lacks, and facts about the addon.

use napi_derive::napi;
use prl_engine::Tier;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

use crate::error::{NativeError, codes};

#[napi(object, use_nullable = true)]
pub struct NativeAddonInfo {
    /// Version of the package that the addon was built from.
    pub version: String,
    /// Instruction-set tiers that this processor can run, the best one last.
    pub isa_tiers: Vec<String>,
    /// PRL_* codes that the Rust side can raise.
    pub error_codes: Vec<String>,
}

#[napi(catch_unwind)]
pub fn addon_info() -> NativeAddonInfo {
    NativeAddonInfo {
        version: env!("CARGO_PKG_VERSION").to_owned(),
        isa_tiers: Tier::ALL
            .iter()
            .filter(|tier| tier.is_available())
            .map(|tier| tier.name().to_owned())
            .collect(),
        error_codes: codes(),
    }
}

/// Limits of open files; 2^53 - 1 stands for no limit.
#[napi(object, use_nullable = true)]
pub struct NativeFileLimit {
    pub soft: f64,
    /// The highest value of the soft limit.
    pub hard: f64,
}

/// Raises the soft limit of open files of this process to the hard one.
#[napi(catch_unwind)]
pub fn raise_file_limit() -> napi::Result<NativeFileLimit> {
    let limit = getrlimit(Resource::Nofile);
    setrlimit(
        Resource::Nofile,
        Rlimit {
            current: limit.maximum,
            maximum: limit.maximum,
        },
    )
    .map_err(|error| NativeError::new("PRL_IO", format!("cannot raise the limit of open files: {error}")))?;
    let number = |limit: Option<u64>| limit.map_or(9_007_199_254_740_991.0, |value| value as f64);
    let now = getrlimit(Resource::Nofile);
    Ok(NativeFileLimit {
        soft: number(now.current),
        hard: number(now.maximum),
    })
}

/// Sets the soft limit of core dumps of this process, and of those that it starts from now on, to 0.
#[napi(catch_unwind)]
pub fn forbid_core_dumps() -> napi::Result<()> {
    let limit = Rlimit {
        current: Some(0),
        maximum: getrlimit(Resource::Core).maximum,
    };
    let forbidden = setrlimit(Resource::Core, limit);
    forbidden.map_err(|error| NativeError::new("PRL_IO", format!("cannot forbid core dumps: {error}")).into())
}

/// Native work that does not get on.
#[napi(object, use_nullable = true)]
pub struct NativeStandstill {
    /// What the work is: an export's path in the Rust sources, or words.
    pub work: String,
    /// Milliseconds since it last got on.
    pub ms: f64,
}

/// The native work of this process that has not got on for the longest time; null when none is under way.
#[napi(catch_unwind)]
pub fn native_standstill() -> Option<NativeStandstill> {
    prl_progress::longest_standstill().map(|standstill| NativeStandstill {
        work: standstill.name.to_owned(),
        ms: standstill.lasts.as_secs_f64() * 1000.0,
    })
}
