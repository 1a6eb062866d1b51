//! Warm interpreters: programs see no difference, and every run is clean.

mod births;
mod boxes;
mod libraries;
mod programs;

use std::collections::BTreeSet;

use prl_sandbox_proto::{CapabilitiesRequest, Cause, HealthRequest, InputFile, RunOnceRequest, RunOnceResult};
use tokio::task::JoinSet;
use tonic::Code;

use crate::run_tests::{judge, tests};
use crate::support::{Client, Daemon, Outcome, cause, command, describe, settles, text};
use programs::PROGRAMS;

const WARM: [&str; 4] = ["--park", "2", "--warm", "python=4"];

/// A daemon with warm Pythons; `None` where the machine can have none.
pub(crate) async fn warm(arguments: &[&str]) -> Result<Option<(Daemon, Client)>, Box<dyn std::error::Error>> {
    let Some(daemon) = Daemon::start(arguments)? else {
        return Ok(None);
    };
    let mut client = daemon.client().await?;
    let capabilities = client.capabilities(CapabilitiesRequest {}).await?.into_inner();
    let facility = capabilities.facilities.iter().find(|one| one.name == "runtime.python");
    let facility = facility.ok_or("no word on Python")?;
    if !facility.available {
        crate::support::skip(&facility.detail);
        return Ok(None);
    }
    Ok(Some((daemon, client)))
}

fn python(code: &str) -> RunOnceRequest {
    command(&["python3", "-c", code, "first", "second"])
}

async fn run(client: &Client, request: RunOnceRequest) -> Result<RunOnceResult, Box<dyn std::error::Error>> {
    Ok(client.clone().run_once(request).await?.into_inner())
}

/// The outward behaviour of a program. Addresses differ from run to run.
fn outward(result: &RunOnceResult) -> String {
    let text = format!("{}\nlost {:?}", describe(result), result.uncollected);
    let mut parts = text.split("0x");
    let first = parts.next().unwrap_or_default().to_owned();
    parts.fold(first, |text, part| {
        text + "0x" + part.trim_start_matches(|letter: char| letter.is_ascii_hexdigit())
    })
}

/// Runs a request on a zygote and executed; fails when the results differ.
async fn same(client: &Client, name: &str, request: RunOnceRequest) -> Result<(), String> {
    let on = |runtime: &str| {
        let mut request = request.clone();
        request.runtime = runtime.to_owned();
        run(client, request)
    };
    let failed = |error: Box<dyn std::error::Error>| format!("{name}: {error}");
    let (warm, cold) = (on("python").await.map_err(failed)?, on("exec").await.map_err(failed)?);
    if warm.runtime != "python" || cold.runtime != "exec" {
        return Err(format!("{name}: ran on {} and {}", warm.runtime, cold.runtime));
    }
    let (warm, cold) = (outward(&warm), outward(&cold));
    if warm == cold {
        return Ok(());
    }
    Err(format!("---- {name}\non a zygote:\n{warm}\nexecuted:\n{cold}"))
}

#[tokio::test(flavor = "multi_thread")]
async fn a_program_on_a_zygote_is_as_one_that_is_executed() -> Outcome {
    let Some((_daemon, client)) = warm(&WARM).await? else {
        return Ok(());
    };
    let mut wrong = Vec::new();
    for (name, code) in PROGRAMS {
        let mut request = python(code);
        request.stdin = b"1\n2\n3\n".as_slice().into();
        request.env = [("TZ", "Asia/Tokyo"), ("A_NUMBER", "1")]
            .map(|(name, value)| (name.to_owned(), value.to_owned()))
            .into();
        wrong.extend(same(&client, name, request).await.err());
    }
    assert!(
        wrong.is_empty(),
        "{} of {}:\n{}",
        wrong.len(),
        PROGRAMS.len(),
        wrong.join("\n")
    );
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_module_comes_with_the_modules_of_its_import() -> Outcome {
    let Some((_daemon, client)) = warm(&WARM).await? else {
        return Ok(());
    };
    let reported = client.clone().capabilities(CapabilitiesRequest {}).await?.into_inner();
    let python3 = reported
        .runtimes
        .iter()
        .find(|one| one.name == "python")
        .ok_or("no such runtime")?;
    assert!(python3.preloads.len() > 40, "{:?}", python3.preloads);
    let mut looks = JoinSet::new();
    for name in python3.preloads.clone() {
        let client = client.clone();
        looks.spawn(async move {
            let code = format!(
                "import sys\nbefore = set(sys.modules)\nimport {name}\n\
                 for one in list(sys.modules):\n    if one not in before: print(one, sorted(vars(sys.modules[one])))\n\
                 print([(one, sorted(vars(sys.modules[one]))) for one in sorted(before) if hasattr(sys.modules[one], '__path__')])"
            );
            same(&client, &name, python(&code)).await.err()
        });
    }
    let wrong: Vec<String> = looks.join_all().await.into_iter().flatten().collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_script_is_run_with_its_directory_and_its_lines() -> Outcome {
    let Some((_daemon, client)) = warm(&WARM).await? else {
        return Ok(());
    };
    let files = [
        (
            "src/main.py",
            "import helper, sys\nprint(__file__, sys.argv, sys.path[0], sorted(globals()))\nhelper.fail()\n",
        ),
        ("src/helper.py", "def fail():\n    raise ValueError('here')\n"),
        ("src/queue.py", "print('a queue of the program')\n"),
        (
            "shadow.py",
            "import src.helper, sys\nsys.path.insert(0, 'src')\nimport queue, random, json\nprint(queue.__file__, random.__file__)\n",
        ),
        (
            "ending.py",
            "import atexit\natexit.register(lambda: print('__file__' in globals()))\n",
        ),
        ("wrong.py", "x = 1\ny = (\n"),
        ("latin.py", "# coding: latin-1\nprint('\u{e4}')\n"),
        (
            "spawn.py",
            "import multiprocessing as m\ndef f(x): return x + 1\nif __name__ == '__main__':\n    m.set_start_method('spawn')\n    with m.Pool(1) as p: print(p.map(f, [1]))\n",
        ),
    ];
    let files: Vec<InputFile> = files
        .map(|(path, content)| InputFile {
            path: path.to_owned(),
            content: content.as_bytes().to_vec().into(),
            mode: 0,
        })
        .into();
    let mut wrong = Vec::new();
    for script in [
        "src/main.py",
        "./src/main.py",
        "/work/src/main.py",
        "shadow.py",
        "ending.py",
        "wrong.py",
        "spawn.py",
    ] {
        let mut request = command(&["python3", script, "--flag"]);
        request.files.clone_from(&files);
        wrong.extend(same(&client, script, request).await.err());
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    for script in ["latin.py", "missing.py", "src", "/dev/stdin"] {
        let mut request = command(&["python3", script]);
        request.files.clone_from(&files);
        let result = run(&client, request.clone()).await?;
        assert_eq!(result.runtime, "exec", "{script}: {}", describe(&result));
        request.runtime = "exec".to_owned();
        assert_eq!(outward(&result), outward(&run(&client, request).await?), "{script}");
    }
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn nothing_is_left_from_one_run_to_the_next() -> Outcome {
    let Some((_daemon, client)) = warm(&WARM).await? else {
        return Ok(());
    };
    let dirty = "import sys, os, random, builtins, json, gc, signal, tempfile\n\
        builtins.mark = json.mark = sys.mark = os.environ['MARK'] = 'x'; sys.path.append('/mark'); gc.disable()\n\
        signal.signal(signal.SIGTERM, signal.SIG_IGN); open('/work/mark', 'w'); open('/tmp/mark', 'w')\n\
        random.seed(7)";
    let look = "import sys, os, builtins, json, gc, signal, random, uuid, secrets, tempfile\n\
        print([hasattr(m, 'mark') for m in (builtins, json, sys)], 'MARK' in os.environ, '/mark' in sys.path, gc.isenabled(),\n\
        signal.getsignal(signal.SIGTERM) == signal.SIG_DFL, os.listdir('/work'), os.listdir('/tmp'))\n\
        print(uuid.uuid1().clock_seq, random.random(), uuid.uuid4(), secrets.token_hex(8), tempfile.mktemp())";
    let (mut seen, mut sequences) = (BTreeSet::new(), BTreeSet::new());
    for _ in 0..12 {
        let soiled = run(&client, python(dirty)).await?;
        assert_eq!(soiled.exit_code, Some(0), "{}", describe(&soiled));
        let result = run(&client, python(look)).await?;
        let output = text(&result.stdout);
        let (state, chance) = output.split_once('\n').ok_or("no output")?;
        assert_eq!(
            state,
            "[False, False, False] False False True True [] []",
            "{}",
            describe(&result)
        );
        let mut values = chance.split_whitespace();
        // There are 16384 values, so two may be the same by chance.
        sequences.extend(values.next().map(str::to_owned));
        for value in values {
            assert!(seen.insert(value.to_owned()), "{value} came twice");
        }
    }
    assert!(sequences.len() > 6, "{sequences:?}");
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn limits_hold_on_a_zygote() -> Outcome {
    let Some((daemon, client)) = warm(&WARM).await? else {
        return Ok(());
    };
    if !daemon.is_full() {
        return Ok(());
    }
    for (code, wanted) in [
        ("while True: pass", Cause::CpuTimeout),
        ("import time; time.sleep(60)", Cause::WallTimeout),
        ("x = b'x' * (1 << 30)", Cause::Oom),
        (
            "import os\nwhile True:\n    try: os.fork()\n    except OSError: pass",
            Cause::Pids,
        ),
        ("while True: print('x' * 65536)", Cause::OutputLimit),
        (
            "import ctypes; ctypes.CDLL(None).kill(1, 9); ctypes.CDLL(None).kill(-1, 9)",
            Cause::Exited,
        ),
        ("open('/work/x', 'wb').write(bytes(1 << 25))", Cause::Exited),
    ] {
        let mut request = python(code);
        if let Some(limits) = &mut request.limits {
            (limits.wall_ms, limits.cpu_ms) = (Some(8000), Some(1000));
        }
        let result = run(&client, request).await?;
        assert_eq!(
            (cause(&result), result.runtime.as_str()),
            (wanted, "python"),
            "{code}: {}",
            describe(&result)
        );
    }
    let one = run(&client, python("print(1)")).await?;
    let usage = one.usage.ok_or("no usage")?;
    assert_eq!(usage.processes, Some(1), "{usage:?}");
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn programs_that_no_zygote_can_run_are_executed_or_refused() -> Outcome {
    let Some((_daemon, client)) = warm(&WARM).await? else {
        return Ok(());
    };
    let unbuffered = command(&["python3", "-u", "-c", "print(1)"]);
    let result = run(&client, unbuffered.clone()).await?;
    assert_eq!(
        (text(&result.stdout).as_str(), result.runtime.as_str()),
        ("1\n", "exec")
    );
    for (runtime, code) in [
        ("python", Code::FailedPrecondition),
        ("node", Code::FailedPrecondition),
        ("ruby", Code::InvalidArgument),
    ] {
        let mut request = unbuffered.clone();
        request.runtime = runtime.to_owned();
        let refused = client.clone().run_once(request).await.err().ok_or("it ran")?;
        assert_eq!(refused.code(), code, "{refused}");
    }
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_dead_template_is_replaced_and_zygotes_end_with_the_daemon() -> Outcome {
    let Some((mut daemon, mut client)) = warm(&WARM).await? else {
        return Ok(());
    };
    for _ in 0..3 {
        let killed = kill_templates(daemon.pid())?;
        assert_eq!(killed, 1, "templates");
        let deadline = std::time::Instant::now() + std::time::Duration::from_secs(20);
        let mut served = 0;
        while served < 12 {
            let result = run(&client, python("print(1)")).await?;
            match cause(&result) {
                Cause::Exited => served += 1,
                // This is true: the program did not run. Each such result is a line in the daemon's log, which the test
                // does not read.
                Cause::Infra => {
                    assert!(std::time::Instant::now() < deadline, "{}", describe(&result));
                    tokio::time::sleep(std::time::Duration::from_millis(20)).await;
                }
                _ => return Err(describe(&result).into()),
            }
        }
    }
    assert!(client.health(HealthRequest {}).await?.into_inner().parked > 0);
    daemon.kill()?;
    settles(daemon.pid(), BTreeSet::is_empty).await
}

/// Kills the templates.
pub(crate) fn kill_templates(daemon: u32) -> Result<usize, Box<dyn std::error::Error>> {
    let templates = templates(daemon)?;
    for pid in &templates {
        // SAFETY: a grandchild of this test.
        unsafe { libc::kill(i32::try_from(*pid)?, libc::SIGKILL) };
    }
    Ok(templates.len())
}

/// The interpreters that are children of the daemon's spawner and lead a session, unlike the processes that they fork.
fn templates(daemon: u32) -> Result<Vec<u32>, Box<dyn std::error::Error>> {
    let mut found = Vec::new();
    // Parent, session and name.
    let stat = |pid: u32| -> Option<(u32, u32, String)> {
        let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
        let (head, tail) = stat.rsplit_once(") ")?;
        let mut fields = tail.split_whitespace().skip(1).map_while(|field| field.parse().ok());
        Some((fields.next()?, fields.nth(1)?, head.split_once('(')?.1.to_owned()))
    };
    for entry in std::fs::read_dir("/proc")?.flatten() {
        let Some(pid) = entry.file_name().to_str().and_then(|name| name.parse::<u32>().ok()) else {
            continue;
        };
        let Some((spawner, session, name)) = stat(pid) else {
            continue;
        };
        let of_daemon = stat(spawner).is_some_and(|(parent, ..)| parent == daemon);
        if name == "python3" && session == pid && of_daemon {
            found.push(pid);
        }
    }
    Ok(found)
}

/// Prints for each part of its memory with huge pages: the rights, the distance of its beginning from a bound, and the
/// kB in small pages.
const CODE: &str = "import re\n\
    for part in re.split(r'\\n(?=[0-9a-f]+-[0-9a-f]+ )', open('/proc/self/smaps').read()):\n\
    \x20   first, last = (int(end, 16) for end in part.split()[0].split('-'))\n\
    \x20   kept = int(re.search(r'AnonHugePages: *(\\d+)', part)[1])\n\
    \x20   if kept: print(part.split()[1], first % (2 << 20), (last - first) // 1024 - kept)";

#[tokio::test(flavor = "multi_thread")]
async fn code_in_huge_pages_is_not_to_be_written_to() -> Outcome {
    let Some((_daemon, client)) = warm(&WARM).await? else {
        return Ok(());
    };
    let result = run(&client, python(CODE)).await?;
    assert_eq!(result.runtime, "python", "{}", describe(&result));
    let output = text(&result.stdout);
    if output.is_empty() && result.exit_code == Some(0) {
        // Its code is elsewhere, or the kernel has no huge pages to give.
        crate::support::skip("this interpreter's code does not lie in huge pages");
        return Ok(());
    }
    assert_eq!(output, "r-xp 0 0\n", "{}", describe(&result));
    Ok(())
}

/// The faults of a process since it was forked, its descriptors, and whether a device's ring is mapped.
const FAULTS: &str = "import os, resource\n\
    print(resource.getrusage(resource.RUSAGE_SELF).ru_minflt, sorted(map(int, os.listdir('/proc/self/fd')))[:4], 'io_uring' in open('/proc/self/maps').read())";

#[tokio::test(flavor = "multi_thread")]
async fn pages_that_every_program_writes_are_copied_at_the_fork() -> Outcome {
    let Some((daemon, client)) = warm(&WARM).await? else {
        return Ok(());
    };
    let forbidden = std::fs::read_to_string("/proc/sys/kernel/io_uring_disabled").unwrap_or_else(|_| "0".to_owned());
    if !daemon.is_full() || forbidden.trim() != "0" {
        crate::support::skip("a template cannot pin pages here");
        return Ok(());
    }
    let result = run(&client, python(FAULTS)).await?;
    let output = text(&result.stdout);
    // The fourth is the descriptor that lists the directory.
    assert!(output.ends_with("[0, 1, 2, 3] False\n"), "{}", describe(&result));
    let faults: u32 = output.split(' ').next().unwrap_or_default().parse()?;
    assert!(
        faults < 250,
        "{faults} faults: without the copies there are more than 400"
    );
    let cases = judge(&client, tests(python(FAULTS), &["", "", "", "", ""])).await?;
    for output in cases.outputs() {
        assert!(output.ends_with("[0, 1, 2, 3] False\n"), "{output}");
        let faults: u32 = output.split(' ').next().unwrap_or_default().parse()?;
        assert!(
            faults < 220,
            "a case: {faults} faults: without the copies there are more than 300"
        );
    }
    Ok(())
}
