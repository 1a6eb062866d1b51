//! The spawner without room for the descriptors of orders: it refuses these orders, and all others still work.

use std::error::Error;
use std::fs;

use prl_sandbox_proto::{Cause, RunOnceResult};

use crate::support::census::{spawner, tree};
use crate::support::{Client, Daemon, Outcome, cause, command, describe, skip, until};

/// The kernel's error when the table of descriptors is full.
const FULL: &str = "os error 24";

/// Sets how many files a process may open, and returns the previous limit.
fn allow(pid: u32, files: libc::rlim_t) -> Result<libc::rlim_t, Box<dyn Error>> {
    // SAFETY: rlimit is plain data, read by one call and written by the other; a process of this test's daemon.
    unsafe {
        let mut limit: libc::rlimit = std::mem::zeroed();
        let kind = libc::RLIMIT_NOFILE;
        let mut done = libc::prlimit(pid.cast_signed(), kind, std::ptr::null(), &raw mut limit);
        let before = std::mem::replace(&mut limit.rlim_cur, files);
        done |= libc::prlimit(pid.cast_signed(), kind, &raw const limit, std::ptr::null_mut());
        if done == 0 {
            Ok(before)
        } else {
            Err(std::io::Error::last_os_error().into())
        }
    }
}

fn open_files(pid: u32) -> std::io::Result<usize> {
    Ok(fs::read_dir(format!("/proc/{pid}/fd"))?.count())
}

async fn run(client: &Client) -> Result<RunOnceResult, Box<dyn Error>> {
    Ok(client.clone().run_once(command(&["true"])).await?.into_inner())
}

#[tokio::test(flavor = "multi_thread")]
async fn an_order_that_has_no_room_is_refused_and_the_next_is_carried_out() -> Outcome {
    let Some(daemon) = Daemon::start(&["--park", "0", "--warm", "python=0"])? else {
        return Ok(());
    };
    if !daemon.is_root() {
        skip("only root sees which files the spawner has open");
        return daemon.stop();
    }
    let client = daemon.client().await?;
    let mut long = client.clone();
    let goes_on = tokio::spawn(async move { long.run_once(command(&["sleep", "2"])).await });
    let sleeps = || tree(daemon.pid()).iter().any(|process| process.name == "sleep");
    until("running", async || Ok(sleeps())).await?;
    let spawner_before = spawner(daemon.pid())?;
    let files = open_files(spawner_before)?;
    let usual = allow(spawner_before, 1)?;
    for _ in 0..3 {
        let refused = run(&client).await?;
        assert_eq!(cause(&refused), Cause::Infra, "{}", describe(&refused));
        assert!(refused.reason.contains(FULL), "{}", describe(&refused));
    }
    assert!(open_files(spawner_before)? <= files, "something stays open");
    allow(spawner_before, usual)?;
    let well = run(&client).await?;
    assert_eq!(cause(&well), Cause::Exited, "{}", describe(&well));
    let undisturbed = goes_on.await??.into_inner();
    assert_eq!(cause(&undisturbed), Cause::Exited, "{}", describe(&undisturbed));
    assert_eq!(spawner(daemon.pid())?, spawner_before);
    daemon.stop()
}
