//! Many tests of one program: all results at once, on their way to JavaScript.

use napi_derive::napi;
use prl_sandbox_client::{ClientError, TestEvent, TestRun};

use super::result::NativeRunResult;

/// How a run of tests ended.
#[napi(object, use_nullable = true)]
pub struct NativeTestsResult {
    /// Null without a build, or when it did not end.
    pub build: Option<NativeRunResult>,
    /// In the order of the cases; null where there is none.
    pub cases: Vec<Option<NativeRunResult>>,
    /// Why cases have no result; null when none was missing for a reason of the infrastructure.
    pub ended_early: Option<NativeRunResult>,
}

/// Takes results until the last.
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
