//! The pool beside a model. For all callers and set-ups: no sandbox is given out twice or forgotten, the number that is
//! being made and the number that waits are as specified.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use proptest::prelude::*;
use tokio::task::JoinHandle;

use super::*;

#[derive(Clone, Debug)]
enum Step {
    Acquire,
    AcquireWithImage,
    /// A caller that does not wait takes one.
    Take,
    /// A guest's run ends, or its sandbox dies: in both cases the sandbox is ended and never comes back.
    Release(usize),
    /// A parked sandbox dies.
    Die(usize),
    /// A waiting caller goes away, before or after a sandbox was found for it.
    GoAway(usize),
    /// This many of the next set-ups fail.
    Fail(usize),
    Pass(u64),
    /// The other tasks get a little further. Without it a caller may go away after its answer was sent and before it
    /// was read.
    Yield,
    Close,
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        8 => Just(Step::Acquire),
        2 => Just(Step::AcquireWithImage),
        2 => Just(Step::Take),
        5 => any::<usize>().prop_map(Step::Release),
        2 => any::<usize>().prop_map(Step::Die),
        3 => any::<usize>().prop_map(Step::GoAway),
        1 => (1_usize..4).prop_map(Step::Fail),
        5 => (0_u64..60).prop_map(Step::Pass),
        3 => Just(Step::Yield),
        1 => Just(Step::Close),
    ]
}

/// Everything that was ever made.
#[derive(Debug, Default)]
struct World {
    next: AtomicUsize,
    alive: Mutex<BTreeSet<usize>>,
    /// Without those with an image, which are made for their callers outside of the pool's bound.
    making: AtomicUsize,
    most_making: AtomicUsize,
    to_fail: AtomicUsize,
    /// Set-ups that were begun and did not end.
    half_made: AtomicUsize,
}

impl World {
    fn alive(&self) -> MutexGuard<'_, BTreeSet<usize>> {
        self.alive.lock().expect("no panic")
    }
}

struct Guest {
    id: usize,
    world: Arc<World>,
    dead: AtomicBool,
}

impl Destroy for Guest {
    fn lives(&self) -> bool {
        !self.dead.load(Ordering::Relaxed)
    }

    async fn destroy(self) {
        tokio::time::sleep(Duration::from_millis(3)).await;
        assert!(self.world.alive().remove(&self.id), "destroyed twice");
    }
}

struct Making(Arc<World>);

impl Make for Making {
    type Made = Guest;

    async fn make(&self, image: u32) -> Answer<Guest> {
        let world = &self.0;
        world.half_made.fetch_add(1, Ordering::Relaxed);
        let counts = usize::from(image == 0);
        let at_once = world.making.fetch_add(counts, Ordering::Relaxed) + counts;
        world.most_making.fetch_max(at_once, Ordering::Relaxed);
        let id = world.next.fetch_add(1, Ordering::Relaxed);
        tokio::time::sleep(Duration::from_millis(1 + id as u64 * 7 % 31)).await;
        world.making.fetch_sub(counts, Ordering::Relaxed);
        world.half_made.fetch_sub(1, Ordering::Relaxed);
        let fails = world
            .to_fail
            .try_update(Ordering::Relaxed, Ordering::Relaxed, |left| left.checked_sub(1));
        if fails.is_ok() {
            return Err(SandboxError::InitDied);
        }
        world.alive().insert(id);
        Ok(Guest {
            id,
            world: Arc::clone(world),
            dead: AtomicBool::new(false),
        })
    }
}

/// Longer than any set-up, any pause after a failure and any end together.
const LONG: Duration = Duration::from_secs(5);

/// Callers of the pool, as in the daemon.
struct Callers {
    pool: Arc<Pool<Making>>,
    waiting: Vec<JoinHandle<Answer<Guest>>>,
    running: Vec<Guest>,
    seen: BTreeSet<usize>,
    failed: usize,
}

impl Callers {
    async fn take(&mut self, step: &Step) {
        match step {
            Step::Acquire | Step::AcquireWithImage => {
                let pool = Arc::clone(&self.pool);
                let image = u32::from(matches!(step, Step::AcquireWithImage));
                self.waiting
                    .push(tokio::spawn(async move { pool.acquire(image).await }));
            }
            Step::Take => {
                let lives = self.pool.lock().idle.iter().any(Guest::lives);
                let taken = self.pool.take();
                assert_eq!(taken.is_some(), lives);
                taken.into_iter().for_each(|guest| self.run(guest));
            }
            Step::Release(which) if !self.running.is_empty() => {
                let guest = self.running.swap_remove(which % self.running.len());
                tokio::spawn(guest.destroy());
            }
            Step::Die(which) => {
                let state = self.pool.lock();
                let dies = which
                    .checked_rem(state.idle.len())
                    .and_then(|which| state.idle.get(which));
                if let Some(guest) = dies {
                    guest.dead.store(true, Ordering::Relaxed);
                }
            }
            Step::GoAway(which) if !self.waiting.is_empty() => {
                self.waiting.swap_remove(which % self.waiting.len()).abort();
            }
            Step::Fail(count) => self.pool.maker.0.to_fail.store(*count, Ordering::Relaxed),
            Step::Pass(milliseconds) => tokio::time::sleep(Duration::from_millis(*milliseconds)).await,
            Step::Yield => tokio::task::yield_now().await,
            Step::Close => self.pool.close().await,
            Step::Release(_) | Step::GoAway(_) => {}
        }
        self.collect().await;
    }

    fn run(&mut self, guest: Guest) {
        assert!(self.seen.insert(guest.id), "given out twice");
        assert!(self.pool.maker.0.alive().contains(&guest.id), "given out destroyed");
        assert!(guest.lives(), "given out dead");
        self.running.push(guest);
    }

    /// Callers that were answered run.
    async fn collect(&mut self) {
        let (answered, waiting) = self.waiting.drain(..).partition(JoinHandle::is_finished);
        self.waiting = waiting;
        for call in answered {
            match call.await.expect("no panic") {
                Ok(guest) => self.run(guest),
                Err(_) => self.failed += 1,
            }
        }
    }
}

#[tokio::test(start_paused = true)]
async fn failures_do_not_multiply() {
    let world = Arc::new(World::default());
    world.to_fail.store(usize::MAX, Ordering::Relaxed);
    let pool = Pool::new(Making(Arc::clone(&world)), 100);
    tokio::time::sleep(LONG).await;
    let rounds = LONG.as_millis() / AFTER_FAILURE.as_millis() + 1;
    let most = MAKING_AT_ONCE * usize::try_from(rounds).expect("few");
    let tried = world.next.load(Ordering::Relaxed);
    assert!(
        (MAKING_AT_ONCE + 1..=most).contains(&tried),
        "{tried} times in {LONG:?}"
    );
    world.to_fail.store(0, Ordering::Relaxed);
    tokio::time::sleep(LONG).await;
    assert_eq!(pool.parked(), 100, "it goes on when it can");
    pool.close().await;
}

#[tokio::test(start_paused = true)]
async fn those_that_died_are_made_up_for_as_late_as_those_that_were_taken() {
    let world = Arc::new(World::default());
    let (patience, most_making) = (Duration::from_millis(500), Duration::from_millis(40));
    let pool = Pool::patient(Making(Arc::clone(&world)), patience);
    pool.keep(4);
    for (die, comes) in [(1, patience), (4, Duration::ZERO)] {
        tokio::time::sleep(LONG).await;
        assert_eq!((pool.parked(), world.alive().len()), (4, 4));
        for guest in pool.lock().idle.iter().take(die) {
            guest.dead.store(true, Ordering::Relaxed);
        }
        let taken = pool.take();
        assert_eq!(taken.is_some(), die < 4);
        let left = pool.parked();
        if let Some(guest) = taken {
            guest.destroy().await;
        }
        tokio::time::sleep(comes.saturating_sub(most_making)).await;
        assert_eq!(pool.parked(), left, "too early");
        tokio::time::sleep(2 * most_making).await;
        assert_eq!((pool.parked(), world.alive().len()), (4, 4));
    }
    pool.close().await;
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(if std::env::var_os("PRL_TEST_LONG").is_some() { 20_000 } else { 500 }))]
    #[test]
    fn no_sandbox_is_shared_or_forgotten(target in 0_usize..6, patience_ms in 0_u64..100, steps in prop::collection::vec(step(), 1..80)) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build();
        runtime.expect("a runtime").block_on(async move {
            let world = Arc::new(World::default());
            let pool = Pool::patient(Making(Arc::clone(&world)), Duration::from_millis(patience_ms));
            pool.keep(target);
            let mut callers = Callers { pool, waiting: Vec::new(), running: Vec::new(), seen: BTreeSet::new(), failed: 0 };
            let mut failures = 0;
            for step in &steps {
                callers.take(step).await;
                failures += if let Step::Fail(count) = step { *count } else { 0 };
                assert!(callers.pool.parked() <= target + MAKING_AT_ONCE);
            }
            let closed = steps.iter().any(|step| matches!(step, Step::Close));
            tokio::time::sleep(LONG).await;
            callers.collect().await;
            // Every caller has an answer. Only failures of set-ups and the end of the pool are bad answers.
            assert!(callers.waiting.is_empty(), "{} still wait", callers.waiting.len());
            assert!(closed || callers.failed <= failures, "{} of {failures}", callers.failed);
            assert!(world.most_making.load(Ordering::Relaxed) <= MAKING_AT_ONCE);
            let parked = callers.pool.parked();
            assert!(if closed { parked == 0 } else { (target..=target + MAKING_AT_ONCE).contains(&parked) }, "{parked} of {target} parked");
            assert_eq!(world.alive().len(), callers.running.len() + parked, "forgotten");
            callers.pool.close().await;
            for guest in callers.running.drain(..) {
                guest.destroy().await;
            }
            tokio::time::sleep(LONG).await;
            assert!(world.alive().is_empty(), "left behind");
            assert_eq!(world.half_made.load(Ordering::Relaxed), 0, "a set-up that ended with its caller leaves its groups");
        });
    }
}
