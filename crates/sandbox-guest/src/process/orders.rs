//! Paths of boxes in the process tier: the daemon and its callers use /work and /tmp; the directories are elsewhere on
//! the machine.

use std::path::{Path, PathBuf};

use crate::wire::{Order, Program};

/// Names of variables whose value is a path of the box.
const PATHS: [&str; 2] = ["HOME=", "TMPDIR="];

/// Replaces the box's paths in an order by paths in its home.
pub(super) fn translate(order: &mut Order, home: &Path) {
    match order {
        Order::Furnish(furnish) => at_home(&mut furnish.cwd, home),
        Order::Start(start) => {
            program(&mut start.program, home);
            if let Some(furnish) = &mut start.furnish {
                at_home(&mut furnish.cwd, home);
            }
            let enclosed = start.enclosed.as_mut().map(|enclosed| &mut enclosed.finish);
            for finish in start.finish.as_mut().into_iter().chain(enclosed) {
                at_home(&mut finish.cwd, home);
            }
        }
        Order::Finish(finish) => at_home(&mut finish.cwd, home),
        _ => {}
    }
}

/// Whether an order can be carried out without namespaces. A socket would be one of the machine, so it cannot be
/// opened.
pub(crate) fn possible(order: &Order) -> bool {
    match order {
        Order::Start(start) => start.zygote == 0,
        Order::Files(_) => true,
        Order::Prepare(_)
        | Order::Furnish(_)
        | Order::Finish(_)
        | Order::Signal(_)
        | Order::KillTree(_)
        | Order::KillAll(_)
        | Order::Measure(_) => true,
        Order::Open(_) | Order::Hatch(_) | Order::Advance(_) => false,
    }
}

fn program(program: &mut Program, home: &Path) {
    at_home(&mut program.cwd, home);
    for entry in &mut program.env {
        for name in PATHS {
            if let Some(value) = entry.strip_prefix(name) {
                let mut value = value.to_owned();
                at_home(&mut value, home);
                *entry = format!("{name}{value}");
                break;
            }
        }
    }
}

fn at_home(path: &mut String, home: &Path) {
    if let Some(there) = inside(Path::new(path), home) {
        *path = there.to_string_lossy().into_owned();
    }
}

/// The machine's path for a path of the box.
pub(super) fn inside(path: &Path, home: &Path) -> Option<PathBuf> {
    let path = path.strip_prefix("/").ok()?;
    let first = path.iter().next()?;
    super::OWN.iter().any(|own| first == *own).then(|| home.join(path))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_boxs_own_paths_change() {
        let home = Path::new("/h/7");
        for (given, wanted) in [
            ("/work", "/h/7/work"),
            ("/work/a b", "/h/7/work/a b"),
            ("/tmp/x", "/h/7/tmp/x"),
            ("/workshop", "/workshop"),
            ("/usr/work", "/usr/work"),
            ("work", "work"),
            ("/", "/"),
        ] {
            let mut path = given.to_owned();
            at_home(&mut path, home);
            assert_eq!(path, wanted);
        }
        let mut order = Order::Start(crate::wire::Start {
            program: Program {
                cwd: "/work".to_owned(),
                env: vec![
                    "HOME=/work".to_owned(),
                    "TMPDIR=/tmp".to_owned(),
                    "OTHER=/work".to_owned(),
                ],
                ..Program::default()
            },
            ..crate::wire::Start::default()
        });
        assert!(possible(&order));
        translate(&mut order, home);
        let Order::Start(start) = order else { return };
        assert_eq!(start.program.env, ["HOME=/h/7/work", "TMPDIR=/h/7/tmp", "OTHER=/work"]);
        assert!(!possible(&Order::Open(crate::wire::OpenSocket::default())));
    }
}
