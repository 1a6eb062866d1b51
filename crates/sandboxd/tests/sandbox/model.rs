//! Random lives of many guests beside a model of them. Guests run, crash, are killed, hang up or are forgotten. No two
//! programs ever meet in one sandbox, boxes keep exactly their own state, and at the end nothing is left.

use std::collections::BTreeMap;
use std::time::Duration;

use proptest::prelude::*;
use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};

use prl_sandbox_proto::{
    CapabilitiesRequest, Cause, CloseRequest, CreateRequest, HealthRequest, Limits, ListRequest, RunOnceRequest,
    RunOnceResult,
};

use crate::boxes::{Boxes, boxes, exec, shell, small};
use crate::support::census::{Census, children, spawner};
use crate::support::{Client, Daemon, Outcome, cause, command, describe, skip, text, until};

/// How many of each kind: plain ones, and those with a warm Python.
const PARKED: u32 = 2;
/// How far a pool may exceed this for a while: by as many as are made at a time.
const ABOVE: u32 = 8;
const SHORT_LEASE_MS: u64 = 1000;
/// Looks for traces of any other program before it leaves its own. Then it crashes, hangs or ends.
const TRACES: &str = "ls -A /work /tmp /dev/shm /run | grep -v ':$' | tr -d '\\n'; for p in /proc/[0-9]*; do case ${p#/proc/} in 1|$$) ;; *) tr '\\0' ' ' 2>/dev/null < $p/cmdline | grep -o 'sleep 97'; esac; done; touch /work/trace /tmp/trace /dev/shm/trace /run/trace; (setsid sleep 97 &); echo; ";
const PYTHON_TRACES: &str = "import builtins, os, sys\nfound = [d for d in ('/work', '/tmp', '/dev/shm', '/run') if os.listdir(d)]\n\
    found += ['module'] if hasattr(builtins, 'trace') or hasattr(os, 'trace') else []\nprint(*found, flush=True)\n\
    builtins.trace = os.trace = 1\nfor d in ('/work', '/tmp', '/dev/shm', '/run'): open(d + '/trace', 'w').close()\n";

#[derive(Clone, Copy, Debug)]
enum Fate {
    Ends,
    /// It ends by its own signal 9.
    Crashes,
    /// It reaches its wall limit.
    Hangs,
    /// Its caller goes away after this many milliseconds.
    HungUp(u64),
}

#[derive(Clone, Debug)]
enum Step {
    /// Several one-shot guests at the same time.
    Runs(Vec<(bool, Fate)>),
    /// A box with the long lease, or with the short one, whose client is dead and does not renew it.
    Create {
        forgotten: bool,
        warm: bool,
    },
    Exec(usize),
    Close(usize),
    /// The init of a box is killed.
    KillInit(usize),
    /// All boxes with the short lease are over.
    Pass,
}

fn fate() -> impl Strategy<Value = Fate> {
    prop_oneof![
        4 => Just(Fate::Ends),
        2 => Just(Fate::Crashes),
        1 => Just(Fate::Hangs),
        2 => (0_u64..60).prop_map(Fate::HungUp),
    ]
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        4 => prop::collection::vec((any::<bool>(), fate()), 1..8).prop_map(Step::Runs),
        3 => any::<(bool, bool)>().prop_map(|(forgotten, warm)| Step::Create { forgotten, warm }),
        4 => any::<usize>().prop_map(Step::Exec),
        1 => any::<usize>().prop_map(Step::Close),
        1 => any::<usize>().prop_map(Step::KillInit),
        1 => Just(Step::Pass),
    ]
}

fn one_shot(python: bool, fate: Fate) -> RunOnceRequest {
    let limits = |request: RunOnceRequest| RunOnceRequest {
        limits: Some(Limits {
            wall_ms: Some(if matches!(fate, Fate::Hangs) { 300 } else { 20_000 }),
            ..request.limits.unwrap_or_default()
        }),
        ..request
    };
    let end = match (fate, python) {
        (Fate::Ends, _) => "",
        (Fate::Crashes, false) => "kill -9 $$",
        (Fate::Crashes, true) => "os.kill(os.getpid(), 9)",
        (Fate::Hangs | Fate::HungUp(_), false) => "sleep 30",
        (Fate::Hangs | Fate::HungUp(_), true) => "__import__('time').sleep(30)",
    };
    limits(if python {
        command(&["python3", "-c", &format!("{PYTHON_TRACES}{end}")])
    } else {
        command(&["sh", "-c", &format!("{TRACES}{end}")])
    })
}

fn judge(fate: Fate, result: &RunOnceResult) {
    let wanted = match fate {
        Fate::Ends => Cause::Exited,
        Fate::Crashes => Cause::Signaled,
        Fate::Hangs => Cause::WallTimeout,
        Fate::HungUp(_) => Cause::Cancelled,
    };
    assert_eq!(cause(result), wanted, "{}", describe(result));
    // A program that is stopped early may have printed nothing.
    let said = text(&result.stdout);
    let early = matches!(fate, Fate::Hangs) && said.is_empty();
    assert!(early || said == "\n", "not alone: {}", describe(result));
}

#[derive(Clone, Copy, Debug)]
struct Held {
    lines: usize,
    forgotten: bool,
}

struct World<'a> {
    daemon: &'a Daemon,
    client: &'a Client,
    boxes: &'a Boxes,
    held: BTreeMap<String, Held>,
    created: &'a std::cell::Cell<usize>,
    has_python: bool,
}

impl World<'_> {
    fn pick(&self, which: usize) -> Option<String> {
        self.held.keys().nth(which % self.held.len().max(1)).cloned()
    }

    async fn take(&mut self, step: &Step) -> Outcome {
        match step {
            Step::Runs(guests) => self.runs(guests).await,
            Step::Create { forgotten, warm } => {
                self.created.set(self.created.get() + 1);
                let id = format!("box-{}", self.created.get());
                let request = CreateRequest {
                    lease_ms: forgotten.then_some(SHORT_LEASE_MS),
                    runtime: if *warm && self.has_python { "python" } else { "" }.to_owned(),
                    ..small(&id)
                };
                self.boxes.clone().create(request).await?;
                let forgotten = *forgotten;
                self.held.insert(id, Held { lines: 0, forgotten });
                Ok(())
            }
            Step::Exec(which) => match self.pick(*which) {
                Some(id) => self.exec(&id).await,
                None => Ok(()),
            },
            Step::Close(which) => {
                let ids: Vec<String> = self.pick(*which).into_iter().collect();
                self.held.retain(|id, _| !ids.contains(id));
                let labels = Default::default();
                self.boxes.clone().close(CloseRequest { ids, labels }).await?;
                Ok(())
            }
            Step::KillInit(which) => match self.pick(*which) {
                Some(id) => self.kill_init(&id).await,
                None => Ok(()),
            },
            Step::Pass => {
                tokio::time::sleep(Duration::from_millis(SHORT_LEASE_MS + 100)).await;
                self.held.retain(|_, held| !held.forgotten);
                Ok(())
            }
        }
    }

    async fn runs(&self, guests: &[(bool, Fate)]) -> Outcome {
        let mut running = tokio::task::JoinSet::new();
        for &(python, fate) in guests {
            let mut client = self.client.clone();
            let request = one_shot(python && self.has_python, fate);
            running.spawn(async move {
                let patience = if let Fate::HungUp(after) = fate { after } else { 60_000 };
                let answer = tokio::time::timeout(Duration::from_millis(patience), client.run_once(request)).await;
                match (answer, fate) {
                    (Err(_), Fate::HungUp(_)) => {}
                    (Ok(Ok(result)), _) => judge(fate, result.get_ref()),
                    (answer, _) => panic!("{fate:?}: {answer:?}"),
                }
            });
        }
        while let Some(done) = running.join_next().await {
            done?;
        }
        Ok(())
    }

    /// The exec finds its own lines and no others, unless its lease was over meanwhile.
    async fn exec(&mut self, id: &str) -> Outcome {
        let held = self.held.get_mut(id).ok_or("not held")?;
        let line = format!("cat note 2>/dev/null; echo '{id} {}' >> note", held.lines);
        let result = match shell(self.boxes, id, &line).await {
            Err(_) if held.forgotten => {
                self.held.remove(id);
                return Ok(());
            }
            result => result?,
        };
        let mine: String = (0..held.lines).map(|line| format!("{id} {line}\n")).collect();
        assert_eq!(
            (cause(&result), text(&result.stdout)),
            (Cause::Exited, mine),
            "{}",
            describe(&result)
        );
        held.lines += 1;
        Ok(())
    }

    async fn kill_init(&mut self, id: &str) -> Outcome {
        let forgotten = self.held.remove(id).is_some_and(|held| held.forgotten);
        let namespace = match shell(self.boxes, id, "readlink /proc/self/ns/pid").await {
            Err(_) if forgotten => return Ok(()),
            result => text(&result?.stdout),
        };
        let of = |pid: u32| std::fs::read_link(format!("/proc/{pid}/ns/pid")).unwrap_or_default();
        let daemon = self.daemon.pid();
        let inits = children(daemon, spawner(daemon)?);
        let init = inits
            .iter()
            .find(|init| of(init.pid).to_string_lossy() == namespace.trim());
        let init = init.ok_or("the box has no init")?;
        // SAFETY: a process of our own daemon.
        assert_eq!(unsafe { libc::kill(init.pid.cast_signed(), libc::SIGKILL) }, 0);
        let dead = async || Ok(shell(self.boxes, id, "true").await.is_err());
        until("a dead box is reported as dead", dead).await
    }

    /// The daemon counts the same as the model, and no more sandboxes wait than may.
    async fn agrees(&self) -> Outcome {
        let sure = self.held.values().filter(|held| !held.forgotten).count();
        let health = self.client.clone().health(HealthRequest {}).await?.into_inner();
        let held = usize::try_from(health.held)?;
        assert!(
            (sure..=self.held.len() + 1).contains(&held),
            "{held} held: {:?}",
            self.held
        );
        let kinds = if self.has_python { 2 } else { 1 };
        assert!(health.parked <= kinds * (PARKED + ABOVE), "{} parked", health.parked);
        Ok(())
    }

    async fn end(self) -> Outcome {
        let listed = self.boxes.clone().list(ListRequest::default()).await?.into_inner();
        let ids = listed.boxes.into_iter().map(|one| one.id).collect();
        let labels = Default::default();
        self.boxes.clone().close(CloseRequest { ids, labels }).await?;
        Ok(())
    }
}

#[test]
fn no_two_programs_meet_and_nothing_is_left() -> Outcome {
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    let parked = PARKED.to_string();
    let warm = format!("python={PARKED}");
    let Some(daemon) = Daemon::start(&["--max-running", "6", "--park", &parked, "--warm", &warm])? else {
        return Ok(());
    };
    if !daemon.is_full() {
        skip("without separate groups and users, sandboxes look like other processes");
        return Ok(());
    }
    let (client, boxes) = runtime
        .block_on(async { Ok::<_, Box<dyn std::error::Error>>((daemon.client().await?, boxes(&daemon).await?)) })?;
    let capabilities = runtime
        .block_on(client.clone().capabilities(CapabilitiesRequest {}))?
        .into_inner();
    let has_python = capabilities.runtimes.iter().any(|one| one.name == "python");
    let parked = if has_python { 2 * PARKED } else { PARKED };
    // Sandboxes beyond the number are used up, not destroyed.
    let quiet = async || {
        until("quiet", async || {
            let health = client.clone().health(HealthRequest {}).await?.into_inner();
            if health.parked > parked {
                client.clone().run_once(one_shot(false, Fate::Ends)).await?;
                client.clone().run_once(one_shot(has_python, Fate::Ends)).await?;
            }
            Ok(health.running == 0 && health.held == 0 && health.parked == parked)
        })
        .await
    };
    runtime.block_on(quiet())?;
    let before = runtime.block_on(Census::settled(daemon.pid()))?;
    let long = std::env::var_os("PRL_TEST_LONG").is_some();
    let config = Config {
        cases: if long { 150 } else { 8 },
        max_shrink_iters: 16,
        failure_persistence: None,
        ..Config::default()
    };
    // Each name is used once.
    let created = std::cell::Cell::new(0);
    let mut runner = TestRunner::new_with_rng(config, TestRng::deterministic_rng(RngAlgorithm::ChaCha));
    runner.run(&prop::collection::vec(step(), 4..14), |steps| {
        let lived = runtime.block_on(async {
            let mut world = World {
                daemon: &daemon,
                client: &client,
                boxes: &boxes,
                held: BTreeMap::new(),
                created: &created,
                has_python,
            };
            for step in &steps {
                world.take(step).await?;
                world.agrees().await?;
            }
            world.end().await?;
            quiet().await
        });
        lived.map_err(|error| TestCaseError::fail(error.to_string()))
    })?;
    runtime.block_on(before.returns(daemon.pid()))?;
    daemon.stop()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_program_that_is_not_the_first_would_be_found_out() -> Outcome {
    let Some(daemon) = Daemon::start(&["--park", "0"])? else {
        return Ok(());
    };
    let mut boxes = boxes(&daemon).await?;
    for (id, argv) in [
        ("sh", ["sh", "-c", TRACES]),
        ("python", ["python3", "-c", PYTHON_TRACES]),
    ] {
        boxes.create(small(id)).await?;
        let first = boxes.exec(exec(id, &argv)).await?.into_inner();
        assert_eq!(text(&first.stdout), "\n", "{}", describe(&first));
        let second = boxes.exec(exec(id, &argv)).await?.into_inner();
        assert_ne!(text(&second.stdout), "\n", "{}", describe(&second));
    }
    daemon.stop()
}
