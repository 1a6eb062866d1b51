//! The warm interpreters of a daemon, as its command line says: one Python for each profile, with the modules that it
//! has loaded, and Nodes.

use std::collections::BTreeMap;

/// The modules of the standard library that programs use most here. Each makes every fork more expensive.
const STANDARD: [&str; 30] = [
    "array",
    "bisect",
    "cmath",
    "collections",
    "contextlib",
    "copy",
    "datetime",
    "decimal",
    "enum",
    "fractions",
    "functools",
    "heapq",
    "io",
    "itertools",
    "json",
    "math",
    "numbers",
    "operator",
    "queue",
    "random",
    "re",
    "statistics",
    "string",
    "struct",
    "textwrap",
    "threading",
    "time",
    "traceback",
    "types",
    "typing",
];
/// numpy, and the parts of it that it loads late.
const NUMPY: [&str; 4] = ["numpy", "numpy.fft", "numpy.linalg", "numpy.random"];
/// Variables that numeric libraries read when they are loaded. More threads than the box has processors are useless,
/// and a zygote has no thread but the main one, like its template.
const ONE_THREAD: [&str; 3] = ["OPENBLAS_NUM_THREADS=1", "OMP_NUM_THREADS=1", "MKL_NUM_THREADS=1"];
/// Names that have another meaning.
const TAKEN: [&str; 3] = ["", "exec", NODE];
pub(crate) const PYTHON: &str = "python";
pub(crate) const NODE: &str = "node";

/// One warm Python.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Profile {
    /// Modules besides the usual ones of the standard library.
    libraries: Vec<String>,
    /// How many sandboxes with this profile wait.
    pub(crate) parked: usize,
}

impl Profile {
    pub(crate) fn modules(&self) -> Vec<&str> {
        let libraries = self.libraries.iter().map(String::as_str);
        STANDARD.into_iter().chain(libraries).collect()
    }

    /// Modules that must be importable. Otherwise the runtime does not exist.
    pub(crate) fn libraries(&self) -> &[String] {
        &self.libraries
    }

    /// Variables that its programs find in addition to the usual ones.
    pub(crate) fn environment(&self) -> &'static [&'static str] {
        if self.libraries.is_empty() { &[] } else { &ONE_THREAD }
    }
}

/// See the module.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Profiles {
    all: BTreeMap<String, Profile>,
    /// How many sandboxes with a Node wait, for each form.
    pub(crate) nodes: usize,
}

impl Profiles {
    /// `python` and `numpy`. `parked`: how many sandboxes of the first are parked.
    pub(crate) fn new(parked: usize) -> Self {
        let libraries = NUMPY.map(str::to_owned).to_vec();
        let numpy = Profile { libraries, parked: 0 };
        let python = Profile {
            parked,
            ..Profile::default()
        };
        Self {
            all: [(PYTHON.to_owned(), python), ("numpy".to_owned(), numpy)].into(),
            nodes: 0,
        }
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = (&str, &Profile)> {
        self.all.iter().map(|(name, profile)| (name.as_str(), profile))
    }

    /// Adds a profile: `name=module,module`. The error says what is wrong.
    pub(crate) fn preload(&mut self, text: &str) -> Result<(), String> {
        let (name, modules) = text.split_once('=').unwrap_or_default();
        let libraries: Vec<String> = modules.split(',').map(str::to_owned).collect();
        let plain = |text: &str| {
            !text.is_empty()
                && text
                    .bytes()
                    .all(|byte| byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'.')
        };
        if TAKEN.contains(&name) || name == PYTHON || !plain(name) || !libraries.iter().all(|one| plain(one)) {
            return Err(format!("expected NAME=MODULE,..., not {text:?}"));
        }
        self.all.entry(name.to_owned()).or_default().libraries = libraries;
        Ok(())
    }

    /// Parks no sandbox of any runtime.
    pub(crate) fn park_none(&mut self) {
        for profile in self.all.values_mut() {
            profile.parked = 0;
        }
        self.nodes = 0;
    }

    /// Sets the numbers of parked sandboxes: `name=number,name=number`. The error says what is wrong.
    pub(crate) fn park(&mut self, text: &str) -> Result<(), String> {
        for part in text.split(',') {
            let wrong = || {
                let known: Vec<&str> = self.all.keys().map(String::as_str).chain([NODE]).collect();
                format!("expected NAME=N with a name of {}, not {part:?}", known.join(", "))
            };
            let (name, count) = part.split_once('=').ok_or_else(wrong)?;
            let count = count.parse().map_err(|_| wrong())?;
            if name == NODE {
                self.nodes = count;
                continue;
            }
            if !self.all.contains_key(name) {
                return Err(wrong());
            }
            if let Some(profile) = self.all.get_mut(name) {
                profile.parked = count;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::Profiles;

    #[test]
    fn profiles_are_added_and_parked_by_name() {
        let mut profiles = Profiles::new(4);
        assert_eq!(profiles.preload("science=numpy,scipy.stats"), Ok(()));
        assert_eq!(profiles.park("science=3,python=2,node=5"), Ok(()));
        assert_eq!(profiles.nodes, 5);
        let parked: Vec<_> = profiles.iter().map(|(name, one)| (name, one.parked)).collect();
        assert_eq!(parked, [("numpy", 0), ("python", 2), ("science", 3)]);
        let science = profiles
            .iter()
            .last()
            .map(|(_, one)| (one.modules().len(), one.environment().len()));
        assert_eq!(science, Some((32, 3)));
        for wrong in ["ruby=1", "node=x", "python", "python=x", "python=1,", "python=-1"] {
            assert!(profiles.clone().park(wrong).is_err(), "{wrong}");
        }
        for wrong in [
            "", "x", "x=", "=y", "python=y", "exec=y", "node=y", "x=a b", "x=y,", "x=\0",
        ] {
            assert!(profiles.clone().preload(wrong).is_err(), "{wrong}");
        }
        profiles.park_none();
        assert!(profiles.nodes == 0 && profiles.iter().all(|(_, one)| one.parked == 0));
    }
}
