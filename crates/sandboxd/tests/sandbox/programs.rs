//! Hostile and ordinary programs through the real interface, and the state of the machine afterwards.

use std::collections::BTreeSet;
use std::path::Path;
use std::time::Duration;

use prl_sandbox_proto::{CapabilitiesRequest, CloseRequest, RunOnceRequest};

use crate::boxes::boxes;
use crate::cases::file_operations::FileAttack;
use crate::cases::{self, Case, Defence};
use crate::support::ground::Ground;
use crate::support::{Client, Daemon, Outcome, settles, skip, slowness};

/// How many cases run at a time: neighbours must not disturb each other.
const AT_ONCE: usize = 6;
/// Longer than any case may take, whichever defence is off.
const CASE_DEADLINE: Duration = Duration::from_secs(60);

/// The failures of the cases that do not end as they must.
pub(crate) async fn failures(
    client: &Client,
    requests: impl Iterator<Item = (&'static Case, RunOnceRequest)>,
) -> Result<Vec<String>, Box<dyn std::error::Error>> {
    let mut running = tokio::task::JoinSet::new();
    let mut failures = Vec::new();
    for (case, request) in requests {
        if !Path::new(case.needs).exists() {
            skip(&format!("{} needs {}", case.name, case.needs));
            continue;
        }
        if running.len() >= AT_ONCE
            && let Some(done) = running.join_next().await
        {
            failures.extend(done?);
        }
        let mut client = client.clone();
        running.spawn(async move {
            match tokio::time::timeout(CASE_DEADLINE * slowness(), client.run_once(request)).await {
                Ok(Ok(result)) => case.verdict(result.get_ref()).err(),
                Ok(Err(status)) => Some(format!("{}: {status}", case.name)),
                Err(_) => Some(format!("{}: no answer", case.name)),
            }
        });
    }
    while let Some(done) = running.join_next().await {
        failures.extend(done?);
    }
    Ok(failures)
}

/// Does the same for held boxes.
pub(crate) async fn file_attack_failures(
    daemon: &Daemon,
    cases: impl Iterator<Item = &'static FileAttack>,
    ground: &Ground,
) -> Result<Vec<String>, Box<dyn std::error::Error>> {
    let boxes = boxes(daemon).await?;
    let mut failures = Vec::new();
    for (index, case) in cases.enumerate() {
        let id = format!("held-{index}");
        failures.extend(case.verdict(&boxes, &id, |text| ground.fill(text)).await.err());
        let close = CloseRequest {
            ids: vec![id],
            ..CloseRequest::default()
        };
        boxes.clone().close(close).await?;
    }
    Ok(failures)
}

/// Runs all cases on one daemon and checks the machine.
async fn run_all(cases: Vec<&'static Case>, bombs: bool, warm: bool) -> Outcome {
    let arguments: &[&str] = if warm { &["--warm", "python=3"] } else { &[] };
    let Some(daemon) = Daemon::start(&[&["--max-running", "6", "--park", "3"], arguments].concat())? else {
        return Ok(());
    };
    if bombs && !daemon.is_full() {
        skip(&format!("limits of the whole tree need cgroups: {}", daemon.announced));
        return Ok(());
    }
    let ground = Ground::lay()?;
    let client = daemon.client().await?;
    let count = cases.len();
    let capabilities = client.clone().capabilities(CapabilitiesRequest {}).await?.into_inner();
    if warm && capabilities.runtimes.is_empty() {
        skip(&format!("no warm Python: {:?}", capabilities.facilities));
        return Ok(());
    }
    let requests = cases.into_iter().filter_map(|case| {
        let request = if warm {
            case.on_warm_python(&ground)
        } else {
            Some(case.request(&ground))
        };
        Some((case, request?))
    });
    let failures = failures(&client, requests).await?;
    let parked = if warm { 6 } else { 3 };
    settles(daemon.pid(), |found| {
        let count = |kind: &str| found.iter().filter(|trace| trace.starts_with(kind)).count();
        // One group for each box in every hierarchy.
        count("group ") <= count("directory ") * parked
    })
    .await?;
    let pid = daemon.pid();
    drop(client);
    daemon.stop()?;
    settles(pid, |found| found.is_empty()).await?;
    assert!(
        failures.is_empty(),
        "{} of {count} cases failed:\n{}",
        failures.len(),
        failures.join("\n\n")
    );
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn hostile_programs_end_as_they_must() -> Outcome {
    run_all(cases::attacks::all().collect(), true, false).await
}

#[tokio::test(flavor = "multi_thread")]
async fn hostile_programs_end_so_on_a_warm_interpreter_too() -> Outcome {
    run_all(cases::attacks::all().collect(), true, true).await
}

#[tokio::test(flavor = "multi_thread")]
async fn ordinary_programs_work_on_a_warm_interpreter_too() -> Outcome {
    run_all(cases::ordinary::all().collect(), false, true).await
}

#[tokio::test(flavor = "multi_thread")]
async fn file_operations_gain_no_access() -> Outcome {
    let Some(daemon) = Daemon::start(&["--park", "2"])? else {
        return Ok(());
    };
    let ground = Ground::lay()?;
    let failures = file_attack_failures(&daemon, cases::file_operations::CASES.iter(), &ground).await?;
    let pid = daemon.pid();
    daemon.stop()?;
    settles(pid, |found| found.is_empty()).await?;
    assert!(failures.is_empty(), "{}", failures.join("\n\n"));
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn ordinary_programs_work() -> Outcome {
    run_all(cases::ordinary::all().collect(), false, false).await
}

#[test]
fn case_names_are_unique_and_every_attack_has_a_defence() {
    let mut names = BTreeSet::new();
    let mut proved = 0;
    let programs = cases::attacks::all().map(|case| (case.name, case.defence));
    let operations = cases::file_operations::CASES
        .iter()
        .map(|case| (case.name, case.defence));
    for (name, defence) in programs.chain(operations) {
        match defence {
            Defence::By(switch) => {
                assert!(!switch.is_empty(), "{name}");
                proved += 1;
            }
            Defence::Layers(why) => assert!(!why.is_empty(), "{name}"),
            Defence::None => panic!("{name} is no attack"),
        }
        assert!(names.insert(name), "{name} twice");
    }
    assert!(
        proved >= 120,
        "only {proved} attacks have a defence that can be switched off"
    );
    for case in cases::ordinary::all() {
        assert!(names.insert(case.name), "{} twice", case.name);
    }
    assert!(cases::ordinary::all().count() >= 80);
}
