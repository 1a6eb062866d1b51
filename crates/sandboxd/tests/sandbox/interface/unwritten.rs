//! Files that cannot be written: the verdict is the same, however the files are given.

use prl_sandbox_proto::{
    Cause, CloseRequest, CreateRequest, InputFile, Limit, Limits, RunOnceResult, WriteFileRequest,
};
use tonic::Code;

use crate::boxes::{Boxes, boxes, in_every_tier, small};
use crate::run_tests::{TestsResult, judge, tests};
use crate::support::{Client, Outcome, cause, command, describe, tight};

/// Files, limits, and the verdict.
struct Case {
    name: &'static str,
    files: Vec<(String, usize)>,
    limits: Limits,
    says: &'static str,
    limit: Option<Limit>,
}

fn cases() -> Vec<Case> {
    let file = |path: &str, bytes| (path.to_owned(), bytes);
    let plain = |name, files, says| Case {
        name,
        files,
        limits: tight(),
        says,
        limit: None,
    };
    vec![
        Case {
            limits: Limits {
                disk_bytes: Some(1 << 20),
                ..tight()
            },
            limit: Some(Limit::Disk),
            ..plain("disk", vec![file("d/f", 3 << 20)], "d/f: ")
        },
        Case {
            limits: Limits {
                inodes: Some(20),
                ..tight()
            },
            limit: Some(Limit::Inodes),
            ..plain(
                "inodes",
                (0..50).map(|number| (format!("f{number}"), 1)).collect(),
                "no inode is left",
            )
        },
        Case {
            limits: Limits {
                memory_bytes: Some(20 << 20),
                disk_bytes: Some(100 << 20),
                ..tight()
            },
            limit: Some(Limit::Memory),
            ..plain(
                "memory",
                vec![file("a", 15 << 20), file("b", 15 << 20)],
                "bytes of memory",
            )
        },
        plain(
            "a file where a directory is wanted",
            vec![file("a", 1), file("a/b", 1)],
            "a/b: Not a directory",
        ),
        plain(
            "a directory where a file is wanted",
            vec![file("a/b", 1), file("a", 1)],
            "a: Is a directory",
        ),
        plain(
            "a long name",
            vec![(format!("d/{}", "n".repeat(300)), 1)],
            "File name too long",
        ),
        plain(
            "a long name of a directory",
            vec![(format!("{}/f", "\u{e9}".repeat(200)), 1)],
            "File name too long",
        ),
    ]
}

impl Case {
    fn inputs(&self) -> Vec<InputFile> {
        let inputs = self.files.iter().map(|(path, bytes)| InputFile {
            path: path.clone(),
            content: vec![b'x'; *bytes].into(),
            mode: 0,
        });
        inputs.collect()
    }

    fn has_its_verdict(&self, how: &str, result: &RunOnceResult) -> Result<(), String> {
        let limits: Vec<Limit> = result.limits_hit().collect();
        let right = cause(result) == Cause::DiskFull
            && result.exit_code.is_none()
            && result.reason.contains(self.says)
            && limits == Vec::from_iter(self.limit);
        right
            .then_some(())
            .ok_or_else(|| format!("{} {how}: {}", self.name, describe(result)))
    }

    async fn runs(&self, client: &Client) -> Outcome {
        let mut request = command(&["true"]);
        request.files = self.inputs();
        request.limits = Some(self.limits);
        let result = client.clone().run_once(request.clone()).await?.into_inner();
        self.has_its_verdict("run_once", &result)?;
        let mut many = tests(request, &["", "", ""]);
        let TestsResult { build, cases, end } = judge(client, many.clone()).await?;
        assert!(build.is_none() && cases.len() == 3, "{}: {end:?}", self.name);
        cases
            .iter()
            .try_for_each(|case| self.has_its_verdict("run_tests", case))?;
        many.stop_on_failure = true;
        let judged = judge(client, many.clone()).await?;
        assert_eq!(judged.cases.len(), 1, "{}", self.name);
        many.build = vec!["true".to_owned()];
        let TestsResult { build, cases, .. } = judge(client, many).await?;
        assert!(cases.is_empty(), "{}", self.name);
        self.has_its_verdict("build", &build.ok_or("no build")?)?;
        Ok(())
    }

    async fn boxes(&self, boxes: &mut Boxes, number: usize) -> Outcome {
        let request = CreateRequest {
            files: self.inputs(),
            limits: Some(self.limits),
            ..small(&format!("full-{number}"))
        };
        let status = boxes.create(request.clone()).await.err().ok_or("it was made")?;
        let code = status
            .metadata()
            .get("prl-error-code")
            .and_then(|code| code.to_str().ok());
        assert_eq!(
            (status.code(), code),
            (Code::FailedPrecondition, Some("PRL_SANDBOX_FILE")),
            "{}: {status:?}",
            self.name
        );
        assert!(status.message().contains(self.says), "{}: {status:?}", self.name);
        let id = format!("empty-{number}");
        let empty = CreateRequest {
            id: id.clone(),
            files: Vec::new(),
            ..request
        };
        boxes.create(empty).await?;
        let mut refused = None;
        for file in self.inputs() {
            let write = |data, path, end| WriteFileRequest {
                r#box: id.clone(),
                path,
                data,
                end,
                mode: 0,
            };
            let first = write(Default::default(), file.path.clone(), false);
            let chunks = file.content.chunks(1 << 20);
            let parts = chunks.map(|chunk| write(chunk.to_vec().into(), String::new(), false));
            let last = write(Default::default(), String::new(), true);
            let all: Vec<_> = [first].into_iter().chain(parts).chain([last]).collect();
            if let Err(status) = boxes.write_file(tokio_stream::iter(all)).await {
                refused = Some(status);
                break;
            }
        }
        // Files in memory that arrive one by one are not checked in advance.
        if let Some(status) = &refused {
            assert_eq!(status.code(), Code::FailedPrecondition, "{}: {status:?}", self.name);
        }
        assert!(
            refused.is_some() || self.limit == Some(Limit::Memory),
            "{}: it was written",
            self.name
        );
        let close = CloseRequest {
            ids: vec![id.clone()],
            ..CloseRequest::default()
        };
        boxes.close(close).await?;
        Ok(())
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn files_that_do_not_fit_have_the_same_result_everywhere() -> Outcome {
    in_every_tier(async |daemon| {
        let client = daemon.client().await?;
        let mut boxes = boxes(&daemon).await?;
        for (number, case) in cases().iter().enumerate() {
            // The process tier limits only the size of each file on its disk.
            if daemon.announced["isolation"] == "process" && matches!(case.limit, Some(Limit::Inodes | Limit::Memory)) {
                continue;
            }
            case.runs(&client).await?;
            case.boxes(&mut boxes, number)
                .await
                .map_err(|error| format!("{number}: {error}"))?;
        }
        Ok(())
    })
    .await
}
