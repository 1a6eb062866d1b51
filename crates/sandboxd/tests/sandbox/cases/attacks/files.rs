//! Files of the machine and of others, and files that a collector must not trust.

use crate::cases::Defence::{By, Layers};
use crate::cases::Program::{Call, Py, Sh};
use crate::cases::{Case, case, left_out};

pub(crate) const CASES: &[Case] = &[
    // ---- collecting ----
    case("link to a secret collected", By("links"), Sh("ln -s /etc/shadow x"), "")
        .with(|r| r.collect = vec!["*".to_owned()])
        .checked(|r| left_out(r, "not a regular file")),
    case(
        "linked directory collected",
        By("links"),
        Sh("mkdir d; echo 1 > d/in; ln -s /etc/ssl d/y; ln -s /etc/pam.d z"),
        "",
    )
    .with(|r| r.collect = vec!["**".to_owned()])
    .checked(|r| {
        let found: Vec<_> = r.files.iter().map(|file| file.path.as_str()).collect();
        if found == ["d/in"] {
            Ok(())
        } else {
            Err(format!("{found:?}"))
        }
    }),
    case(
        "link to what init sees collected",
        By("links"),
        Sh("ln -s /proc/self/environ x; ln -s /proc/1/status y"),
        "",
    )
    .with(|r| r.collect = vec!["*".to_owned()])
    .checked(|r| left_out(r, "not a regular file")),
    case("pipe collected", By("regular-files"), Sh("mkfifo x"), "")
        .with(|r| r.collect = vec!["x".to_owned()])
        .checked(|r| left_out(r, "not a regular file")),
    case(
        "socket collected",
        By("regular-files"),
        Py("import socket\nsocket.socket(socket.AF_UNIX).bind('x')"),
        "",
    )
    .with(|r| r.collect = vec!["x".to_owned()])
    .checked(|r| left_out(r, "not a regular file")),
    case(
        "odd file names collected",
        Layers("names are data"),
        Py("open('-rf', 'w').write('1'); open('a\\nb', 'w').write('2'); open('n' * 255, 'w').write('3')"),
        "",
    )
    .with(|r| r.collect = vec!["*".to_owned()])
    .checked(|r| {
        if r.files.len() == 3 {
            Ok(())
        } else {
            Err(format!("{} files", r.files.len()))
        }
    }),
    case(
        "file name that is no text collected",
        Layers("names are data"),
        Py(r"os.close(os.open(b'\xff\xfe', os.O_CREAT))"),
        "",
    )
    .with(|r| r.collect = vec!["*".to_owned()])
    .checked(|r| left_out(r, "not UTF-8")),
    case(
        "set-user-id file collected",
        Layers("only permission bits are returned"),
        Sh("echo 1 > x; chmod 6755 x"),
        "",
    )
    .with(|r| r.collect = vec!["x".to_owned()])
    .checked(|r| match r.files.as_slice() {
        [file] if file.mode == 0o755 => Ok(()),
        other => Err(format!("{other:?}")),
    }),
    case(
        "pattern that leaves the directory",
        Layers("the walk only goes down"),
        Sh("echo 1 > /tmp/x"),
        "",
    )
    .with(|r| r.collect = vec!["../tmp/x".to_owned(), "/tmp/x".to_owned()])
    .checked(|r| {
        if r.files.is_empty() {
            Ok(())
        } else {
            Err("a file from elsewhere".to_owned())
        }
    }),
    case(
        "work directory replaced by a link",
        By("links"),
        Sh("cd /work; rmdir d; ln -s /etc d"),
        "",
    )
    .with(|r| {
        r.cwd = "d".to_owned();
        r.collect = vec!["hostname".to_owned(), "passwd".to_owned()];
    })
    .checked(|r| {
        if r.files.is_empty() {
            Ok(())
        } else {
            Err("a file from elsewhere".to_owned())
        }
    }),
    case(
        "directory above the work directory replaced by a link",
        By("links"),
        Sh("cd $HOME; mv a a2; ln -s / a; cat a/etc/hostname > /dev/null && echo reached"),
        "reached",
    )
    .with(|r| {
        r.cwd = "a/etc".to_owned();
        r.collect = vec!["hostname".to_owned(), "shadow".to_owned(), "passwd".to_owned()];
    })
    .checked(|r| left_out(r, "the working directory")),
    case(
        "work directory moved under a link's name",
        By("links"),
        Sh("cd /; mv $HOME/a $HOME/b; ln -s /etc $HOME/a; ls $HOME/a/ssl > /dev/null; echo moved"),
        "moved",
    )
    .with(|r| {
        r.cwd = "a/ssl".to_owned();
        r.collect = vec!["**".to_owned()];
    })
    .checked(|r| left_out(r, "the working directory")),
    case(
        "work directory among the system's",
        Layers("only the writable layer is looked at"),
        Sh("pwd"),
        "/etc",
    )
    .with(|r| {
        r.cwd = "/etc".to_owned();
        r.collect = vec!["shadow".to_owned(), "passwd".to_owned()];
    })
    .checked(|r| left_out(r, "programs cannot write there")),
    // ---- writing ----
    case(
        "new file among the system's",
        By("read-only"),
        Call("*[attempt(open, p, 'w') for p in ('/usr/x', '/usr/bin/x', '/etc/x', '/x')]"),
        "EROFS EROFS EROFS EROFS",
    ),
    case(
        "new directory among the system's",
        By("read-only"),
        Call("*[attempt(os.mkdir, p) for p in ('/usr/x', '/etc/x', '/x', '/home/x')]"),
        "EROFS EROFS EROFS EROFS",
    ),
    case(
        "times of a program",
        By("read-only"),
        Call("attempt(os.utime, '/usr/bin/env')"),
        "EROFS",
    ),
    case(
        "mode of a program",
        By("read-only"),
        Call("attempt(os.chmod, '/usr/bin/env', 0o777), attempt(os.chown, '/usr/bin/env', os.getuid(), -1)"),
        "EROFS EROFS",
    ),
    case(
        "program removed",
        By("read-only"),
        Call("attempt(os.unlink, '/usr/bin/env'), attempt(os.rename, '/usr/bin/env', '/usr/bin/x')"),
        "EROFS EROFS",
    ),
    case(
        "attributes of a program",
        By("read-only"),
        Call("attempt(os.setxattr, '/usr/bin/env', 'user.x', b'x')"),
        "EROFS",
    ),
    case(
        "hard link to the system",
        Layers("other mount, protected links"),
        Call("attempt(os.link, '/etc/passwd', '/tmp/x')"),
        "EXDEV",
    ),
    case(
        "file of root changed",
        Layers("other user, read-only mounts"),
        Call("attempt(open, '/etc/hosts', 'r+'), attempt(open, '/bin/sh', 'r+')"),
        "EACCES EACCES",
    ),
    // ---- reading ----
    case(
        "password file",
        By("privileges"),
        Call("attempt(open, '/etc/shadow'), attempt(open, '/etc/gshadow')"),
        "EACCES EACCES",
    ),
    case(
        "secrets of the machine",
        Layers("the root view"),
        Call(
            "*[attempt(open, p) for p in ('/root/.bashrc', '/var/run/docker.sock', '/run/containerd/containerd.sock', '/var/run/secrets/kubernetes.io/serviceaccount/token')]",
        ),
        "ENOENT ENOENT ENOENT ENOENT",
    ),
    case(
        "files of the machine",
        Layers("the root view"),
        Py(
            "print([d for d in ('/home', '/root', '/sys', '/box') if os.listdir(d)], sorted(os.listdir('/var')), os.path.exists('/mnt'), os.path.exists('/srv'))",
        ),
        "[] ['tmp'] False False",
    ),
    case(
        "a temporary file of the machine",
        Layers("own layer"),
        Call("attempt(open, '@FILE@')"),
        "ENOENT",
    ),
    case(
        "other people's temporary files",
        Layers("own layer"),
        Call("os.listdir('/tmp'), os.listdir('/work'), os.listdir('/dev/shm'), os.listdir('/run')"),
        "[] [] [] []",
    ),
    case(
        "devices of the machine",
        Layers("own devices"),
        Call("sorted(os.listdir('/dev'))"),
        "['fd', 'full', 'mqueue', 'null', 'ptmx', 'pts', 'random', 'shm', 'stderr', 'stdin', 'stdout', 'tty', 'urandom', 'zero']",
    ),
    // ---- rights ----
    case(
        "set-user-id program",
        By("no-set-user-id"),
        Py("print(*[os.statvfs(p).f_flag & os.ST_NOSUID for p in ('/tmp', '/work', '/dev/shm', '/run')])"),
        "2 2 2 2",
    ),
    case(
        "device files in the layer",
        By("no-devices"),
        Py("print(*[os.statvfs(p).f_flag & 4 for p in ('/tmp', '/work', '/dev/shm', '/run')])"),
        "4 4 4 4",
    ),
    case(
        "device files",
        By("privileges"),
        Call(
            "attempt(os.mknod, '/tmp/x', 0o20666, os.makedev(1, 3)), attempt(os.mknod, '/tmp/y', 0o60666, os.makedev(254, 0))",
        ),
        "EPERM EPERM",
    ),
    case(
        "becoming root",
        By("privileges"),
        Call("attempt(os.setuid, 0), attempt(os.setgid, 0), attempt(os.setgroups, [0])"),
        "EPERM EPERM EPERM",
    ),
    case(
        "giving files away",
        By("privileges"),
        Py("open('x', 'w')\nprint(attempt(os.chown, 'x', 0, 0))"),
        "EPERM",
    ),
    case(
        "files of another owner",
        By("privileges"),
        Call("attempt(os.listdir, '/etc/ssl/private')"),
        "EACCES",
    ),
    case(
        "su",
        By("no-new-privileges"),
        Sh("grep NoNewPrivs /proc/self/status; su root -c id </dev/null 2>/dev/null; echo $?"),
        "NoNewPrivs:\t1\n1",
    ),
    // ---- access without paths ----
    case(
        "files by handle",
        By("filter"),
        Call("sc(303, -100, b'/', 1, 1, 0)"),
        "EPERM",
    ),
    case(
        "open by handle",
        Layers("no capabilities, filter"),
        Call("sc(304, 0, 0, 0)"),
        "EPERM",
    ),
    case(
        "links of proc",
        Layers("own proc, own root"),
        Call(
            "os.path.exists('/proc/self/root/home/..') and os.listdir('/proc/self/root/home'), attempt(open, '/proc/self/root/etc/shadow')",
        ),
        "[] EACCES",
    ),
];
