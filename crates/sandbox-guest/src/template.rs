//! The file system that every sandbox starts from, built once in the spawner's mount namespace.
//!
//! It is a small read-only tmpfs with the machine's system directories bound into it. The spawner's root is moved there
//! permanently: no other part of the machine's file system has a name in it or in any sandbox that is cloned from it.
//! It is in a private mount namespace, so it needs no directory of the machine and disappears with the last process.

use std::fs;
use std::io;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};

use crate::defence::Defence;
use crate::sys::{c_path, check, check_long, make_directory, mount, seal_mount};
use crate::users;
use crate::zygotes::node;

/// Mounted over in the private namespace only; it exists on every machine.
const BUILD_AT: &str = "/tmp";
/// The directories of the machine that programs need. Not here: /home, /root, /var, /run, /srv, /mnt, /sys.
pub const SYSTEM: [&str; 9] = [
    "/usr", "/etc", "/opt", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32",
];
/// Device nodes by name, major and minor.
const DEVICES: [(&str, u32, u32); 6] = [
    ("null", 1, 3),
    ("zero", 1, 5),
    ("full", 1, 7),
    ("random", 1, 8),
    ("urandom", 1, 9),
    ("tty", 5, 0),
];

/// Directories of ours in every root.
const OWN_DIRECTORIES: [&str; 12] = [
    "proc",
    "work",
    "box",
    "dev",
    "dev/mqueue",
    "dev/shm",
    "dev/pts",
    "sys",
    "run",
    "var",
    "home",
    "root",
];
/// Directories of an image that are hidden: ours take their place.
const REPLACED: [&str; 7] = ["proc", "work", "box", "dev", "sys", "run", "tmp"];
/// Where the roots of images are until a box has chosen one; only root may look.
const IMAGES: &str = "/.images";
const ROOT_TMPFS: &str = "size=1m,nr_inodes=4096,mode=755";

/// Directories that each box has separately, over those of the machine.
const COVERED: [&str; 8] = ["/box", "/dev", "/proc", "/run", "/sys", "/tmp", "/var/tmp", "/work"];

/// Which of a box's directories covers a path of the machine.
pub fn covered(path: &Path) -> Option<&'static str> {
    COVERED.into_iter().find(|own| path.starts_with(own))
}

/// A step that failed.
pub(crate) type Step = (&'static str, io::Error);

/// Adds the step to an error.
pub(crate) fn at<T>(step: &'static str, result: io::Result<T>) -> Result<T, Step> {
    result.map_err(|error| (step, error))
}

/// Moves the calling process, which must have one thread, into a new mount namespace whose root is the template. It
/// contains the roots of `images` too, each as a separate template, until `choose` was called.
pub(crate) fn enter(rootless: bool, readable: &[PathBuf], images: &[PathBuf]) -> Result<(), Step> {
    if rootless {
        at("user namespace", enter_user_namespace())?;
    }
    let nested = rootless || !users::are_the_machines();
    // SAFETY: one thread; file descriptors are not shared.
    at("mount namespace", check(unsafe { libc::unshare(libc::CLONE_NEWNS) }))?;
    at(
        "private mounts",
        mount("none", Path::new("/"), "", libc::MS_REC | libc::MS_PRIVATE, ""),
    )?;
    let root = Path::new(BUILD_AT);
    // These may be below BUILD_AT, which is about to be covered, so they are held by descriptor.
    let readable = at("open readable directory", hold(readable))?;
    let images = at("open image", hold(images))?;
    at("root tmpfs", mount("prl", root, "tmpfs", libc::MS_NOSUID, ROOT_TMPFS))?;
    compose(root, nested, &readable, |root| {
        SYSTEM
            .iter()
            .try_for_each(|source| bind_system(Path::new(source), root))
    })?;
    at(
        "parked Node",
        place(&root.join(node::SCRIPT_PLACE.trim_start_matches('/')), node::SCRIPT),
    )?;
    if !images.is_empty() {
        let all = root.join(IMAGES.trim_start_matches('/'));
        at("images", make_directory(&all, 0o700, 0))?;
        at("images", mount("prl", &all, "tmpfs", libc::MS_NOSUID, ROOT_TMPFS))?;
        for (number, (image, _)) in (1..).zip(&images) {
            let root = all.join(u32::to_string(&number));
            at("image", make_directory(&root, 0o755, 0))?;
            at("image", mount("prl", &root, "tmpfs", libc::MS_NOSUID, ROOT_TMPFS))?;
            compose(&root, nested, &readable, |root| bind_image(image, root))?;
            at("read-only image", read_only(&root))?;
        }
    }
    at("enter root", enter_root(root))?;
    at("read-only root", read_only(Path::new("/")))
}

/// Writes a file of ours that programs may read.
fn place(path: &Path, content: &str) -> io::Result<()> {
    fs::write(path, content)?;
    fs::set_permissions(path, fs::Permissions::from_mode(0o444))
}

/// Makes one image the root of the calling process's mount namespace, or with 0 the machine's system directories, and
/// removes all others from it. `known`: the number of images.
pub(crate) fn choose(image: u32, known: usize) -> Result<(), Step> {
    if image > 0 {
        let root = Path::new(IMAGES).join(image.to_string());
        return at("enter image", enter_root(&root));
    }
    if known > 0 {
        let all = at("leave images", c_path(Path::new(IMAGES)))?;
        // SAFETY: a NUL-terminated path.
        let left = check(unsafe { libc::umount2(all.as_ptr(), libc::MNT_DETACH) });
        at("leave images", left)?;
    }
    Ok(())
}

/// Composes a root: the directories that every root has, and those that `fill` adds. `nested`: in a user namespace
/// other than the machine's.
fn compose(
    root: &Path,
    nested: bool,
    readable: &[(PathBuf, &Path)],
    fill: impl Fn(&Path) -> io::Result<()>,
) -> Result<(), Step> {
    for name in OWN_DIRECTORIES {
        at("directories", make_directory(&root.join(name), 0o755, 0))?;
    }
    at("directories", make_directory(&root.join("tmp"), 0o1777, 0))?;
    at("directories", symlink("../tmp", root.join("var/tmp")))?;
    at("devices", devices(&root.join("dev")))?;
    at("system directories", fill(root))?;
    for (source, path) in readable {
        at("readable directories", bind(source, path, root))?;
    }
    if nested {
        // In a user namespace, a new proc may be mounted only where a complete one is visible.
        at(
            "proc",
            mount("/proc", &root.join("proc"), "", libc::MS_BIND | libc::MS_REC, ""),
        )?;
    }
    Ok(())
}

/// Makes a mount the root of this process and its mount namespace, and detaches the old one.
fn enter_root(root: &Path) -> io::Result<()> {
    std::env::set_current_dir(root)?;
    // SAFETY: two NUL-terminated paths. The old root comes to lie on top of the new one and is detached next.
    check_long(unsafe { libc::syscall(libc::SYS_pivot_root, c".".as_ptr(), c".".as_ptr()) })?;
    // SAFETY: a NUL-terminated path.
    check(unsafe { libc::umount2(c".".as_ptr(), libc::MNT_DETACH) })?;
    std::env::set_current_dir("/")
}

/// Makes a mount of ours read-only, without the mounts in it.
fn read_only(root: &Path) -> io::Result<()> {
    let sealed = if Defence::ReadOnly.stands() { libc::MS_RDONLY } else { 0 };
    let flags = libc::MS_REMOUNT | libc::MS_BIND | libc::MS_NOSUID | sealed;
    mount("none", root, "", flags, "")
}

/// Becomes root of a new user namespace in which this process's user is the only one.
fn enter_user_namespace() -> io::Result<()> {
    // SAFETY: these read process attributes.
    let (uid, gid) = unsafe { (libc::geteuid(), libc::getegid()) };
    // SAFETY: one thread.
    check(unsafe { libc::unshare(libc::CLONE_NEWUSER) })?;
    fs::write("/proc/self/setgroups", "deny")?;
    fs::write("/proc/self/uid_map", format!("0 {uid} 1"))?;
    fs::write("/proc/self/gid_map", format!("0 {gid} 1"))
}

/// Opens each directory, so that it stays reachable when its path is covered.
fn hold(paths: &[PathBuf]) -> io::Result<Vec<(PathBuf, &Path)>> {
    let mut held = Vec::new();
    for path in paths {
        let path_c = c_path(path)?;
        // SAFETY: a NUL-terminated path. The descriptor stays open for the spawner's life; inits close it.
        let fd = check(unsafe { libc::open(path_c.as_ptr(), libc::O_PATH | libc::O_DIRECTORY | libc::O_CLOEXEC) })?;
        held.push((PathBuf::from(format!("/proc/self/fd/{fd}")), path.as_path()));
    }
    Ok(held)
}

fn bind_system(source: &Path, root: &Path) -> io::Result<()> {
    let Ok(kind) = fs::symlink_metadata(source) else {
        return Ok(());
    };
    if kind.file_type().is_symlink() {
        return symlink(
            fs::read_link(source)?,
            root.join(source.strip_prefix("/").unwrap_or(source)),
        );
    }
    bind(source, source, root)
}

/// Binds an image's directories, and makes its links again.
fn bind_image(image: &Path, root: &Path) -> io::Result<()> {
    for entry in fs::read_dir(image)? {
        let entry = entry?;
        let (name, kind) = (entry.file_name(), entry.file_type()?);
        if REPLACED.iter().any(|replaced| name == **replaced) {
            continue;
        }
        let target = Path::new("/").join(&name);
        if kind.is_dir() {
            bind(&entry.path(), &target, root)?;
        } else if kind.is_symlink() && !root.join(&name).exists() {
            symlink(fs::read_link(entry.path())?, root.join(&name))?;
        }
    }
    Ok(())
}

/// Binds `source` at `path` below `root`, read-only with everything mounted in it.
fn bind(source: &Path, path: &Path, root: &Path) -> io::Result<()> {
    let target = root.join(path.strip_prefix("/").unwrap_or(path));
    fs::create_dir_all(&target)?;
    mount(&source.to_string_lossy(), &target, "", libc::MS_BIND | libc::MS_REC, "")?;
    seal_mount(&target, false)
}

fn devices(dev: &Path) -> io::Result<()> {
    for (name, major, minor) in DEVICES {
        let path = dev.join(name);
        let path_c = c_path(&path)?;
        // SAFETY: a NUL-terminated path.
        let made = unsafe { libc::mknod(path_c.as_ptr(), libc::S_IFCHR | 0o666, libc::makedev(major, minor)) };
        if made == 0 {
            // SAFETY: as above.
            check(unsafe { libc::chmod(path_c.as_ptr(), 0o666) })?;
        } else {
            fs::write(&path, "")?;
            mount(&format!("/dev/{name}"), &path, "", libc::MS_BIND, "")?;
        }
    }
    for (name, target) in [
        ("fd", "/proc/self/fd"),
        ("stdin", "/proc/self/fd/0"),
        ("stdout", "/proc/self/fd/1"),
        ("stderr", "/proc/self/fd/2"),
        ("ptmx", "pts/ptmx"),
    ] {
        symlink(target, dev.join(name))?;
    }
    Ok(())
}
