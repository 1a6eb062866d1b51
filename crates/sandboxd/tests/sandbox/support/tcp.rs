//! Daemons that listen on TCP too.

use std::error::Error;

use super::Daemon;

/// Starts a daemon that accepts these tokens, and returns its address; `None` as in `Daemon::start`.
pub(crate) fn start(tokens: &str, arguments: &[&str]) -> Result<Option<(Daemon, String)>, Box<dyn Error>> {
    let directory = tempfile::tempdir()?;
    let file = directory.path().join("tokens");
    std::fs::write(&file, tokens)?;
    let file = file.to_string_lossy();
    let listen = ["--listen", "127.0.0.1:0", "--token-file", &file];
    let Some(daemon) = Daemon::start(&[&listen, arguments].concat())? else {
        return Ok(None);
    };
    let address = daemon.announced["address"].as_str().ok_or("no address")?.to_owned();
    Ok(Some((daemon, address)))
}
