//! Checks the layering of the workspace's crates in their sources.
//!
//! Modules at the top of a crate depend on each other in one direction only: a module that can be understood alone is
//! below the others. The crate `sandbox-guest` depends on no executor, no network stack and not on the daemon.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

type Names = BTreeSet<String>;

/// Circles that still exist: for each crate, the modules of each circle. Remove an entry when you open its circle.
const KNOWN: [(&str, &[&str]); 1] = [
    // The client keeps the leases of its boxes, and a box asks its client for the daemon that it is on.
    ("sandbox-client", &["boxes", "client", "run"]),
];

/// The dependencies that `sandbox-guest` may have. None of these starts a thread or opens a connection.
const OF_GUEST: [&str; 7] = [
    "bytes",
    "libc",
    "prl-sandbox-proto",
    "prost",
    "seccompiler",
    "tar",
    "tracing",
];

#[test]
fn no_circle_between_the_modules_of_a_crate() {
    for member in members() {
        let name = member.file_name().unwrap().to_string_lossy().into_owned();
        let found = circles(&graph(&member.join("src")));
        let known = KNOWN.iter().filter(|(of, _)| *of == name);
        let known: BTreeSet<Names> = known
            .map(|(_, circle)| circle.iter().map(|module| (*module).to_owned()).collect())
            .collect();
        assert_eq!(found, known, "circles of modules in {name}, as found and as in KNOWN");
    }
}

#[test]
fn code_inside_a_sandbox_knows_no_executor_no_network_and_no_daemon() {
    let guest = root().join("crates/sandbox-guest");
    let manifest = fs::read_to_string(guest.join("Cargo.toml")).unwrap();
    assert_eq!(dependencies(&manifest), OF_GUEST.map(str::to_owned).into());
    // Without the feature `rpc` the interface is its messages only.
    let workspace = fs::read_to_string(root().join("Cargo.toml")).unwrap();
    let interface = [manifest, workspace].concat();
    let interface: Vec<&str> = interface
        .lines()
        .filter(|line| line.starts_with("prl-sandbox-proto"))
        .collect();
    assert!(
        !interface.is_empty() && interface.iter().all(|line| !line.contains("features")),
        "{interface:?}"
    );
    let proto = fs::read_to_string(root().join("crates/sandbox-proto/Cargo.toml")).unwrap();
    assert!(!proto.contains("default = ["), "a default feature of the interface");
    for name in dependencies(&proto).iter().filter(|name| name.starts_with("tonic")) {
        let optional = format!("{name} = {{ workspace = true, optional = true }}");
        assert!(proto.contains(&optional), "{name} is not optional");
    }
}

/// The names in the table `[dependencies]` of a manifest.
fn dependencies(manifest: &str) -> Names {
    let table = manifest.split_once("\n[dependencies]\n").unwrap().1;
    let table = table.split("\n[").next().unwrap();
    let names = table.lines().filter(|line| !line.starts_with('#'));
    names
        .filter_map(|line| Some(line.split(['.', ' ', '=']).next()?.to_owned()))
        .filter(|name| !name.is_empty())
        .collect()
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// The directories of the crates whose modules are checked.
fn members() -> Vec<PathBuf> {
    let crates = fs::read_dir(root().join("crates")).unwrap();
    let crates = crates.map(|entry| entry.unwrap().path());
    let mut members: Vec<_> = crates.chain([root().join("native")]).collect();
    members.retain(|member| member.join("src").is_dir());
    assert!(members.len() > 5, "{members:?}");
    members
}

/// The modules to which each module at the top of a crate refers.
fn graph(src: &Path) -> BTreeMap<String, Names> {
    let files = sources(src);
    let module = |file: &Path| {
        let first = file.strip_prefix(src).unwrap().iter().next().unwrap().to_string_lossy();
        first.strip_suffix(".rs").unwrap_or(&first).to_owned()
    };
    let modules: Names = files
        .iter()
        .map(|file| module(file))
        .filter(|name| name != "lib" && name != "main")
        .collect();
    // Names that the root gives to items of a module stand for that module.
    let mut owner: BTreeMap<String, String> = modules.iter().map(|name| (name.clone(), name.clone())).collect();
    let lib = code(&src.join("lib.rs"));
    for statement in lib.split(';').filter_map(|text| Some(text.rsplit_once("use ")?.1)) {
        let mut words = words(statement).filter(|word| *word != "crate" && *word != "self");
        if let Some(of) = words.next().filter(|word| modules.contains(*word)) {
            owner.extend(words.map(|word| (word.to_owned(), of.to_owned())));
        }
    }
    let mut graph: BTreeMap<String, Names> = modules.iter().map(|name| (name.clone(), Names::new())).collect();
    for file in files {
        let own = module(&file);
        let targets = references(&code(&file))
            .into_iter()
            .filter_map(|name| owner.get(&name).cloned());
        if let Some(edges) = graph.get_mut(&own) {
            edges.extend(targets.filter(|target| *target != own));
        }
    }
    graph
}

/// All source files below a directory.
fn sources(directory: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().path());
    entries
        .flat_map(|path| if path.is_dir() { sources(&path) } else { vec![path] })
        .filter(|path| path.extension().is_some_and(|extension| extension == "rs"))
        .collect()
}

/// A file without its comments.
fn code(file: &Path) -> String {
    let text = fs::read_to_string(file).unwrap();
    let lines = text.lines().map(|line| line.split("//").next().unwrap_or_default());
    lines.collect::<Vec<_>>().join("\n")
}

fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split(|char: char| !char.is_alphanumeric() && char != '_')
        .filter(|word| !word.is_empty())
}

/// The first name behind each `crate::`, also of each element of a list in braces.
fn references(code: &str) -> Names {
    let mut found = Names::new();
    for (at, prefix) in code.match_indices("crate::") {
        // It must not be the end of another word.
        if code[..at].ends_with(|char: char| char.is_alphanumeric() || char == '_') {
            continue;
        }
        let rest = &code[at + prefix.len()..];
        match rest.strip_prefix('{') {
            None => found.extend(words(rest).next().map(str::to_owned)),
            Some(list) => found.extend(firsts(list)),
        }
    }
    found
}

/// The first name of each element of a list, of which the opening brace is already read.
fn firsts(list: &str) -> Vec<String> {
    let mut depth = 0;
    let mut elements = vec![String::new()];
    for char in list.chars() {
        match char {
            '{' => depth += 1,
            '}' if depth == 0 => break,
            '}' => depth -= 1,
            ',' if depth == 0 => elements.push(String::new()),
            _ => {}
        }
        elements.last_mut().unwrap().push(char);
    }
    elements
        .iter()
        .filter_map(|element| words(element).next().map(str::to_owned))
        .collect()
}

/// The modules that depend on each other, each circle as a set of names.
fn circles(graph: &BTreeMap<String, Names>) -> BTreeSet<Names> {
    let reach: BTreeMap<&String, Names> = graph.keys().map(|from| (from, reachable(graph, from))).collect();
    let together = |one: &String| {
        let both = reach[one].iter().filter(|other| reach[*other].contains(one));
        both.cloned().collect::<Names>()
    };
    graph.keys().map(together).filter(|circle| !circle.is_empty()).collect()
}

fn reachable(graph: &BTreeMap<String, Names>, from: &str) -> Names {
    let mut seen = Names::new();
    let mut next = vec![from];
    while let Some(module) = next.pop() {
        next.extend(
            graph[module]
                .iter()
                .filter(|target| seen.insert((*target).clone()))
                .map(String::as_str),
        );
    }
    seen
}

#[test]
fn circles_and_references_are_found() {
    let code = "use crate::a::{b, c};\nuse crate::{d, e::{f, g}, h as i};\nlet x = crate::j(); my_crate::k();";
    let found: Vec<_> = references(code).into_iter().collect();
    assert_eq!(found, ["a", "d", "e", "h", "j"]);
    let graph = [("a", "b"), ("b", "c"), ("c", "b"), ("d", "a")];
    let graph = graph.map(|(from, to)| (from.to_owned(), Names::from([to.to_owned()])));
    let found: Vec<Names> = circles(&graph.into()).into_iter().collect();
    assert_eq!(found, [["b", "c"].map(str::to_owned).into()]);
}

#[test]
fn a_module_with_parts_is_a_folder() {
    for member in members() {
        let beside: Vec<PathBuf> = sources(&member.join("src"))
            .into_iter()
            .filter(|file| file.with_extension("").is_dir())
            .collect();
        assert!(
            beside.is_empty(),
            "these lie beside the folders of their parts, instead of being their mod.rs: {beside:?}"
        );
    }
}
