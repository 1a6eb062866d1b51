//! Two callers of one daemon that must not know of each other.

use std::collections::HashMap;

use prl_sandbox_client::{Client, ConnectOptions};
use prl_sandbox_proto::Cause;

use super::{Outcome, Result, a_box, connect, exec, never, run, stdout, tcp};
use crate::support::Daemon;

async fn tenant(daemon: &Daemon, token: &str) -> Result<Client> {
    let options = ConnectOptions {
        token: Some(token.to_owned()),
        ..ConnectOptions::default()
    };
    connect(&[tcp(daemon)?], options).await
}

#[tokio::test(flavor = "multi_thread")]
async fn boxes_of_one_tenant_do_not_exist_for_another() -> Outcome {
    let Some((daemon, _)) = crate::support::tcp::start("ann:token-of-ann\nben:token-of-ben\n", &[])? else {
        return Ok(());
    };
    let (ann, ben) = (
        tenant(&daemon, "token-of-ann").await?,
        tenant(&daemon, "token-of-ben").await?,
    );
    let held = ann.create(a_box("shared-name")).await?;
    held.exec(exec(&["sh", "-c", "echo of ann > note"], "1"), &never())
        .await?;

    assert!(ben.list(HashMap::new()).await?.is_empty());
    let missing = ben.open("no-such-box").await.expect_err("none of his").to_string();
    let hidden = ben.open("shared-name").await.expect_err("not his").to_string();
    assert_eq!(hidden.replace("shared-name", "no-such-box"), missing, "no oracle");
    let own = ben.create(a_box("shared-name")).await?;
    let look = own
        .exec(exec(&["sh", "-c", "cat note || echo nothing"], "1"), &never())
        .await?;
    assert_eq!(stdout(&look), "nothing\n");
    own.close().await?;
    let after = held.exec(exec(&["cat", "note"], "2"), &never()).await?;
    assert_eq!(stdout(&after), "of ann\n", "closing his left hers");

    let hers = ann.run_once(run(&["echo", "ann"], "same-key"), &never()).await?;
    let his = ben.run_once(run(&["echo", "ben"], "same-key"), &never()).await?;
    assert_eq!((stdout(&hers), stdout(&his)), ("ann\n".to_owned(), "ben\n".to_owned()));
    assert!(!his.result.replayed);
    assert_eq!(his.result.cause(), Cause::Exited);
    Ok(())
}
