//! The daemon's metrics for Prometheus: OpenMetrics text.

use std::fmt;
use std::fs;
use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

use prometheus_client::collector::Collector;
use prometheus_client::encoding::DescriptorEncoder;
use prometheus_client::encoding::text::encode;
use prometheus_client::metrics::info::Info;
use prometheus_client::registry::Registry;

use super::writer::Writer;
use crate::counts::COUNTS;
use crate::plan::isolation_name;
use crate::state::DaemonState;

/// USER_HZ, which is the same on every machine that this program runs on.
const TICKS_PER_SECOND: f64 = 100.0;
/// The content type of the page.
pub(super) const CONTENT_TYPE: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

/// See the module.
#[derive(Debug)]
pub(super) struct Page(Registry);

impl Page {
    pub(super) fn new(state: &Arc<DaemonState>) -> Self {
        let mut registry = Registry::default();
        let about = [
            ("version", env!("CARGO_PKG_VERSION")),
            ("isolation", isolation_name(state.probe.isolation)),
            ("cgroups", state.probe.cgroups),
        ];
        registry.register("prl_sandbox", "What the daemon is", Info::new(about));
        let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        registry.register_collector(Box::new(Daemon {
            state: Arc::clone(state),
            since: since.as_secs_f64(),
        }));
        Self(registry)
    }

    pub(super) fn text(&self) -> Result<String, fmt::Error> {
        let mut text = String::new();
        encode(&mut text, &self.0)?;
        Ok(text)
    }
}

/// Reads the daemon's values when the page is asked for.
#[derive(Debug)]
struct Daemon {
    state: Arc<DaemonState>,
    /// When it began to serve, in seconds since 1970.
    since: f64,
}

impl Collector for Daemon {
    fn encode(&self, encoder: DescriptorEncoder<'_>) -> fmt::Result {
        let mut page = Writer(encoder);
        self.busy(&mut page)?;
        self.made(&mut page)?;
        ended(&mut page)?;
        self.process(&mut page)
    }
}

impl Daemon {
    fn busy(&self, page: &mut Writer<'_>) -> fmt::Result {
        let state = &self.state;
        let load = state.load();
        page.gauge(
            "prl_sandbox_running",
            "Runs and requests of tests that have a slot",
            load.running.into(),
        )?;
        page.gauge("prl_sandbox_capacity", "Slots; 0 while it drains", load.capacity.into())?;
        page.gauge("prl_sandbox_queued", "Runs that wait for a slot", load.queued.into())?;
        page.times(
            "prl_sandbox_queue_wait_seconds",
            "How long runs waited that got a slot",
            &COUNTS.queued,
        )?;
        page.gauge(
            "prl_sandbox_held",
            "Boxes that are held under a lease",
            load.held.into(),
        )?;
        let reasons = COUNTS.boxes_ended_by_reason();
        page.counters("prl_sandbox_boxes_ended", "Held boxes that ended", "reason", &reasons)?;
        let unread = state.results.held() as f64;
        page.gauge(
            "prl_sandbox_unread_result_bytes",
            "Bytes of results that their callers have not read yet",
            unread,
        )
    }

    fn made(&self, page: &mut Writer<'_>) -> fmt::Result {
        let state = &self.state;
        let runtimes = state.warm.report();
        let warm = runtimes
            .iter()
            .map(|runtime| (runtime.name.as_str(), f64::from(runtime.parked)));
        let parked: Vec<_> = [("exec", state.pool.parked() as f64)].into_iter().chain(warm).collect();
        page.gauges("prl_sandbox_parked", "Sandboxes made in advance", "runtime", &parked)?;
        let for_tests = state.warm.parked_for_tests();
        let for_tests: Vec<_> = for_tests.map(|(name, parked)| (name, parked as f64)).collect();
        page.gauges(
            "prl_sandbox_parked_for_tests",
            "Sandboxes made in advance for the cases of RunTests, beside those",
            "runtime",
            &for_tests,
        )?;
        page.times(
            "prl_sandbox_setup_seconds",
            "From a run's slot to the start of its program",
            &COUNTS.set_up,
        )?;
        let births = &COUNTS.births;
        let failed = births.each_ref().map(|births| (births.kind, births.failed()));
        page.counters(
            "prl_sandbox_births_failed",
            "Sandboxes and zygotes that were begun and could not be made",
            "kind",
            &failed,
        )?;
        let [sandboxes, zygotes] = births;
        page.times(
            "prl_sandbox_birth_seconds",
            "Sandboxes that were made, and how long it took",
            &sandboxes.took,
        )?;
        page.times(
            "prl_sandbox_zygote_birth_seconds",
            "Zygotes that were made in sandboxes, and how long it took",
            &zygotes.took,
        )?;
        page.counter(
            "prl_sandbox_template_restarts",
            "Interpreters that fork zygotes, started again",
            COUNTS.template_restarts() as f64,
        )
    }

    fn process(&self, page: &mut Writer<'_>) -> fmt::Result {
        let tasks = tokio::runtime::Handle::current().metrics().num_alive_tasks();
        page.gauge("prl_sandbox_tasks", "Tasks of the daemon's executor", tasks as f64)?;
        page.times(
            "prl_sandbox_executor_lag_seconds",
            "How late the executor called a task",
            &COUNTS.lag,
        )?;
        let since = "When the daemon began to serve, since 1970";
        page.gauge("process_start_time_seconds", since, self.since)?;
        let Some(own) = Own::read() else {
            return Ok(());
        };
        page.counter(
            "process_cpu_seconds",
            "Processor time of the daemon, without its sandboxes",
            own.cpu_seconds,
        )?;
        page.gauge(
            "process_resident_memory_bytes",
            "Memory of the daemon",
            own.memory_bytes,
        )?;
        page.gauge("process_open_fds", "Open files of the daemon", own.open_files)
    }
}

fn ended(page: &mut Writer<'_>) -> fmt::Result {
    page.counters(
        "prl_sandbox_runs",
        "Runs, execs and cases that ended",
        "cause",
        &COUNTS.ended_by_cause(),
    )?;
    page.times("prl_sandbox_run_seconds", "How long programs ran", &COUNTS.ran)?;
    page.counter(
        "prl_sandbox_output_bytes",
        "What programs wrote to their output, kept or not",
        COUNTS.output_bytes() as f64,
    )?;
    page.counters(
        "prl_sandbox_errors",
        "Refusals and failures that callers got",
        "code",
        &COUNTS.errors_by_code(),
    )
}

/// The kernel's figures for this process.
struct Own {
    cpu_seconds: f64,
    memory_bytes: f64,
    open_files: f64,
}

impl Own {
    /// `None` where proc cannot be read.
    fn read() -> Option<Self> {
        let stat = fs::read_to_string("/proc/self/stat").ok()?;
        // The name may contain any character. Behind it are the state and numbers; user and system time are the 12th
        // and 13th.
        let numbers = stat.rsplit_once(") ")?.1.split(' ').skip(11).take(2);
        let ticks: u64 = numbers.filter_map(|number| number.parse::<u64>().ok()).sum();
        let status = fs::read_to_string("/proc/self/status").ok()?;
        let resident = status.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
        let kilobytes: f64 = resident.trim().strip_suffix(" kB")?.parse().ok()?;
        Some(Self {
            cpu_seconds: ticks as f64 / TICKS_PER_SECOND,
            memory_bytes: kilobytes * 1024.0,
            open_files: fs::read_dir("/proc/self/fd").ok()?.count() as f64,
        })
    }
}
