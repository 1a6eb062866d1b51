//! The client with real daemons: certificates, tenants, several daemons, and held boxes.

mod accept;
mod boxes;
mod cases;
mod certificates;
mod embedded_daemon;
mod fleet;
mod tenants;
mod texts;

use std::path::Path;

use prl_sandbox_client::{Address, CancellationToken, Client, ConnectOptions, RunOutcome};
use prl_sandbox_proto::{CreateRequest, ExecRequest, RunOnceRequest};

use crate::support::Daemon;

type Outcome = crate::support::Outcome;
type Result<T> = std::result::Result<T, Box<dyn std::error::Error>>;

async fn connect(addresses: &[String], options: ConnectOptions) -> Result<Client> {
    let addresses: std::result::Result<Vec<Address>, _> = addresses.iter().map(|text| text.parse()).collect();
    Ok(Client::connect(addresses?, options).await?)
}

fn unix(daemon: &Daemon) -> String {
    format!("unix:{}", daemon.socket.display())
}

fn tcp(daemon: &Daemon) -> Result<String> {
    Ok(daemon.announced["address"].as_str().ok_or("no TCP address")?.to_owned())
}

fn text(path: &Path) -> String {
    path.to_string_lossy().into_owned()
}

fn run(command: &[&str], key: &str) -> RunOnceRequest {
    RunOnceRequest {
        command: command.iter().map(|&word| word.to_owned()).collect(),
        idempotency_key: key.to_owned(),
        ..RunOnceRequest::default()
    }
}

fn a_box(id: &str) -> CreateRequest {
    CreateRequest {
        id: id.to_owned(),
        ..CreateRequest::default()
    }
}

fn exec(command: &[&str], key: &str) -> ExecRequest {
    ExecRequest {
        command: command.iter().map(|&word| word.to_owned()).collect(),
        idempotency_key: key.to_owned(),
        ..ExecRequest::default()
    }
}

fn never() -> CancellationToken {
    CancellationToken::new()
}

fn stdout(outcome: &RunOutcome) -> String {
    let output = outcome.result.stdout.clone().unwrap_or_default();
    String::from_utf8_lossy(&output.head).into_owned()
}
