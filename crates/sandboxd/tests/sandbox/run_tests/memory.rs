//! Cases that fill memory with things that survive them are reported as OOM, and never as a failure of ours.

use prl_sandbox_proto::{Cause, RunOnceRequest};

use super::{judge, on_each, tests};
use crate::boxes::memory::{LEAVES_FILES, LEAVES_SEGMENTS, ends_in_full_memory, limits};
use crate::support::{Outcome, command, skip};

#[tokio::test(flavor = "multi_thread")]
async fn cases_that_fill_memory_have_its_cause() -> Outcome {
    on_each(async |runtime, client| {
        let capabilities = client
            .clone()
            .capabilities(prl_sandbox_proto::CapabilitiesRequest {})
            .await?;
        if capabilities.into_inner().isolation() != prl_sandbox_proto::Isolation::Full {
            skip("memory of a whole tree is not limited here");
            return Ok(());
        }
        for program in [LEAVES_SEGMENTS, LEAVES_FILES] {
            let request = RunOnceRequest {
                limits: Some(limits()),
                ..command(&program)
            };
            let judged = judge(client, tests(request, &[""; 8])).await?;
            let causes = judged.causes();
            assert_eq!(causes.len(), 8, "{runtime}: {program:?}");
            assert!(
                causes.contains(&Cause::Oom) && causes.iter().all(|cause| ends_in_full_memory(*cause)),
                "{runtime}: {program:?}: {causes:?}"
            );
        }
        Ok(())
    })
    .await
}
