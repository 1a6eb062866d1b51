//! Programs that end in every way, and what a daemon in a container must say of them: what its tier cannot limit or see,
//! it has reported, and the container's limits hold it.

use std::collections::BTreeSet;
use std::error::Error;

use prl_sandbox_proto::{
    CapabilitiesReply, CapabilitiesRequest, Cause, ERROR_CODE_KEY, Isolation, Limits, RunOnceRequest, RunOnceResult,
};

use crate::support::{Client, Outcome, cause, command, describe, slowness, text, tight};

/// Takes memory without an end, unless it is refused.
const HOG: &str = "x = []\nwhile True: x.append(bytearray(1 << 20))";
/// Starts processes that sleep. It ends even where nothing refuses them.
const FORKS: &str = "
import os, time
refused = 0
while refused < 20000:
    try:
        if os.fork() == 0: time.sleep(60); os._exit(0)
    except OSError: refused += 1
time.sleep(60)";

/// What a daemon says of itself.
pub(super) struct Report {
    pub(super) isolation: Isolation,
    /// The limits of whole process trees: of `memory`, `pids`, `cpu` and `weight`.
    pub(super) limits: BTreeSet<String>,
    unobservable: Vec<Cause>,
    whole: CapabilitiesReply,
}

impl Report {
    pub(super) async fn of(client: &Client) -> Result<Self, Box<dyn Error>> {
        let whole = client.clone().capabilities(CapabilitiesRequest {}).await?.into_inner();
        let groups = whole.facilities.iter().filter(|one| one.available);
        Ok(Self {
            isolation: whole.isolation(),
            limits: groups
                .filter_map(|one| Some(one.name.strip_prefix("cgroup.")?.to_owned()))
                .collect(),
            unobservable: whole.unobservable().collect(),
            whole,
        })
    }

    /// Checks that the daemon has this isolation, and all limits where it is the full one.
    pub(super) fn is(&self, isolation: Isolation) -> Outcome {
        assert_eq!(self.isolation, isolation, "{:?}", self.whole.facilities);
        let all = ["memory", "pids", "cpu", "weight"]
            .into_iter()
            .all(|name| self.limits.contains(name));
        assert!(all == (isolation == Isolation::Full), "{:?}", self.whole.facilities);
        self.names_what_is_missing()
    }

    /// Checks that every limit that is missing is named with the reason, and every cause that nothing shows.
    fn names_what_is_missing(&self) -> Outcome {
        for (limit, unseen) in [
            ("memory", Some(Cause::Oom)),
            ("pids", Some(Cause::Pids)),
            ("cpu", None),
            ("weight", None),
        ] {
            let name = format!("cgroup.{limit}");
            let facility = self.whole.facilities.iter().find(|one| one.name == name);
            let facility = facility.ok_or_else(|| format!("no {name} in {:?}", self.whole.facilities))?;
            let reasons = ["Read-only file system", "no mounted hierarchy"];
            assert!(
                facility.available
                    || reasons.iter().any(|reason| facility.detail.contains(reason))
                        && facility.detail.contains("configs/deploy/README.md"),
                "{facility:?}"
            );
            if let Some(unseen) = unseen {
                assert_eq!(
                    self.unobservable.contains(&unseen),
                    !facility.available,
                    "{:?}",
                    self.whole
                );
            }
        }
        Ok(())
    }
}

fn python(code: &str, limits: Limits) -> RunOnceRequest {
    RunOnceRequest {
        limits: Some(limits),
        ..command(&["python3", "-I", "-S", "-c", code])
    }
}

/// Runs the programs. Each must end as it did.
pub(super) async fn end_truly(client: &Client, report: &Report) -> Outcome {
    let run = async |request: RunOnceRequest| -> Result<RunOnceResult, Box<dyn Error>> {
        Ok(client.clone().run_once(request).await?.into_inner())
    };
    let wall = |wall_ms| Limits {
        wall_ms: Some(wall_ms * u64::from(slowness())),
        ..tight()
    };
    let plain = async || -> Outcome {
        let result = run(command(&["sh", "-c", "echo out; exit 7"])).await?;
        assert_eq!(
            (cause(&result), result.exit_code, text(&result.stdout).as_str()),
            (Cause::Exited, Some(7), "out\n"),
            "{}",
            describe(&result)
        );
        Ok(())
    };
    plain().await?;
    let result = run(command(&["sh", "-c", "kill -KILL $$"])).await?;
    assert_eq!(
        (cause(&result), result.signal),
        (Cause::Signaled, Some(9)),
        "{}",
        describe(&result)
    );
    let result = run(RunOnceRequest {
        limits: Some(wall(500)),
        ..command(&["sleep", "60"])
    })
    .await?;
    assert_eq!(cause(&result), Cause::WallTimeout, "{}", describe(&result));
    let spin = Limits {
        cpu_ms: Some(1000),
        wall_ms: Some(60_000 * u64::from(slowness())),
        ..tight()
    };
    let result = run(python("while True: pass", spin)).await?;
    assert_eq!(cause(&result), Cause::CpuTimeout, "{}", describe(&result));
    let result = run(python(HOG, wall(30_000))).await?;
    let ended = (cause(&result), result.exit_code, result.signal);
    let expected = match report.isolation {
        _ if report.limits.contains("memory") => (Cause::Oom, None, Some(9)),
        // Each process has a limit, and Python an error for it.
        Isolation::Process => (Cause::Exited, Some(1), None),
        // The container's limit.
        _ => (Cause::Signaled, None, Some(9)),
    };
    assert_eq!(ended, expected, "{}", describe(&result));
    let complains = text(&result.stderr).contains("MemoryError");
    assert_eq!(
        complains,
        report.isolation == Isolation::Process,
        "{}",
        describe(&result)
    );
    plain().await?;
    let result = run(python(FORKS, wall(3000))).await?;
    let expected = if report.limits.contains("pids") {
        Cause::Pids
    } else {
        Cause::WallTimeout
    };
    assert_eq!(cause(&result), expected, "{}", describe(&result));
    plain().await
}

/// A request for more than the container gives is refused, by a named error.
pub(super) async fn refuses_more(client: &Client, isolation: Isolation) -> Outcome {
    let full = RunOnceRequest {
        min_isolation: Isolation::Full.into(),
        ..command(&["true"])
    };
    let answer = client.clone().run_once(full).await;
    if isolation == Isolation::Full {
        answer?;
        return Ok(());
    }
    let status = answer.err().ok_or("a weaker daemon took it")?;
    let code = status.metadata().get(ERROR_CODE_KEY).map(|code| code.as_bytes());
    assert_eq!(code, Some(&b"PRL_SANDBOX_ISOLATION"[..]), "{status:?}");
    Ok(())
}
