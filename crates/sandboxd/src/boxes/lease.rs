//! How long a box may live: while calls name it, and never beyond its lifetime. Its callers pass the time in.

use std::time::{Duration, Instant};

/// See the module.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Lease {
    length: Duration,
    /// The time at which the last call ended, or the box began.
    renewed: Instant,
    /// How many calls go on now.
    calls: usize,
    /// The time at which its lifetime ends.
    ends: Option<Instant>,
}

/// The reason why a box ends, if there is one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Due {
    /// The box does not end before this time.
    At(Instant),
    /// No end is known now.
    Never,
    LeaseOver,
    LifetimeOver,
}

impl Lease {
    pub(crate) fn new(now: Instant, length: Duration, lifetime: Option<Duration>) -> Self {
        Self {
            length,
            renewed: now,
            calls: 0,
            ends: lifetime.map(|lifetime| now + lifetime),
        }
    }

    pub(crate) fn length(&self) -> Duration {
        self.length
    }

    /// Begins a call, which holds the lease until it ends.
    pub(crate) fn begin(&mut self) {
        self.calls += 1;
    }

    pub(crate) fn end(&mut self, now: Instant) {
        self.calls = self.calls.saturating_sub(1);
        self.renewed = now;
    }

    /// Notes a call that ends at once.
    pub(crate) fn renew(&mut self, now: Instant) {
        self.renewed = now;
    }

    pub(crate) fn set_lifetime(&mut self, now: Instant, lifetime: Option<Duration>) {
        self.renewed = now;
        self.ends = lifetime.map(|lifetime| now + lifetime);
    }

    /// The rest of the lifetime.
    pub(crate) fn remaining(&self, now: Instant) -> Option<Duration> {
        self.ends.map(|ends| ends.saturating_duration_since(now))
    }

    /// Whether the box ends now, or when to look again.
    pub(crate) fn due(&self, now: Instant) -> Due {
        if self.ends.is_some_and(|ends| ends <= now) {
            return Due::LifetimeOver;
        }
        let lease = (self.calls == 0).then(|| self.renewed + self.length);
        if lease.is_some_and(|lease| lease <= now) {
            return Due::LeaseOver;
        }
        match (lease, self.ends) {
            (Some(lease), Some(ends)) => Due::At(lease.min(ends)),
            (Some(at), None) | (None, Some(at)) => Due::At(at),
            (None, None) => Due::Never,
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[derive(Clone, Debug)]
    enum Step {
        Pass(u64),
        Begin,
        End,
        Renew,
        Lifetime(Option<u64>),
    }

    fn step() -> impl Strategy<Value = Step> {
        prop_oneof![
            (0_u64..150).prop_map(Step::Pass),
            Just(Step::Begin),
            Just(Step::End),
            Just(Step::Renew),
            prop::option::of(0_u64..400).prop_map(Step::Lifetime),
        ]
    }

    proptest! {
        /// The lease against its definition over the whole history: the box ends when no call named it for the lease's
        /// length, or when its lifetime is over. Until the time that `due` names, neither happens by itself.
        #[test]
        fn a_box_ends_when_no_call_named_it_or_its_time_is_up(steps in prop::collection::vec(step(), 0..60)) {
            let start = Instant::now();
            let length = 100;
            let at = |ms: u64| start + Duration::from_millis(ms);
            let mut lease = Lease::new(start, Duration::from_millis(length), None);
            let (mut now, mut last, mut calls, mut ends) = (0_u64, 0_u64, 0_u32, None::<u64>);
            for step in steps {
                let promised = lease.due(at(now));
                match step {
                    Step::Pass(ms) => {
                        now += ms;
                        if let Due::At(time) = promised {
                            prop_assert_eq!(time <= at(now), !matches!(lease.due(at(now)), Due::At(_) | Due::Never));
                        }
                    }
                    Step::Begin => {
                        calls += 1;
                        lease.begin();
                    }
                    Step::End if calls > 0 => {
                        calls -= 1;
                        last = now;
                        lease.end(at(now));
                    }
                    Step::End => {}
                    Step::Renew => {
                        last = now;
                        lease.renew(at(now));
                    }
                    Step::Lifetime(lifetime) => {
                        last = now;
                        ends = lifetime.map(|lifetime| now + lifetime);
                        lease.set_lifetime(at(now), lifetime.map(Duration::from_millis));
                    }
                }
                let too_old = ends.is_some_and(|ends| ends <= now);
                let forgotten = calls == 0 && now >= last + length;
                match lease.due(at(now)) {
                    Due::LifetimeOver => prop_assert!(too_old),
                    Due::LeaseOver => prop_assert!(forgotten && !too_old),
                    Due::Never => prop_assert!(calls > 0 && ends.is_none()),
                    Due::At(time) => prop_assert!(!too_old && !forgotten && time > at(now)),
                }
                if too_old || forgotten {
                    break;
                }
            }
        }
    }
}
