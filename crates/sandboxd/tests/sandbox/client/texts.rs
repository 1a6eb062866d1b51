//! Whatever a request contains and however long it is, the client can read an answer, and its connection stays.

use std::collections::HashMap;

use prl_sandbox_client::{Client, ClientError, ConnectOptions, RunOutcome, SandboxBox};
use prl_sandbox_proto::{Cause, CreateRequest, ExecRequest, Forward, InputFile, Network, RunOnceRequest, StartRequest};

use super::{Outcome, a_box, connect, exec, never, run, unix};
use crate::support::Daemon;

/// Texts that error messages may repeat, in growing lengths, and with characters that take up to three times their
/// bytes on the way.
fn texts() -> Vec<String> {
    let units = ["x", "\u{1f44d}", "%ff", "a/", "\n\u{7f}\""];
    let lengths = [5_000, 8_000, 100_000];
    let all = lengths
        .iter()
        .flat_map(|length| units.map(|unit| unit.repeat(length / unit.len())));
    all.collect()
}

/// Checks that the answer is an error of the caller or a result, not a broken connection or a daemon that is gone.
fn is_answered<T>(field: &str, text: &str, answer: &Result<T, ClientError>) {
    let Err(error) = answer else { return };
    let lost = [
        "CONNECTION_LOST",
        "UNREACHABLE",
        "DEADLINE",
        "PROTOCOL",
        "DAEMON_RESTARTED",
    ];
    assert!(
        !lost.iter().any(|lost| error.code().ends_with(lost)),
        "{field} of {} bytes {:?}: {} {error}",
        text.len(),
        text.chars().take(4).collect::<String>(),
        error.code()
    );
}

/// A run's result can also say that the run has none.
fn of_run(answer: Result<RunOutcome, ClientError>) -> Result<(), ClientError> {
    let outcome = answer?;
    if outcome.result.cause() == Cause::Infra {
        return Err(outcome.into());
    }
    Ok(())
}

type Change<T> = (&'static str, fn(&mut T, String));

const OF_RUNS: &[Change<RunOnceRequest>] = &[
    ("command", |run, text| run.command = vec![text]),
    ("argument", |run, text| run.command.push(text)),
    ("cwd", |run, text| run.cwd = text),
    ("key", |run, text| run.idempotency_key = text),
    ("runtime", |run, text| run.runtime = text),
    ("image", |run, text| run.image = text),
    ("collect", |run, text| run.collect = vec![text]),
    ("variable", |run, text| {
        run.env = HashMap::from([(format!("{text}="), String::new())])
    }),
    ("file", |run, text| {
        run.files = vec![InputFile {
            path: text,
            ..InputFile::default()
        }]
    }),
    ("file above", |run, text| {
        run.files = vec![InputFile {
            path: format!("../{text}"),
            ..InputFile::default()
        }];
    }),
    ("allow", |run, text| {
        run.network = Some(Network {
            mode: 1,
            allow: vec![text],
            ..Network::default()
        })
    }),
    ("forward", |run, text| {
        run.network = Some(Network {
            forward: vec![Forward {
                listen: 80,
                to: text,
                ..Forward::default()
            }],
            ..Network::default()
        });
    }),
];

const OF_BOXES: &[Change<CreateRequest>] = &[
    ("id", |one, text| one.id = text),
    ("runtime of a box", |one, text| one.runtime = text),
    ("image of a box", |one, text| one.image = text),
    ("snapshot of a box", |one, text| one.from_snapshot = text),
    ("file of a box", |one, text| {
        one.files = vec![InputFile {
            path: text,
            ..InputFile::default()
        }]
    }),
];

const OF_EXECS: &[Change<ExecRequest>] = &[
    ("command of an exec", |exec, text| exec.command = vec![text]),
    ("cwd of an exec", |exec, text| exec.cwd = text),
    ("user of an exec", |exec, text| exec.user = text),
    ("runtime of an exec", |exec, text| exec.runtime = text),
    ("key of an exec", |exec, text| exec.idempotency_key = text),
];

async fn runs_and_boxes(client: &Client, turn: usize, text: &str) -> Outcome {
    for (field, change) in OF_RUNS {
        let mut request = run(&["true"], &format!("{field}-{turn}"));
        change(&mut request, text.to_owned());
        is_answered(field, text, &of_run(client.run_once(request, &never()).await));
    }
    for (field, change) in OF_BOXES {
        let mut request = a_box(&format!("{}-{turn}", field.len()));
        change(&mut request, text.to_owned());
        let made = client.create(request).await;
        is_answered(field, text, &made);
        if let Ok(held) = made {
            held.close().await?;
        }
    }
    Ok(())
}

async fn in_a_box(held: &SandboxBox, turn: usize, text: &str) {
    for (field, change) in OF_EXECS {
        let mut request = exec(&["true"], &format!("{field}-{turn}"));
        change(&mut request, text.to_owned());
        is_answered(field, text, &of_run(held.exec(request, &never()).await));
    }
    is_answered("stat", text, &held.stat(text).await);
    is_answered("list", text, &held.list_directory(text, 1, None).await);
    is_answered("make", text, &held.make_directory(text).await);
    is_answered("move", text, &held.rename(text, "elsewhere").await);
    is_answered("remove", text, &held.remove(text, true).await);
    is_answered("write", text, &held.write(text, vec![1].into(), 0).await);
    is_answered("read", text, &held.read(text, 0, None).await);
    let start = StartRequest {
        process: text.to_owned(),
        exec: Some(exec(&["true"], "")),
        ..StartRequest::default()
    };
    is_answered("process", text, &held.start(start).await.map(drop));
    is_answered("snapshot", text, &held.snapshot(text, HashMap::new()).await);
}

#[tokio::test(flavor = "multi_thread")]
async fn no_text_of_a_request_ends_the_connection() -> Outcome {
    let Some(daemon) = Daemon::start(&["--park", "2"])? else {
        return Ok(());
    };
    let client = connect(&[unix(&daemon)], ConnectOptions::default()).await?;
    let held = client.create(a_box("held")).await?;
    for (turn, text) in texts().iter().enumerate() {
        runs_and_boxes(&client, turn, text).await?;
        in_a_box(&held, turn, text).await;
    }
    held.close().await?;
    client.close().await;
    daemon.stop()
}
