//! The Python that `--python` names: the directory of its `python3`, and the paths of the machine that boxes must be
//! shown so that it runs in them. The interpreter is asked once, before the daemon serves. A path that cannot be shown
//! is refused with the reason.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use prl_sandbox_guest::template::{SYSTEM, covered};
use tokio::process::Command;

/// On every machine an interpreter starts within this time.
const PATIENCE: Duration = Duration::from_secs(20);
/// How many links may follow each other.
const MAX_LINKS: usize = 16;
/// Makes the interpreter print the directories that it uses.
const QUESTION: &str = "import sys\n\
    for path in (sys.prefix, sys.base_prefix, sys.exec_prefix, sys.base_exec_prefix, *sys.path): print(path)";

/// See the module.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Installation {
    /// The directory of its `python3`: the first one in which programs look for programs.
    pub(crate) directory: PathBuf,
    /// Paths of the machine that boxes are shown in addition.
    pub(crate) shown: Vec<PathBuf>,
}

impl Installation {
    /// Looks at the interpreter with this absolute path. `readable`: paths that boxes are shown anyway.
    ///
    /// # Errors
    /// The reason why boxes cannot use it, written for the person who starts the daemon.
    pub(crate) async fn find(python: &Path, readable: &[PathBuf]) -> Result<Self, String> {
        let directory = directory_of(python)?;
        let mut needed: BTreeSet<PathBuf> = parents_of_links(&directory.join("python3"))?;
        needed.extend(directories_of(python).await?);
        let mut shown: Vec<PathBuf> = Vec::new();
        // A directory comes before the paths in it.
        for path in needed {
            let seen = |above: &Path| path.starts_with(above);
            let system = SYSTEM.iter().any(|above| seen(Path::new(above)));
            if system || readable.iter().chain(&shown).any(|above| seen(above)) || !path.is_dir() {
                continue;
            }
            if path.parent().is_none() {
                return Err(format!("{} is installed in the root directory", python.display()));
            }
            if let Some(own) = covered(&path) {
                return Err(format!(
                    "{} needs {}, which programs cannot see: they have a separate {own}; install it elsewhere",
                    python.display(),
                    path.display()
                ));
            }
            shown.push(path);
        }
        Ok(Self { directory, shown })
    }
}

/// The directory in which the same interpreter is called `python3`: an interpreter finds its virtual environment by
/// that path.
fn directory_of(python: &Path) -> Result<PathBuf, String> {
    let real = fs::canonicalize(python).map_err(|error| format!("{}: {error}", python.display()))?;
    let directory = python.parent().unwrap_or(Path::new("/")).to_owned();
    if directory.to_string_lossy().contains(':') {
        return Err(format!("{} cannot be in a PATH: it has a colon", directory.display()));
    }
    let named = directory.join("python3");
    match fs::canonicalize(&named) {
        Ok(other) if other == real => Ok(directory),
        Ok(_) => Err(format!(
            "{} is another Python than {}, which programs would find by that name: give a virtual environment's bin/python3",
            named.display(),
            python.display()
        )),
        Err(_) => Err(format!(
            "there is no {}, by which name programs would look for it: give a virtual environment's bin/python3",
            named.display()
        )),
    }
}

/// The directories of a file and of every link on the way to its target.
fn parents_of_links(file: &Path) -> Result<BTreeSet<PathBuf>, String> {
    let failed = |path: &Path, error: std::io::Error| format!("{}: {error}", path.display());
    let mut parents = BTreeSet::new();
    let mut at = file.to_owned();
    for _ in 0..MAX_LINKS {
        let parent = at.parent().unwrap_or(Path::new("/")).to_owned();
        let real = fs::canonicalize(&parent).map_err(|error| failed(&parent, error))?;
        parents.extend([parent.clone(), real.clone()]);
        match fs::read_link(&at) {
            Ok(target) => at = real.join(target),
            Err(_) => return Ok(parents),
        }
    }
    Err(format!("{}: too many links", file.display()))
}

/// The directories that an interpreter names, both as it spells them and as they really are.
async fn directories_of(python: &Path) -> Result<BTreeSet<PathBuf>, String> {
    let asking = Command::new(python)
        .args(["-I", "-c", QUESTION])
        .env_clear()
        .stdin(Stdio::null())
        .kill_on_drop(true)
        .output();
    let answer = tokio::time::timeout(PATIENCE, asking).await;
    let answer = answer
        .map_err(|_| format!("{} does not answer within {} s", python.display(), PATIENCE.as_secs()))?
        .map_err(|error| format!("{}: {error}", python.display()))?;
    let text = String::from_utf8_lossy(&answer.stdout);
    if !answer.status.success() {
        let said = String::from_utf8_lossy(&answer.stderr);
        let last = said.lines().last().unwrap_or("without a word").to_owned();
        return Err(format!(
            "{} is no Python that runs: {} ({last})",
            python.display(),
            answer.status
        ));
    }
    let spelled = text.lines().map(PathBuf::from).filter(|path| path.is_absolute());
    Ok(spelled
        .flat_map(|path| [fs::canonicalize(&path).unwrap_or_else(|_| path.clone()), path])
        .collect())
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::{PermissionsExt, symlink};

    use super::*;

    /// A program that answers as an interpreter does.
    fn interpreter(path: &Path, prefixes: &[&Path]) {
        let lines: String = prefixes
            .iter()
            .map(|prefix| format!("echo {}\n", prefix.display()))
            .collect();
        fs::write(path, format!("#!/bin/sh\n{lines}")).expect("written");
        fs::set_permissions(path, fs::Permissions::from_mode(0o755)).expect("executable");
    }

    /// A directory outside /tmp, because each program has a separate /tmp.
    fn place() -> tempfile::TempDir {
        let home = std::env::home_dir().filter(|home| covered(home).is_none());
        tempfile::tempdir_in(home.expect("a home that boxes do not cover")).expect("a directory")
    }

    #[tokio::test]
    async fn all_directories_of_an_environment_are_shown_once() {
        let place = place();
        let (venv, base) = (place.path().join("venv"), place.path().join("base"));
        for directory in [venv.join("bin"), base.join("bin"), base.join("lib/site")] {
            fs::create_dir_all(directory).expect("made");
        }
        interpreter(
            &base.join("bin/python3.99"),
            &[&venv, &base, &base.join("lib/site"), Path::new("/usr/lib")],
        );
        symlink(base.join("bin/python3.99"), venv.join("bin/python3")).expect("linked");
        symlink("python3", venv.join("bin/python")).expect("linked");
        for name in ["python3", "python"] {
            let found = Installation::find(&venv.join("bin").join(name), &[]).await.expect(name);
            assert_eq!(found.directory, venv.join("bin"), "{name}");
            assert_eq!(found.shown, [base.clone(), venv.clone()], "{name}");
        }
        let shown = [place.path().to_owned()];
        let found = Installation::find(&venv.join("bin/python"), &shown)
            .await
            .expect("found");
        assert_eq!(found.shown, [] as [&Path; 0]);
    }

    #[tokio::test]
    async fn installations_that_cannot_be_mounted_are_refused_with_the_reason() {
        let place = place();
        let bin = place.path().join("bin");
        fs::create_dir(&bin).expect("made");
        let refused = async |name: &str| Installation::find(&bin.join(name), &[]).await.expect_err(name);
        assert!(refused("python3").await.contains("No such file"));
        interpreter(&bin.join("python3.99"), &[]);
        assert!(refused("python3.99").await.contains("there is no"));
        interpreter(&bin.join("python3"), &[Path::new("/tmp")]);
        assert!(refused("python3.99").await.contains("is another Python"));
        let covered = refused("python3").await;
        assert!(covered.contains("needs /tmp, which programs cannot see"), "{covered}");
        interpreter(&bin.join("python3"), &[Path::new("/")]);
        assert!(refused("python3").await.contains("root directory"));
        fs::write(bin.join("python3"), "#!/bin/sh\necho broken >&2; exit 3").expect("written");
        assert!(refused("python3").await.contains("(broken)"));
    }
}
