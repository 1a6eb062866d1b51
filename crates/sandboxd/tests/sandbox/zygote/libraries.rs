//! Profiles: warm Pythons with more modules, and an interpreter other than the machine's first.

use std::error::Error;
use std::process::Command;

use prl_sandbox_proto::{CapabilitiesRequest, CreateRequest, RunOnceRequest};
use tonic::Code;

use super::{outward, python, run, same};
use crate::boxes::{boxes, exec, small};
use crate::support::{Client, Daemon, Outcome, command, describe, skip, text};

const CALCULATION: &str = "import sys, os\n\
    born = set(sys.modules)\n\
    print([name for name in sys.modules if name.startswith('numpy')], os.environ['OPENBLAS_NUM_THREADS'])\n\
    import numpy as np, pickle\n\
    print(np.arange(10).sum(), np.linalg.inv(np.eye(2)).tolist(), np.fft.fft([1, 0, 0]).real.tolist())\n\
    print(np.random.RandomState(1).rand(3), 0 <= np.random.default_rng().random() < 1, (np.ones((99, 99)) @ np.ones((99, 9))).shape)\n\
    print(pickle.loads(pickle.dumps(np.arange(3))), np.array(['a', 'b']), repr(np.float64(1.5)))\n\
    print([name for name in sys.modules if name not in born])\n\
    np.array([1, 2]) + np.array([1, 2, 3])";

async fn with(arguments: &[&str]) -> Result<Option<(Daemon, Client)>, Box<dyn Error>> {
    let Some(daemon) = Daemon::start(arguments)? else {
        return Ok(None);
    };
    let client = daemon.client().await?;
    Ok(Some((daemon, client)))
}

fn on(runtime: &str, request: RunOnceRequest) -> RunOnceRequest {
    RunOnceRequest {
        runtime: runtime.to_owned(),
        ..request
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_profile_has_its_modules_and_is_otherwise_like_any_python() -> Outcome {
    let arguments = [
        "--park",
        "1",
        "--warm",
        "web=2,python=1",
        "--preload",
        "web=email.message,html.parser",
    ];
    let Some((daemon, client)) = with(&arguments).await? else {
        return Ok(());
    };
    let reported = client.clone().capabilities(CapabilitiesRequest {}).await?.into_inner();
    let web = reported
        .runtimes
        .iter()
        .find(|one| one.name == "web")
        .ok_or("no such runtime")?;
    assert!(
        web.preloads.iter().any(|name| name == "html.parser"),
        "{:?}",
        web.preloads
    );
    let source = "import sys, os; print('html.parser' in sys.modules, os.environ['OMP_NUM_THREADS'])\n\
        import html.parser; print(html.parser.HTMLParser.__name__)";
    let result = run(&client, on("web", python(source))).await?;
    assert_eq!(
        (text(&result.stdout).as_str(), result.runtime.as_str()),
        ("False 1\nHTMLParser\n", "web"),
        "{}",
        describe(&result)
    );
    // Only callers that ask for it get it.
    assert_eq!(run(&client, python("print(1)")).await?.runtime, "python");
    let boxes = boxes(&daemon).await?;
    let wanted = CreateRequest {
        runtime: "web".to_owned(),
        ..small("one")
    };
    boxes.clone().create(wanted).await?;
    for (argv, runtime) in [
        (
            &["python3", "-c", "import os; print(os.environ['OMP_NUM_THREADS'])"][..],
            "web",
        ),
        (&["sh", "-c", "echo $OMP_NUM_THREADS"], "exec"),
    ] {
        let result = boxes.clone().exec(exec("one", argv)).await?.into_inner();
        assert_eq!(
            (text(&result.stdout).as_str(), result.runtime.as_str()),
            ("1\n", runtime),
            "{}",
            describe(&result)
        );
    }
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_profile_that_cannot_be_is_refused_with_the_reason() -> Outcome {
    let arguments = ["--park", "1", "--warm", "lost=1", "--preload", "lost=no_such_module"];
    let Some((_daemon, client)) = with(&arguments).await? else {
        return Ok(());
    };
    for (runtime, reason) in [("lost", "cannot import no_such_module"), ("numpy", "--warm numpy=0")] {
        let refused = client
            .clone()
            .run_once(on(runtime, python("1")))
            .await
            .err()
            .ok_or("it ran")?;
        assert_eq!(refused.code(), Code::FailedPrecondition);
        assert!(refused.message().contains(reason), "{refused}");
    }
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn numpy_is_there_at_once() -> Outcome {
    let there = Command::new("/usr/bin/python3").args(["-c", "import numpy"]).output();
    let own = std::env::var("PRL_TEST_PYTHON")
        .ok()
        .filter(|path| path.starts_with('/'));
    let mut arguments = vec!["--park", "1", "--warm", "numpy=2"];
    if let Some(own) = &own {
        arguments.extend(["--python", own]);
    } else if !there.is_ok_and(|output| output.status.success()) {
        skip("/usr/bin/python3 has no numpy, and PRL_TEST_PYTHON names no other");
        return Ok(());
    }
    let Some((_daemon, client)) = with(&arguments).await? else {
        return Ok(());
    };
    let mut request = python(CALCULATION);
    if let Some(limits) = &mut request.limits {
        limits.memory_bytes = Some(512 << 20);
    }
    let warm = run(&client, on("numpy", request.clone())).await?;
    assert_eq!(
        (warm.runtime.as_str(), warm.exit_code),
        ("numpy", Some(1)),
        "{}",
        describe(&warm)
    );
    request.env = ["OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"]
        .map(|name| (name.to_owned(), "1".to_owned()))
        .into();
    let cold = run(&client, on("exec", request)).await?;
    assert_eq!(outward(&warm), outward(&cold));
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn another_interpreter_is_the_python_of_every_program() -> Outcome {
    // A directory of the machine that programs see and that is not in their PATH.
    let Ok(directory) = tempfile::Builder::new().prefix("prl-python-").tempdir_in("/opt") else {
        skip("nothing can be put into /opt");
        return Ok(());
    };
    std::os::unix::fs::symlink("/usr/bin/python3", directory.path().join("python3"))?;
    std::fs::set_permissions(directory.path(), std::os::unix::fs::PermissionsExt::from_mode(0o755))?;
    let own = directory.path().join("python3").to_string_lossy().into_owned();
    let Some((_daemon, client)) = with(&["--park", "1", "--warm", "python=2", "--python", &own]).await? else {
        return Ok(());
    };
    let source = "import sys, shutil, os; print(sys.executable, shutil.which('python3'), os.environ['PATH'])";
    same(&client, "whose it is", python(source)).await?;
    let result = run(&client, python(source)).await?;
    assert!(
        text(&result.stdout).starts_with(&format!("{own} {own} ")),
        "{}",
        describe(&result)
    );
    let result = run(&client, command(&["sh", "-c", "command -v python3"])).await?;
    assert_eq!(text(&result.stdout).trim(), own);
    Ok(())
}

fn write_libraries(site_packages: &std::path::Path) -> Outcome {
    std::fs::write(site_packages.join("of_the_venv.py"), "ANSWER = 42\n")?;
    // A library in editable mode has a finder behind all others.
    let finder = "import sys; sys.meta_path.append(type('Finder', (), {'find_spec': lambda *_: None})())\n";
    std::fs::write(site_packages.join("editable.pth"), finder)?;
    // A library whose imports cannot be recorded, and a broken one that it can do without.
    for (path, content) in [
        (
            "unseen/__init__.py",
            "import importlib\nimportlib.import_module('unseen.part')\nimportlib.import_module('textwrap')\ntry:\n    import broken\nexcept ImportError:\n    pass\n",
        ),
        ("unseen/part.py", ""),
        ("broken/__init__.py", "from . import a\nraise ImportError\n"),
        ("broken/a.py", "from . import b\n"),
        ("broken/b.py", ""),
    ] {
        let path = site_packages.join(path);
        std::fs::create_dir_all(path.parent().ok_or("no directory")?)?;
        std::fs::write(path, content)?;
    }
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_virtual_environment_is_shown_with_all_that_it_needs() -> Outcome {
    let home = std::env::home_dir().ok_or("no home")?;
    let place = tempfile::Builder::new().prefix("prl-venv-").tempdir_in(home)?;
    let venv = place.path().join("venv");
    // `PRL_TEST_PYTHON` names an interpreter in another directory, which must be shown to boxes.
    let base = std::env::var("PRL_TEST_PYTHON").unwrap_or_else(|_| "/usr/bin/python3".to_owned());
    let made = Command::new(base)
        .args(["-m", "venv", "--without-pip"])
        .arg(&venv)
        .status();
    if !made.is_ok_and(|status| status.success()) {
        skip("no Python makes virtual environments here");
        return Ok(());
    }
    let site = Command::new(venv.join("bin/python"))
        .args(["-c", "import sysconfig; print(sysconfig.get_path('purelib'))"])
        .output()?;
    let site = String::from_utf8(site.stdout)?;
    let site_packages = std::path::Path::new(site.trim());
    write_libraries(site_packages)?;
    // The interpreter is named by another of its names than programs use.
    let own = venv.join("bin/python").to_string_lossy().into_owned();
    let arguments = [
        "--park",
        "1",
        "--warm",
        "ours=2",
        "--preload",
        "ours=of_the_venv,unseen",
        "--python",
        &own,
    ];
    let Some((_daemon, client)) = with(&arguments).await? else {
        return Ok(());
    };
    let programs = [
        (
            "import of_the_venv, sys; print(of_the_venv.ANSWER, sys.prefix)",
            format!("42 {}\n", venv.display()),
        ),
        (
            "open('of_the_venv.py', 'w').write('ANSWER = 43')\nimport of_the_venv; print(of_the_venv.ANSWER)",
            "43\n".to_owned(),
        ),
    ];
    for (source, output) in programs {
        for runtime in ["ours", "exec"] {
            let result = run(&client, on(runtime, python(source))).await?;
            assert_eq!(
                (text(&result.stdout), result.runtime.as_str()),
                (output.clone(), runtime),
                "{}",
                describe(&result)
            );
        }
    }
    let source = "import sys\nbefore = set(sys.modules)\nimport unseen\n\
        print([one for one in sys.modules if one not in before], unseen.part, 'textwrap' in sys.modules)";
    let results = [
        run(&client, on("ours", python(source))).await?,
        run(&client, on("exec", python(source))).await?,
    ];
    assert_eq!(outward(&results[0]), outward(&results[1]));
    assert_eq!(results[0].runtime, "ours", "{}", describe(&results[0]));
    let hostile = format!("echo x > {}", site.trim());
    let result = run(&client, command(&["sh", "-c", &format!("{hostile}/x.py")])).await?;
    assert!(text(&result.stderr).contains("Read-only"), "{}", describe(&result));
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn an_interpreter_that_programs_could_not_see_is_refused_at_the_start() -> Outcome {
    let place = tempfile::tempdir_in("/tmp")?;
    std::fs::write(place.path().join("python3"), "#!/bin/sh\necho /tmp")?;
    std::fs::set_permissions(
        place.path().join("python3"),
        std::os::unix::fs::PermissionsExt::from_mode(0o755),
    )?;
    let own = place.path().join("python3").to_string_lossy().into_owned();
    let refused = Daemon::start(&["--python", &own])
        .err()
        .ok_or("it started")?
        .to_string();
    assert!(
        refused.contains("PRL_SANDBOX_USAGE") && refused.contains("they have a separate /tmp"),
        "{refused}"
    );
    Ok(())
}
