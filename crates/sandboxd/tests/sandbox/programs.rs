//! Hostile and ordinary programs through the real interface, and the machine afterwards.

use std::collections::BTreeMap;

use crate::cases::{self, Case, Program, case};
use crate::support::{Daemon, Outcome, settles, skip};

/// Cases at a time: neighbours must not disturb each other.
const AT_ONCE: usize = 6;

/// Runs all cases on one daemon and looks at the machine.
async fn run_all(cases: &'static [Case], bombs: bool) -> Outcome {
    let Some(daemon) = Daemon::start(&["--max-running", "6", "--park", "3"])? else {
        return Ok(());
    };
    if bombs && !daemon.is_full() {
        skip(&format!("limits of the whole tree need cgroups: {}", daemon.announced));
        return Ok(());
    }
    let client = daemon.client().await?;
    let mut running = tokio::task::JoinSet::new();
    let mut failures = Vec::new();
    for case in cases {
        if running.len() >= AT_ONCE
            && let Some(done) = running.join_next().await
        {
            failures.extend(done?);
        }
        let mut client = client.clone();
        running.spawn(async move {
            match client.run_once(case.request()).await {
                Ok(result) => case.verdict(result.get_ref()).err(),
                Err(status) => Some(format!("{}: {status}", case.name)),
            }
        });
    }
    while let Some(done) = running.join_next().await {
        failures.extend(done?);
    }
    let parked = 3;
    settles(daemon.pid(), |found| {
        found.iter().filter(|trace| trace.starts_with("group ")).count() <= 3 * parked
    })
    .await?;
    let pid = daemon.pid();
    drop(client);
    daemon.stop()?;
    settles(pid, |found| found.is_empty()).await?;
    assert!(
        failures.is_empty(),
        "{} of {} cases failed:\n{}",
        failures.len(),
        cases.len(),
        failures.join("\n\n")
    );
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn hostile_programs_end_as_they_must() -> Outcome {
    run_all(cases::attacks::ATTACKS, true).await
}

#[tokio::test(flavor = "multi_thread")]
async fn ordinary_programs_work() -> Outcome {
    run_all(cases::ordinary::ORDINARY, false).await
}

#[test]
fn every_attack_names_its_defence_and_has_a_name_of_its_own() {
    let mut names = BTreeMap::new();
    for case in cases::attacks::ATTACKS {
        assert!(!case.defence.is_empty(), "{}", case.name);
        assert!(names.insert(case.name, case.defence).is_none(), "{} twice", case.name);
    }
    assert!(matches!(case("", "", Program::Sh(""), "").program, Program::Sh("")));
}
