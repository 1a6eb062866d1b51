//! Runs one small program on a parked Node before the daemon serves: does this version of Node accept a program in this
//! way?

use std::io::{self, Read};
use std::os::fd::{AsFd, OwnedFd};
use std::time::Duration;

use prl_sandbox_guest::wire::{Event, FileSpec, Finish, Furnish, Order, Program, Start};

use super::Form;
use crate::sandbox::Sandbox;
use crate::warm::FIRST;
use crate::warm::template::About;

const DEADLINE: Duration = Duration::from_secs(20);
const DISK_BYTES: u64 = 1 << 20;
const INODES: u64 = 64;
const FILE: &str = "trial.js";
/// Prints the interpreter's version and path, then all that shows a program how it was started.
const PROGRAM: &str = "console.log([process.version, process.execPath, process.argv.slice(1), process.execArgv, \
    process._eval === undefined, process._preload_modules, Object.keys(require.cache), require.main === module, __filename]\
    .map((one) => JSON.stringify(one)).join('\\n'))";
const ARGUMENT: &str = "argument";

/// Runs the trial, which uses the sandbox up. The error says how the program differed from an executed one.
pub(super) async fn run(sandbox: &mut Sandbox, form: Form, environment: &[String]) -> Result<About, String> {
    let (ours, guests) = sandbox.streams.take().ok_or("it has no streams")?;
    let (command, wanted) = match form {
        Form::Code => (
            ["node", "-e", PROGRAM, ARGUMENT].to_vec(),
            vec![
                format!("[{ARGUMENT:?}]"),
                serde_json::json!(["-e", PROGRAM]).to_string(),
                "false".to_owned(),
                "[]".to_owned(),
                "[]".to_owned(),
                "false".to_owned(),
                "\"[eval]\"".to_owned(),
            ],
        ),
        Form::File => (
            ["node", FILE, ARGUMENT].to_vec(),
            vec![
                format!("[\"/work/{FILE}\",{ARGUMENT:?}]"),
                "[]".to_owned(),
                "true".to_owned(),
                "[]".to_owned(),
                format!("[\"/work/{FILE}\"]"),
                "true".to_owned(),
                format!("\"/work/{FILE}\""),
            ],
        ),
    };
    let start = start(command, environment);
    let ends = guests.each_ref().map(AsFd::as_fd);
    let sent = sandbox.orders.send(FIRST, Order::Start(start), &ends).await;
    sent.map_err(|error| error.to_string())?;
    drop(guests);
    let finished = tokio::time::timeout(DEADLINE, finish(sandbox)).await;
    finished.map_err(|_| format!("a trial did not end in {} s", DEADLINE.as_secs()))??;
    let [_stdin, stdout, stderr] = ours;
    let printed = text(stdout).map_err(|error| error.to_string())?;
    let mut lines = printed.lines().map(str::to_owned);
    let mut name = || Some(lines.next()?.trim_matches('"').to_owned());
    let (version, executable) = (name(), name());
    let found: Vec<String> = lines.collect();
    match (version, executable) {
        (Some(version), Some(executable)) if found == wanted => Ok(About {
            version,
            executable,
            preloads: Vec::new(),
        }),
        _ => {
            let complaint = text(stderr).unwrap_or_default();
            Err(format!("a trial said {printed:?} and {complaint:?}, not {wanted:?}"))
        }
    }
}

fn start(command: Vec<&str>, environment: &[String]) -> Start {
    let file = FileSpec {
        path: FILE.to_owned(),
        content: PROGRAM.into(),
        mode: 0o644,
    };
    Start {
        program: Program {
            command: command.into_iter().map(str::to_owned).collect(),
            env: environment.to_vec(),
            cwd: "/work".to_owned(),
            ..Program::default()
        },
        furnish: Some(Furnish {
            disk_bytes: DISK_BYTES,
            inodes: INODES,
            cwd: "/work".to_owned(),
            files: vec![file],
        }),
        finish: Some(Finish {
            cwd: "/work".to_owned(),
            ..Finish::default()
        }),
        zygote: FIRST,
        ..Start::default()
    }
}

/// Waits for the end of the program.
async fn finish(sandbox: &mut Sandbox) -> Result<(), String> {
    loop {
        let event = sandbox.events.receive().await.map_err(|error| error.to_string())?;
        match event.map(|(_, event, _)| event) {
            Some(Event::Started(_) | Event::Ended(_)) => {}
            Some(Event::Finished(_)) => return Ok(()),
            Some(Event::Executing(reason)) => return Err(format!("it takes no program: {reason}")),
            other => return Err(format!("a trial met {other:?}")),
        }
    }
}

/// The content of a pipe that no process writes to any more.
fn text(pipe: OwnedFd) -> io::Result<String> {
    let mut bytes = Vec::new();
    std::fs::File::from(pipe).read_to_end(&mut bytes)?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}
