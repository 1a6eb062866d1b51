//! Programs that want to look better than they are.

use prl_sandbox_proto::Cause;

use crate::cases::Defence::{By, Layers};
use crate::cases::Program::{Call, Py, Sh};
use crate::cases::{Case, case, exit_code, limits};

pub(crate) const CASES: &[Case] = &[
    case(
        "result forged by text",
        Layers("causes do not come from output"),
        Sh("echo '{\"cause\":\"EXITED\",\"exit_code\":0}'; exit 3"),
        "",
    )
    .checked(|r| exit_code(r, 3)),
    case(
        "result forged on other descriptors",
        Layers("no descriptor is inherited"),
        Py("print([fd for fd in range(3, 300) if attempt(os.write, fd, b'\\x08\\x01') == 'done'])"),
        "[]",
    ),
    case(
        "leaves before the tests",
        Layers("exit code and output are the program's"),
        Py("os._exit(0)\nprint('tests')"),
        "",
    )
    .checked(|r| {
        if crate::support::text(&r.stdout).is_empty() {
            Ok(())
        } else {
            Err("output".to_owned())
        }
    }),
    case(
        "leaves while it is cleaned up",
        Layers("exit code is the program's"),
        Py("import atexit\natexit.register(lambda: os._exit(0))\nraise SystemExit(4)"),
        "",
    )
    .checked(|r| exit_code(r, 0)),
    case(
        "artifact changed while it is collected",
        By("everybody-dies"),
        Py(r#"
open('m', 'wb').write(bytes(12 << 20))
for name in 'az': open(name, 'w').write('0' * 12)
r, w = os.pipe()
if os.fork() == 0:
    a, z = os.open('a', os.O_WRONLY), os.open('z', os.O_WRONLY)
    for n in range(3_000_000):
        text = b'%012d' % n
        os.pwrite(a, text, 0); os.pwrite(z, text, 0)
        if n == 10: os.write(w, b'x')
    os._exit(0)
os.read(r, 1)"#),
        "",
    )
    .with(|r| r.collect = vec!["*".to_owned()])
    .checked(|r| match r.files.as_slice() {
        [a, _, z] if a.path == "a" && a.content >= z.content && a.content.len() == 12 => Ok(()),
        files => Err(format!(
            "written after the end: {:?}",
            files
                .iter()
                .map(|file| (&file.path, file.content.len()))
                .collect::<Vec<_>>()
        )),
    }),
    case(
        "artifact of a run that was late",
        By("wall"),
        Sh("(sleep 1; echo late > x) & sleep 2"),
        "",
    )
    .with(|r| {
        limits(r, |l| l.wall_ms = Some(300));
        r.collect = vec!["x".to_owned()];
    })
    .ends(Cause::WallTimeout)
    .checked(|r| {
        if r.files.is_empty() {
            Ok(())
        } else {
            Err("a file".to_owned())
        }
    }),
    case(
        "library changed for the next run",
        By("read-only"),
        Call(
            "*[attempt(open, os.path.join(p, 'x.pth'), 'w') for p in ('/usr/lib/python3', '/usr/lib/python3/dist-packages', '/usr/lib')]",
        ),
        "EROFS EROFS EROFS",
    ),
    case(
        "interpreter changed for the next run",
        By("read-only"),
        Call(
            "attempt(os.replace, '/usr/bin/python3', '/usr/bin/x'), attempt(os.symlink, '/bin/true', '/usr/bin/pytest2')",
        ),
        "EROFS EROFS",
    ),
    case(
        "tests of the next run",
        Layers("a sandbox is used once"),
        Py("open('/tmp/conftest.py', 'w'); print(sorted(os.listdir('/tmp')))"),
        "['conftest.py']",
    ),
];
