//! The deployment recipes fit the daemon and each other: all that they name exists, and nothing that they forbid is
//! needed.
//!
//! The tests have no cluster and no builder of images, so they read the files.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::support::Outcome;

fn deploy() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../configs/deploy")
}

fn read(path: &str) -> Result<String, Box<dyn std::error::Error>> {
    let path = deploy().join(path);
    std::fs::read_to_string(&path).map_err(|error| format!("{}: {error}", path.display()).into())
}

/// Long options in a text.
fn options(text: &str) -> BTreeSet<&str> {
    let words = text.split(|one: char| !(one.is_ascii_alphanumeric() || one == '-'));
    words
        .filter(|word| word.len() > 3 && word.starts_with("--") && !word.starts_with("---"))
        .collect()
}

/// The values of a key, wherever it is in the text.
fn values<'a>(text: &'a str, key: &str) -> Vec<&'a str> {
    let found = text.lines().filter_map(|line| {
        let line = line.trim_start().trim_start_matches("- ");
        let value = line.strip_prefix(key)?.strip_prefix(':')?;
        Some(value.split(" #").next().unwrap_or_default().trim())
    });
    found.collect()
}

/// The arguments of a list with one on each line.
fn arguments(text: &str) -> Vec<&str> {
    let mut lines = text.lines().skip_while(|line| line.trim() != "args:").skip(1);
    let items = std::iter::from_fn(|| lines.next()?.trim().strip_prefix("- "));
    items.map(|item| item.trim_matches('"')).collect()
}

#[test]
fn recipes_name_arguments_that_the_daemon_has() -> Outcome {
    let help = Command::new(env!("CARGO_BIN_EXE_prl-sandboxd"))
        .arg("--help")
        .output()?;
    let help = String::from_utf8([help.stdout, help.stderr].concat())?;
    let known = options(&help);
    let daemonset = read("kubernetes/daemonset.yaml")?;
    let given = arguments(&daemonset);
    assert!(given.len() > 4, "{given:?}");
    let container = read("container/Containerfile")?;
    let command = container
        .lines()
        .find(|line| line.starts_with("CMD "))
        .ok_or("no CMD")?;
    let wanted = given.iter().copied().filter(|word| word.starts_with("--"));
    for option in wanted.chain(options(command)) {
        assert!(
            known.contains(option),
            "{option} is not an argument of the daemon: {known:?}"
        );
    }
    // Programs see nothing of /run.
    let words = command.split('"').chain(given.iter().copied());
    let tokens: Vec<_> = words.filter(|word| word.ends_with("/token")).collect();
    assert_eq!(tokens, ["/run/prl/token"; 2]);
    assert!(daemonset.contains("mountPath: /run/prl,"));
    Ok(())
}

#[test]
fn manifests_agree_with_each_other() -> Outcome {
    let [daemonset, service, policy, kustomization, namespace] =
        ["daemonset", "service", "networkpolicy", "kustomization", "namespace"]
            .map(|name| read(&format!("kubernetes/{name}.yaml")));
    let (daemonset, service, policy) = (daemonset?, service?, policy?);
    let apps = |text: &str| -> BTreeSet<String> { values(text, "app").into_iter().map(str::to_owned).collect() };
    let app: BTreeSet<String> = ["prl-sandboxd".to_owned()].into();
    for text in [&daemonset, &service, &policy] {
        assert_eq!(apps(text), app);
        assert!(!text.contains('\t'), "tabs are no YAML");
    }
    // One port with one name, on which the daemon listens, and one for its metrics.
    let listen = arguments(&daemonset);
    let port_of = |option: &str| {
        let at = listen.iter().position(|word| *word == option)?;
        Some(listen.get(at + 1)?.rsplit_once(':')?.1)
    };
    let port = port_of("--listen").ok_or("it listens nowhere")?;
    let metrics = port_of("--metrics-address").ok_or("it shows no metrics")?;
    assert_eq!(values(&daemonset, "containerPort"), [port, metrics]);
    assert_eq!(values(&daemonset, "prometheus.io/port"), [format!("{metrics:?}")]);
    assert_eq!(values(&service, "port"), [port]);
    assert_eq!(values(&service, "targetPort"), ["grpc"]);
    for port in ["grpc", "metrics"] {
        assert!(values(&policy, "port").contains(&port) && values(&daemonset, "name").contains(&port));
    }
    // Clients choose among the pods themselves, and only among pods that serve.
    assert_eq!(values(&service, "clusterIP"), ["None"]);
    assert_eq!(values(&service, "publishNotReadyAddresses"), ["false"]);
    // The daemon drains before it is killed.
    let drain = listen
        .iter()
        .position(|word| *word == "--drain-ms")
        .ok_or("it does not drain")?;
    let drain: u64 = listen.get(drain + 1).ok_or("no time")?.parse()?;
    let grace: u64 = values(&daemonset, "terminationGracePeriodSeconds")
        .first()
        .ok_or("no grace")?
        .parse()?;
    assert!(drain < grace * 1000, "{drain} ms of draining in {grace} s");
    // Every file that is named exists, and every volume that is mounted.
    let kustomization = kustomization?;
    for name in kustomization.lines().filter_map(|line| line.trim().strip_prefix("- ")) {
        assert!(deploy().join("kubernetes").join(name).is_file(), "{name}");
    }
    let space = values(&kustomization, "namespace");
    assert_eq!(values(&namespace?, "name"), space);
    for volume in ["token", "scratch"] {
        assert!(
            daemonset.contains(&format!("- {{ name: {volume}, mountPath:")),
            "{volume}"
        );
        assert!(daemonset.contains(&format!("- name: {volume}\n")), "{volume}");
    }
    Ok(())
}

#[test]
fn containers_have_the_capabilities_that_the_daemon_uses() -> Outcome {
    // Without one of these the isolation is weaker, or warm runtimes are missing.
    const NEEDED: [&str; 12] = [
        "CHOWN",
        "DAC_OVERRIDE",
        "FOWNER",
        "KILL",
        "NET_ADMIN",
        "NET_BIND_SERVICE",
        "SETGID",
        "SETPCAP",
        "SETUID",
        "SYS_ADMIN",
        "SYS_CHROOT",
        "SYS_PTRACE",
    ];
    // Capabilities that docker does not give by default.
    const ADDED: [&str; 3] = ["NET_ADMIN", "SYS_ADMIN", "SYS_PTRACE"];
    let daemonset = read("kubernetes/daemonset.yaml")?;
    let mut lines = daemonset.lines().skip_while(|line| line.trim() != "add:").skip(1);
    let listed = std::iter::from_fn(|| lines.next()?.trim().strip_prefix("- "));
    let given: BTreeSet<&str> = listed.filter_map(|item| item.split_whitespace().next()).collect();
    let missing: Vec<_> = NEEDED.iter().filter(|name| !given.contains(**name)).collect();
    assert!(missing.is_empty(), "{missing:?}");
    let readme = read("README.md")?;
    let words: Vec<_> = readme.split_whitespace().collect();
    let added = words
        .windows(2)
        .filter(|pair| pair[0] == "--cap-add")
        .map(|pair| pair[1].trim_start_matches("CAP_"));
    assert_eq!(added.collect::<BTreeSet<_>>(), ADDED.into());
    Ok(())
}

#[test]
fn the_containers_filter_forbids_nothing_that_the_daemon_needs() -> Outcome {
    // The calls that make namespaces, mounts and filters, enter them, and end the processes in them.
    const NEEDED: [&str; 21] = [
        "capset",
        "chroot",
        "clone",
        "clone3",
        "close_range",
        "landlock_create_ruleset",
        "landlock_restrict_self",
        "mknod",
        "mount",
        "mount_setattr",
        "pidfd_getfd",
        "pidfd_open",
        "pidfd_send_signal",
        "pivot_root",
        "prctl",
        "process_vm_readv",
        "seccomp",
        "sethostname",
        "setns",
        "umount2",
        "unshare",
    ];
    let profile: serde_json::Value = serde_json::from_str(&read("container/seccomp.json")?)?;
    assert_eq!(profile["defaultAction"], "SCMP_ACT_ALLOW");
    let mut forbidden = BTreeSet::new();
    for rule in profile["syscalls"].as_array().ok_or("no rules")? {
        assert_eq!(rule["action"], "SCMP_ACT_ERRNO");
        let names = rule["names"].as_array().ok_or("no names")?;
        forbidden.extend(names.iter().filter_map(serde_json::Value::as_str));
    }
    let missing: Vec<_> = NEEDED.iter().filter(|name| forbidden.contains(**name)).collect();
    assert!(missing.is_empty(), "{missing:?}");
    for dangerous in ["bpf", "init_module", "kexec_load", "open_by_handle_at", "userfaultfd"] {
        assert!(forbidden.contains(dangerous), "{dangerous}");
    }
    let daemonset = read("kubernetes/daemonset.yaml")?;
    assert!(daemonset.contains("type: Localhost") && daemonset.contains("configs/deploy/container/seccomp.json"));
    Ok(())
}
