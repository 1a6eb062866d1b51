//! Runs of many tests of one program: collects all results for JavaScript.

use napi_derive::napi;
use prl_sandbox_client::{ClientError, TestEvent, TestRun};

use super::result::NativeRunResult;

/// How a run of tests ended.
#[napi(object, use_nullable = true)]
pub struct NativeTestsResult {
    /// Null without a build, or when the build did not end.
    pub build: Option<NativeRunResult>,
    /// In the order of the cases; null for a case without a result.
    pub cases: Vec<Option<NativeRunResult>>,
    /// Why cases have no result, when the infrastructure is the reason; null otherwise.
    pub ended_early: Option<NativeRunResult>,
}

/// Collects results until the run of tests ends.
pub(crate) async fn collect(mut run: TestRun, cases: usize) -> Result<NativeTestsResult, ClientError> {
    let mut result = NativeTestsResult {
        build: None,
        cases: (0..cases).map(|_| None).collect(),
        ended_early: None,
    };
    while let Some(event) = run.next().await {
        match event? {
            TestEvent::Build(outcome) => result.build = Some(outcome.into()),
            TestEvent::Case { index, outcome } => {
                if let Some(place) = result.cases.get_mut(index) {
                    *place = Some(outcome.into());
                }
            }
            TestEvent::End(why) => result.ended_early = why.map(NativeRunResult::from),
        }
    }
    Ok(result)
}
