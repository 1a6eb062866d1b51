//! Each defence is needed: when it is off, every attack that names it succeeds.

use std::collections::BTreeMap;

use prl_sandbox_proto::{CapabilitiesRequest, RunOnceRequest};

use crate::cases::file_operations::{self, FileAttack};
use crate::cases::{Case, Defence, attacks};
use crate::node::life;
use crate::programs::{failures, file_attack_failures};
use crate::support::ground::Ground;
use crate::support::{Daemon, Outcome, settles, skip};

/// How often an attack that depends on a race is tried.
const TRIES: usize = 6;
/// How many defences are tested at a time, each in a separate daemon.
const AT_ONCE: usize = 3;

/// How an attack is made on a warm runtime.
type Way = fn(&Case, &Ground) -> Option<RunOnceRequest>;
const WARM: [(&str, Way); 2] = [("python", Case::on_warm_python), ("node", life::below)];
/// Attacks below a Node have this defence from the Node: it resets signals in a new process.
const BY_NODE: (&str, &str) = ("node", "default-signals");

/// The attacks that one defence stops.
#[derive(Default)]
struct Attacks {
    programs: Vec<&'static Case>,
    operations: Vec<&'static FileAttack>,
}

impl Attacks {
    fn names(&self) -> impl Iterator<Item = &'static str> {
        let programs = self.programs.iter().map(|case| case.name);
        programs.chain(self.operations.iter().map(|case| case.name))
    }
}

fn by_switch() -> BTreeMap<&'static str, Attacks> {
    let mut cases: BTreeMap<_, Attacks> = BTreeMap::new();
    for case in attacks::all() {
        if let Defence::By(switch) = case.defence {
            cases.entry(switch).or_default().programs.push(case);
        }
    }
    for case in file_operations::CASES {
        if let Defence::By(switch) = case.defence {
            cases.entry(switch).or_default().operations.push(case);
        }
    }
    cases
}

/// The cases that end as they should although the defence is off; `None` where they prove nothing here.
async fn unimpressed(switch: &str, attacks: Attacks) -> Result<Option<Vec<String>>, Box<dyn std::error::Error>> {
    let arguments = [
        "--max-running",
        "6",
        "--park",
        "1",
        "--warm",
        "python=1,node=1",
        "--without",
        switch,
    ];
    let Some(daemon) = Daemon::start(&arguments)? else {
        return Ok(None);
    };
    if !daemon.is_full() {
        return Ok(None);
    }
    let ground = Ground::lay()?;
    let client = daemon.client().await?;
    let mut failed = file_attack_failures(&daemon, attacks.operations.iter().copied(), &ground).await?;
    let stopped =
        |failed: &[String], name: &str| !failed.iter().any(|failure| failure.starts_with(&format!("{name}:")));
    for _ in 0..TRIES {
        let left: Vec<&Case> = attacks
            .programs
            .iter()
            .copied()
            .filter(|case| stopped(&failed, case.name))
            .collect();
        failed.extend(failures(&client, left.into_iter().map(|case| (case, case.request(&ground)))).await?);
    }
    let mut stopped_warm = Vec::new();
    let warm = client.clone().capabilities(CapabilitiesRequest {}).await?.into_inner();
    for (runtime, way) in WARM {
        if !warm.runtimes.iter().any(|one| one.name == runtime) {
            skip(&format!("no warm {runtime} without {switch}: {:?}", warm.facilities));
            continue;
        }
        let mut failed = Vec::new();
        for _ in 0..TRIES {
            let left = attacks.programs.iter().copied();
            let left = left.filter(|case| stopped(&failed, case.name));
            let requests = left.filter_map(|case| Some((case, way(case, &ground)?)));
            failed.extend(failures(&client, requests).await?);
        }
        let proves = |case: &&&Case| way(case, &ground).is_some() && !(runtime, switch).eq(&BY_NODE);
        let left = attacks.programs.iter().filter(proves);
        let left = left.filter(|case| stopped(&failed, case.name));
        stopped_warm.extend(left.map(|case| format!("{} without {switch}, on a warm {runtime}", case.name)));
    }
    let pid = daemon.pid();
    drop(client);
    daemon.stop()?;
    settles(pid, |found| found.is_empty()).await?;
    let switches = attacks
        .names()
        .filter(|name| stopped(&failed, name))
        .map(|name| format!("{name} without {switch}"));
    Ok(Some(switches.chain(stopped_warm).collect()))
}

#[tokio::test(flavor = "multi_thread")]
async fn without_its_defence_every_attack_succeeds() -> Outcome {
    let mut left = by_switch().into_iter();
    let mut running = tokio::task::JoinSet::new();
    let mut ineffective = Vec::new();
    loop {
        while running.len() < AT_ONCE
            && let Some((switch, attacks)) = left.next()
        {
            running.spawn(async move {
                unimpressed(switch, attacks)
                    .await
                    .map_err(|error| format!("{switch}: {error}"))
            });
        }
        let Some(done) = running.join_next().await else { break };
        match done?? {
            Some(cases) => ineffective.extend(cases),
            None => skip("limits of the whole tree need cgroups"),
        }
    }
    assert!(
        ineffective.is_empty(),
        "these prove nothing of their defence:\n{}",
        ineffective.join("\n")
    );
    Ok(())
}

#[test]
fn the_daemon_knows_each_defence_and_each_has_an_attack() -> Outcome {
    let output = std::process::Command::new(env!("CARGO_BIN_EXE_prl-sandboxd"))
        .args(["--without", "?"])
        .output()?;
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    let (_, known) = said.split_once("known: ").ok_or_else(|| said.clone())?;
    let known: Vec<_> = known.split_whitespace().collect();
    let attacked: Vec<_> = by_switch().into_keys().collect();
    assert!(
        attacked.iter().all(|switch| known.contains(switch)),
        "{attacked:?} beside {known:?}"
    );
    assert!(
        known.iter().all(|switch| attacked.contains(switch)),
        "{attacked:?} beside {known:?}"
    );
    Ok(())
}
