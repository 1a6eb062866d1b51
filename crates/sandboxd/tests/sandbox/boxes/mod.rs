//! Held sandboxes through the real interface.

mod dial;
mod execs;
mod files;
mod life;
pub(crate) mod memory;
mod processes;
mod repl;
mod snapshots;

use std::error::Error;

use prl_sandbox_proto::boxes_client::BoxesClient;
use prl_sandbox_proto::{CreateRequest, ExecRequest, Limits, MAX_MESSAGE_BYTES, RunOnceResult};
use tonic::transport::Channel;

use crate::support::{Daemon, Outcome, channel};

pub(crate) type Boxes = BoxesClient<Channel>;

pub(crate) async fn boxes(daemon: &Daemon) -> Result<Boxes, Box<dyn Error>> {
    Ok(BoxesClient::new(channel(&daemon.socket).await?)
        .max_decoding_message_size(MAX_MESSAGE_BYTES)
        .max_encoding_message_size(MAX_MESSAGE_BYTES))
}

/// Runs a test on a daemon of each tier that this machine offers; the other tiers are printed.
pub(crate) async fn in_every_tier(test: impl AsyncFn(Daemon) -> Outcome) -> Outcome {
    for tier in [&[][..], &["--rootless"], &["--tier", "process"]] {
        if let Some(daemon) = Daemon::start(&[&["--park", "0"], tier].concat())? {
            test(daemon).await.map_err(|error| format!("{tier:?}: {error}"))?;
        }
    }
    Ok(())
}

/// A box with limits that are small enough that no bomb hurts the machine.
pub(crate) fn small(id: &str) -> CreateRequest {
    CreateRequest {
        id: id.to_owned(),
        limits: Some(Limits {
            wall_ms: Some(8000),
            memory_bytes: Some(128 << 20),
            processes: Some(32),
            disk_bytes: Some(16 << 20),
            inodes: Some(2000),
            ..Limits::default()
        }),
        ..CreateRequest::default()
    }
}

pub(crate) fn exec(id: &str, argv: &[&str]) -> ExecRequest {
    ExecRequest {
        r#box: id.to_owned(),
        command: argv.iter().map(|text| (*text).to_owned()).collect(),
        ..ExecRequest::default()
    }
}

/// Runs a shell line in a box.
pub(crate) async fn shell(boxes: &Boxes, id: &str, line: &str) -> Result<RunOnceResult, Box<dyn Error>> {
    let request = exec(id, &["bash", "-c", line]);
    Ok(boxes.clone().exec(request).await?.into_inner())
}
