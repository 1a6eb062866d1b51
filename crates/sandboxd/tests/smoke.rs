//! One run from end to end.

mod support;

use prl_sandbox_proto::Cause;
use support::{Daemon, Outcome, cause, command, settles, tell, text};

#[tokio::test]
async fn a_program_runs_and_nothing_is_left() -> Outcome {
    let Some(daemon) = Daemon::start(&["--park", "2"])? else { return Ok(()) };
    let mut client = daemon.client().await?;
    for argv in [&["python3", "-c", "print(1)"][..], &["/bin/true"], &["sh", "-c", "id; ls -la / /work /dev /proc/self/fd; cat /proc/self/status /proc/self/cgroup /proc/self/mountinfo"]] {
        let result = client.run_once(command(argv)).await?.into_inner();
        eprintln!("{} {:?} {:?}", tell(&result), result.usage, result.timings);
        assert_eq!(cause(&result), Cause::Exited, "{}", tell(&result));
    }
    let pid = daemon.pid();
    daemon.stop()?;
    settles(pid, |found| found.is_empty()).await
}
