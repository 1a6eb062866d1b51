//! The writable layers of cases: made in advance, used again when nothing has changed in them, and never with files of
//! another case.

use std::collections::BTreeSet;
use std::time::Duration;

use prl_sandbox_proto::{Limits, RunOnceRequest};

use super::{file, judge, on_each, tests};
use crate::support::{Outcome, command, describe};
use crate::zygote::warm;

#[tokio::test(flavor = "multi_thread")]
async fn sandboxes_made_in_advance_serve_matching_requests_only() -> Outcome {
    on_each(async |_, client| {
        // No layer is older than the files below it.
        let program = "import os\n\
            names, changed = sorted(os.listdir('/work')), lambda path: os.stat(path).st_ctime_ns\n\
            assert all(changed('/dev/shm') >= changed('/work/' + name) for name in names), 'an old layer'\n\
            print(names, os.getcwd(), os.statvfs('/tmp').f_blocks * 4096 >> 20)\n\
            open('/work/mark', 'w').write('x')";
        let plain = || RunOnceRequest {
            limits: None,
            ..command(&["python3", "-c", program])
        };
        let inputs = ["", "", "", ""];
        let with_file = RunOnceRequest {
            files: vec![file("in", "given")],
            ..plain()
        };
        let elsewhere = RunOnceRequest {
            cwd: "/work/sub".to_owned(),
            ..plain()
        };
        let small = RunOnceRequest {
            limits: Some(Limits {
                disk_bytes: Some(8 << 20),
                memory_bytes: Some(200 << 20),
                ..Limits::default()
            }),
            ..plain()
        };
        let mut built = tests(plain(), &inputs);
        built.build = ["touch", "/work/made"].map(str::to_owned).into();
        let wanted = [
            (tests(plain(), &inputs), "[] /work 256\n"),
            (tests(with_file, &inputs), "['in'] /work 256\n"),
            (tests(elsewhere, &inputs), "['sub'] /work/sub 256\n"),
            (tests(small, &inputs), "[] /work 8\n"),
            (built, "['made'] /work 256\n"),
        ];
        // From the first request on, sandboxes for tests wait, with more in them than plain ones.
        for (request, output) in wanted.iter().chain(&wanted) {
            let judged = judge(client, request.clone()).await?;
            assert_eq!(judged.outputs(), [*output; 4], "{:?}", judged.causes());
            tokio::time::sleep(Duration::from_millis(300)).await;
        }
        Ok(())
    })
    .await
}

#[tokio::test(flavor = "multi_thread")]
async fn clean_layers_are_used_again_whatever_their_sizes() -> Outcome {
    let Some((_daemon, client)) = warm(&["--park", "2", "--warm", "python=2"]).await? else {
        return Ok(());
    };
    let seen = "import os; print(os.stat('/dev/shm').st_ctime_ns)";
    let inputs = [""; 7];
    for disk_bytes in [None, Some(8 << 20), None, Some(8 << 20)] {
        let limits = Some(Limits {
            disk_bytes,
            ..Limits::default()
        });
        let request = RunOnceRequest {
            limits,
            ..command(&["python3", "-c", seen])
        };
        let judged = judge(&client, tests(request, &inputs)).await?;
        let layers: BTreeSet<String> = judged.outputs().into_iter().collect();
        assert!(layers.len() < inputs.len(), "{disk_bytes:?}: each case has a new one");
        // Meanwhile sandboxes for tests are parked.
        tokio::time::sleep(Duration::from_millis(300)).await;
    }
    Ok(())
}

/// What a case may do to its layer. Most acts leave no file behind.
const ACTS: [&str; 12] = [
    "pass",
    "os.listdir('/work'); os.listdir('/tmp')",
    "open('/tmp/x', 'w').write('x'); os.remove('/tmp/x')",
    "os.chmod('/work', 0o700)",
    "os.utime('/work', (1, 1))",
    "os.chmod('/work/in', 0o600); os.utime('/work/in', (1, 1))",
    "open('/work/in', 'a')",
    "os.mkdir('/dev/shm/d'); os.rmdir('/dev/shm/d'); os.utime('/run', (1, 1))",
    "os.setxattr('/work', 'user.mark', b'x')",
    "os.rename('/work/sub', '/work/other'); os.rename('/work/other', '/work/sub')",
    "f = open('/run/x', 'w'); os.remove('/run/x'); f.write('x')",
    "os.symlink('/work', '/tmp/link')",
];

#[tokio::test(flavor = "multi_thread")]
async fn no_case_sees_an_earlier_cases_changes_of_the_layer() -> Outcome {
    on_each(async |_, client| {
        let program = "import os, sys\n\
            act = sys.stdin.read()\n\
            for p in ('/work', '/work/in', '/work/sub', '/tmp', '/dev/shm', '/run'):\n\
            \x20   s = os.lstat(p); v = os.statvfs(p)\n\
            \x20   print(p, oct(s.st_mode), s.st_size, s.st_mtime > 10, s.st_atime > 10, v.f_bfree, v.f_ffree)\n\
            \x20   if os.path.isdir(p): print(os.listdir(p), os.listxattr(p))\n\
            try: exec(act)\n\
            except OSError as error: print(error, file=sys.stderr)";
        let mut run = command(&["python3", "-c", program]);
        run.files = vec![file("in", "given"), file("sub/a", "")];
        let acts: Vec<&str> = ACTS.iter().flat_map(|act| ["pass", act, "pass"]).collect();
        let judged = judge(client, tests(run, &acts)).await?;
        let outputs = judged.outputs();
        assert_eq!(outputs.len(), acts.len());
        assert!(
            outputs[0].contains("/work 0o40755") && outputs[0].contains("['a']"),
            "{}",
            outputs[0]
        );
        for ((output, case), index) in outputs.iter().zip(&judged.cases).zip(0..) {
            assert_eq!(output, &outputs[0], "case {index}: {}", describe(case));
        }
        Ok(())
    })
    .await
}
