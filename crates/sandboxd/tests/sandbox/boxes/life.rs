//! How boxes begin and end.

use std::collections::HashMap;
use std::time::{Duration, Instant};

use prl_sandbox_proto::{
    Cause, CloseRequest, CreateRequest, ERROR_CODE_KEY, ListRequest, RenewRequest, SetLifetimeRequest,
};
use tonic::{Code, Status};

use super::{boxes, exec, shell, small};
use crate::support::census::{children, spawner};
use crate::support::{Daemon, Outcome, cause, describe, settles, text, until};

fn code(status: &Status) -> (Code, &str) {
    let code = status
        .metadata()
        .get(ERROR_CODE_KEY)
        .and_then(|value| value.to_str().ok());
    (status.code(), code.unwrap_or(""))
}

#[tokio::test(flavor = "multi_thread")]
async fn a_box_keeps_files_of_its_execs_and_ends_when_it_is_closed() -> Outcome {
    let Some(daemon) = Daemon::start(&["--park", "0"])? else {
        return Ok(());
    };
    let mut client = boxes(&daemon).await?;
    let request = CreateRequest {
        env: HashMap::from([("A".to_owned(), "of the box".to_owned())]),
        ..small("one")
    };
    let made = client.create(request.clone()).await?.into_inner();
    assert_eq!((made.id.as_str(), made.lease_ms), ("one", 60_000));
    let result = shell(
        &client,
        "one",
        "echo kept > note; (sleep 60 & echo $! > pid); echo $A; pwd",
    )
    .await?;
    assert_eq!(cause(&result), Cause::Exited, "{}", describe(&result));
    assert_eq!(text(&result.stdout), "of the box\n/work\n");
    let result = shell(&client, "one", "cat note; kill -0 $(cat pid) && echo lives").await?;
    assert_eq!(text(&result.stdout), "kept\nlives\n", "{}", describe(&result));
    let again = client.create(request.clone()).await?.into_inner();
    assert_eq!(again.created_at, made.created_at);
    let other = client
        .create(small("one"))
        .await
        .err()
        .ok_or("another request got the box")?;
    assert_eq!(code(&other), (Code::AlreadyExists, "PRL_SANDBOX_EXISTS"));
    let close = CloseRequest {
        ids: vec!["one".to_owned(), "never".to_owned()],
        ..CloseRequest::default()
    };
    assert_eq!(client.close(close.clone()).await?.into_inner().closed, ["one"]);
    assert!(client.close(close).await?.into_inner().closed.is_empty());
    let gone = client.create(request).await.err().ok_or("an id was used twice")?;
    assert_eq!(code(&gone), (Code::FailedPrecondition, "PRL_SANDBOX_BOX_ENDED"));
    let gone = client
        .exec(exec("one", &["true"]))
        .await
        .err()
        .ok_or("a closed box ran something")?;
    assert_eq!(code(&gone), (Code::FailedPrecondition, "PRL_SANDBOX_BOX_ENDED"));
    let never = client
        .exec(exec("never", &["true"]))
        .await
        .err()
        .ok_or("an unknown box ran something")?;
    assert_eq!(code(&never), (Code::NotFound, "PRL_SANDBOX_BOX_UNKNOWN"));
    settles(daemon.pid(), |found| {
        found.iter().all(|trace| trace.starts_with("directory"))
    })
    .await
}

#[tokio::test(flavor = "multi_thread")]
async fn many_who_create_one_box_get_one() -> Outcome {
    let Some(daemon) = Daemon::start(&["--park", "0"])? else {
        return Ok(());
    };
    let client = boxes(&daemon).await?;
    let mut together = tokio::task::JoinSet::new();
    for _ in 0..8 {
        let mut client = client.clone();
        together.spawn(async move { client.create(small("one")).await });
    }
    let mut times = Vec::new();
    while let Some(made) = together.join_next().await {
        times.push(made??.into_inner().created_at);
    }
    times.dedup();
    assert_eq!(times.len(), 1);
    let listed = client.clone().list(ListRequest::default()).await?.into_inner();
    assert_eq!(listed.boxes.len(), 1);
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn an_unused_box_ends_with_its_lease() -> Outcome {
    let Some(daemon) = Daemon::start(&["--park", "0"])? else {
        return Ok(());
    };
    let mut client = boxes(&daemon).await?;
    let (lease, lifetime) = (3000, 4500);
    for id in ["renewed", "forgotten", "working", "aged"] {
        let request = CreateRequest {
            lease_ms: Some(lease),
            ..small(id)
        };
        client.create(request).await?;
    }
    let created = Instant::now();
    let mut worker = client.clone();
    let working = tokio::spawn(async move { worker.exec(exec("working", &["sleep", "5"])).await });
    let aged = SetLifetimeRequest {
        r#box: "aged".to_owned(),
        lifetime_ms: Some(lifetime),
    };
    client.set_lifetime(aged).await?;
    // The time at which each was seen to be gone.
    let mut gone: HashMap<String, Duration> = HashMap::new();
    while gone.len() < 2 {
        if created.elapsed() > Duration::from_secs(30) {
            return Err(format!("only these are gone: {gone:?}").into());
        }
        let ids = vec!["renewed".to_owned(), "aged".to_owned()];
        let left = client.renew(RenewRequest { ids }).await?.into_inner().gone;
        let listed = client.list(ListRequest::default()).await?.into_inner();
        // To list a box is not to name it.
        let forgotten = !listed.boxes.iter().any(|one| one.id == "forgotten");
        for id in left.into_iter().chain(forgotten.then(|| "forgotten".to_owned())) {
            gone.entry(id).or_insert(created.elapsed());
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    assert!(
        gone.get("aged")
            .is_some_and(|at| at.as_millis() + 500 >= u128::from(lifetime)),
        "{gone:?}"
    );
    assert!(gone.contains_key("forgotten"), "{gone:?}");
    let result = working.await??.into_inner();
    assert_eq!(
        cause(&result),
        Cause::Exited,
        "a call holds the lease: {}",
        describe(&result)
    );
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn labels_name_boxes_to_list_and_close() -> Outcome {
    let Some(daemon) = Daemon::start(&["--park", "4", "--max-held", "5"])? else {
        return Ok(());
    };
    let mut client = boxes(&daemon).await?;
    let label = |value: &str| HashMap::from([("run".to_owned(), value.to_owned())]);
    for (id, run) in [("a", "1"), ("b", "1"), ("c", "2"), ("d", "2"), ("e", "3")] {
        let labels = label(run);
        client.create(CreateRequest { labels, ..small(id) }).await?;
    }
    let full = client
        .create(small("f"))
        .await
        .err()
        .ok_or("one box too many was held")?;
    assert_eq!(code(&full), (Code::ResourceExhausted, "PRL_SANDBOX_OVERLOADED"));
    let listed = client.list(ListRequest { labels: label("1") }).await?.into_inner();
    assert_eq!(listed.boxes.len(), 2);
    let mut sleeper = client.clone();
    let sleeping = tokio::spawn(async move { sleeper.exec(exec("b", &["sleep", "5"])).await });
    tokio::time::sleep(Duration::from_millis(200)).await;
    let close = CloseRequest {
        ids: vec!["c".to_owned()],
        labels: label("1"),
    };
    let mut closed = client.close(close).await?.into_inner().closed;
    closed.sort();
    assert_eq!(closed, ["a", "b", "c"]);
    let result = sleeping.await??.into_inner();
    assert_eq!(cause(&result), Cause::Cancelled, "{}", describe(&result));
    assert!(result.reason.contains("closed"), "{}", result.reason);
    daemon.stop()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_box_that_loses_its_init_does_not_blame_the_program() -> Outcome {
    let Some(daemon) = Daemon::start(&["--park", "0"])? else {
        return Ok(());
    };
    let mut client = boxes(&daemon).await?;
    client.create(small("one")).await?;
    let mut sleeper = client.clone();
    let sleeping = tokio::spawn(async move { sleeper.exec(exec("one", &["sleep", "7"])).await });
    tokio::time::sleep(Duration::from_millis(300)).await;
    let init = children(daemon.pid(), spawner(daemon.pid())?).pop().ok_or("no init")?;
    // SAFETY: a process of our own daemon.
    assert_eq!(unsafe { libc::kill(init.pid as i32, libc::SIGKILL) }, 0);
    let result = sleeping.await??.into_inner();
    assert_eq!(cause(&result), Cause::Infra, "{}", describe(&result));
    assert_eq!(result.error_code, "PRL_SANDBOX_INIT_DIED");
    let gone = client
        .exec(exec("one", &["true"]))
        .await
        .err()
        .ok_or("a dead box ran something")?;
    assert_eq!(code(&gone), (Code::FailedPrecondition, "PRL_SANDBOX_BOX_ENDED"));
    assert!(gone.message().contains("init"), "{gone:?}");
    settles(daemon.pid(), |found| {
        found.iter().all(|trace| trace.starts_with("directory"))
    })
    .await
}

/// Without root all programs of a box are one user, so that each may look at the others. Before it is executed, a process
/// holds descriptors of ours and has no filter. The search for its command along a long PATH takes a while. The numbers of
/// its descriptors may be listed; what they lead to must be refused.
#[tokio::test(flavor = "multi_thread")]
async fn no_program_looks_into_a_process_that_was_not_executed_yet() -> Outcome {
    const WATCH: &str = "import os\n\
        open('ready', 'w').close()\n\
        found = set()\n\
        while not os.path.exists('over'):\n    \
            for pid in filter(str.isdigit, os.listdir('/proc')):\n        \
                try:\n            \
                    if open(f'/proc/{pid}/comm').read() == 'init\\n':\n                \
                        for fd in sorted(map(int, os.listdir(f'/proc/{pid}/fd')))[3:]:\n                    \
                            found.add(os.readlink(f'/proc/{pid}/fd/{fd}'))\n        \
                except OSError: pass\n\
        print(*found)";
    let Some(daemon) = Daemon::start(&["--park", "0", "--rootless"])? else {
        return Ok(());
    };
    let client = boxes(&daemon).await?;
    client.clone().create(small("one")).await?;
    let watching = tokio::spawn({
        let mut client = client.clone();
        async move { client.exec(exec("one", &["python3", "-c", WATCH])).await }
    });
    until("ready", async || {
        Ok(text(&shell(&client, "one", "ls").await?.stdout).contains("ready"))
    })
    .await?;
    for _ in 0..5 {
        let mut request = exec("one", &["true"]);
        let nowhere = "/nowhere:".repeat(10_000);
        request.env.insert("PATH".to_owned(), format!("{nowhere}/usr/bin:/bin"));
        let result = client.clone().exec(request).await?.into_inner();
        assert_eq!(result.exit_code, Some(0), "{}", describe(&result));
    }
    shell(&client, "one", "touch over").await?;
    let result = watching.await??.into_inner();
    assert_eq!(
        (cause(&result), text(&result.stdout).as_str()),
        (Cause::Exited, "\n"),
        "{}",
        describe(&result)
    );
    daemon.stop()
}

#[tokio::test(flavor = "multi_thread")]
async fn boxes_are_held_without_root_too() -> Outcome {
    let Some(daemon) = Daemon::start(&["--park", "0", "--rootless"])? else {
        return Ok(());
    };
    let mut client = boxes(&daemon).await?;
    client.create(small("one")).await?;
    let result = shell(&client, "one", "echo kept > note; sleep 60 & echo $!").await?;
    assert_eq!(cause(&result), Cause::Exited, "{}", describe(&result));
    let limited = prl_sandbox_proto::ExecRequest {
        limits: Some(prl_sandbox_proto::Limits {
            wall_ms: Some(300),
            ..prl_sandbox_proto::Limits::default()
        }),
        ..exec("one", &["bash", "-c", "setsid sleep 66 & disown; sleep 66"])
    };
    let result = client.exec(limited).await?.into_inner();
    assert_eq!(cause(&result), Cause::WallTimeout, "{}", describe(&result));
    let result = shell(&client, "one", "cat note; cat /proc/[0-9]*/cmdline | tr '\\0' ' '").await?;
    let seen = text(&result.stdout);
    assert!(
        seen.contains("kept") && seen.contains("sleep 60") && !seen.contains("sleep 66"),
        "{seen}"
    );
    // A program kills every process that it can, including the one that watches it. Its end is still reported truly.
    let result = shell(&client, "one", "kill -9 -1; sleep 5").await?;
    assert_eq!(
        (cause(&result), result.signal),
        (Cause::Signaled, Some(9)),
        "{}",
        describe(&result)
    );
    let nobody = prl_sandbox_proto::ExecRequest {
        user: "nobody".to_owned(),
        ..exec("one", &["true"])
    };
    let refused = client.exec(nobody).await.err().ok_or("there is no second user")?;
    assert_eq!(refused.code(), Code::Unimplemented);
    let result = shell(&client, "one", "cat note").await?;
    assert_eq!(text(&result.stdout), "kept\n", "{}", describe(&result));
    daemon.stop()
}
