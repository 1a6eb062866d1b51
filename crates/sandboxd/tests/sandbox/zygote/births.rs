//! Without a second user, a program can signal processes of its box that are not its own, also those that are being
//! forked. These tests bound the damage.

use std::time::{Duration, Instant};

use prl_sandbox_proto::{Cause, ExecRequest, Limits};

use super::boxes::{python, run};
use super::{templates, warm};
use crate::boxes::{Boxes, boxes, exec};
use crate::run_tests::{judge, tests};
use crate::support::{Outcome, cause, command, describe, text};

/// How long a program sends signals.
const KILLING: Duration = Duration::from_secs(3);

/// It may hit the process between a template and its zygote, the zygote before its report, or leaders: each exec is
/// answered soon, the box goes on and the template stays.
#[tokio::test(flavor = "multi_thread")]
async fn a_program_that_kills_a_fork_in_progress_ends_neither_its_box_nor_the_template() -> Outcome {
    let Some((daemon, _)) = warm(&["--rootless", "--park", "1", "--warm", "python=1"]).await? else {
        return Ok(());
    };
    let client = boxes(&daemon).await?;
    let before = templates(daemon.pid())?;
    assert_eq!(before.len(), 1);
    for (id, signal) in [("killed", libc::SIGKILL), ("interrupted", libc::SIGINT)] {
        client.clone().create(python(id)).await?;
        let killer = run(&client, killer(id, signal)).await?;
        assert!(
            matches!(cause(&killer), Cause::Exited | Cause::Signaled),
            "{}",
            describe(&killer)
        );
        let (began, mut right, mut hit) = (Instant::now(), 0, 0);
        while began.elapsed() < KILLING {
            let call = tokio::time::timeout(Duration::from_secs(8), run(&client, outward_of(id)));
            let result = call.await.map_err(|_| "an exec waits for what was killed")??;
            match (cause(&result), text(&result.stdout).as_str()) {
                (Cause::Exited, "1\n") => right += 1,
                (Cause::Signaled | Cause::Exited, _) => hit += 1,
                _ => return Err(describe(&result).into()),
            }
        }
        assert!(hit > 0, "no process was hit; {right} ran");
        settled(&client, id).await?;
    }
    assert_eq!(templates(daemon.pid())?, before);
    daemon.stop()
}

/// A stopped process cannot be waited for: the box ends, and nothing else.
#[tokio::test(flavor = "multi_thread")]
async fn a_program_that_stops_a_fork_in_progress_ends_at_most_its_box() -> Outcome {
    let Some((daemon, _)) = warm(&["--rootless", "--park", "1", "--warm", "python=1"]).await? else {
        return Ok(());
    };
    let client = boxes(&daemon).await?;
    let before = templates(daemon.pid())?;
    client.clone().create(python("stopped")).await?;
    client.clone().create(python("other")).await?;
    run(&client, killer("stopped", libc::SIGSTOP)).await?;
    let began = Instant::now();
    while began.elapsed() < KILLING {
        let limits = Limits {
            wall_ms: Some(500),
            ..Limits::default()
        };
        let mut one = outward_of("stopped");
        one.limits = Some(limits);
        match tokio::time::timeout(Duration::from_secs(60), run(&client, one)).await? {
            Ok(result) => assert!(
                matches!(cause(&result), Cause::Exited | Cause::WallTimeout | Cause::Infra),
                "{}",
                describe(&result)
            ),
            Err(error) if error.to_string().contains("has ended") => break,
            Err(error) => return Err(error),
        }
    }
    settled(&client, "other").await?;
    assert_eq!(templates(daemon.pid())?, before);
    daemon.stop()
}

/// The zygotes of the next cases wait where a case can kill them: then these cases are executed, and none is lost.
#[tokio::test(flavor = "multi_thread")]
async fn a_case_that_kills_those_of_the_next_loses_none() -> Outcome {
    let Some((daemon, client)) = warm(&["--rootless", "--park", "1", "--warm", "python=1"]).await? else {
        return Ok(());
    };
    let program = "import os\nif input() == 'kill':\n  try: os.kill(-1, 9)\n  except OSError: pass\nprint('end')";
    let kinds = ["look", "kill", "look", "kill", "kill", "look", "look"];
    let judged = judge(&client, tests(command(&["python3", "-c", program]), &kinds)).await?;
    for (kind, case) in kinds.iter().zip(&judged.cases) {
        let right = (cause(case), text(&case.stdout).as_str()) == (Cause::Exited, "end\n");
        // An executed case also kills the process that watches it.
        let own = *kind == "kill" && cause(case) == Cause::Signaled;
        assert!(right || own, "{kind}: {}", describe(case));
    }
    assert_eq!(judged.cases.len(), kinds.len(), "{:?}", judged.end);
    daemon.stop()
}

/// Leaves its exec, whose leader it signals as well, and for a while signals every process that it can see.
fn killer(id: &str, signal: i32) -> ExecRequest {
    let program = format!(
        "import os, time\nif os.fork(): os._exit(0)\nos.setsid()\nme, end = os.getpid(), time.time() + {}\n\
         while time.time() < end:\n  for pid in range(2, int(open('/proc/loadavg').read().split()[-1]) + 2):\n    if pid == me: continue\n\
         \x20   try: os.kill(pid, {signal})\n    except OSError: pass\n  time.sleep(0.002)",
        KILLING.as_secs()
    );
    let mut killer = exec(id, &["/usr/bin/python3", "-I", "-S", "-c", &program]);
    killer.runtime = "exec".to_owned();
    killer
}

fn outward_of(id: &str) -> ExecRequest {
    exec(id, &["python3", "-c", "print(1)"])
}

/// Waits until an exec of the box runs warm and is right.
async fn settled(client: &Boxes, id: &str) -> Outcome {
    let deadline = Instant::now() + Duration::from_secs(20);
    loop {
        let result = run(client, outward_of(id)).await?;
        if (cause(&result), result.runtime.as_str()) == (Cause::Exited, "python") {
            assert_eq!(text(&result.stdout), "1\n", "{}", describe(&result));
            return Ok(());
        }
        assert!(Instant::now() < deadline, "no zygote any more: {}", describe(&result));
    }
}
