//! Which commands a warm interpreter can run so that they see no difference from an executed one.
//!
//! Where files of the sandbox decide, the zygote decides by itself, and executes the command when it must.

use prl_sandbox_guest::wire::Program;

/// The program travels to the zygote as one message.
const MAX_BYTES: usize = 128 << 10;
/// Beginnings of variables that an interpreter, or its C library, reads before any program runs.
const READ_AT_START: [&str; 7] = ["PYTHON", "LC_", "LD_", "MALLOC_", "GLIBC_", "OPENBLAS_", "OMP_"];
const FIXED: [&str; 4] = ["PATH", "HOME", "LANG", "LANGUAGE"];

/// Why this program needs a new interpreter. `executable`: the template's; `usual`: its environment.
pub(super) fn refusal(program: &Program, executable: &str, usual: &[String]) -> Option<&'static str> {
    let mut arguments = program.command.iter().map(String::as_str);
    let name = arguments.next().unwrap_or_default();
    if name != "python3" && name != executable {
        return Some("it is not python3");
    }
    if program.nobody {
        return Some("it has another user");
    }
    match arguments.next() {
        None | Some("-" | "") => return Some("the program comes from standard input"),
        Some("-c") if arguments.next().is_none() => return Some("there is no program"),
        Some("-c") => {}
        Some(option) if option.starts_with('-') => return Some("it has options"),
        Some(_) => {}
    }
    let bytes: usize = program
        .command
        .iter()
        .chain(&program.env)
        .map(|text| text.len() + 1)
        .sum();
    if bytes > MAX_BYTES {
        return Some("it is too long");
    }
    let mut entries = program.env.iter().filter(|entry| !usual.contains(entry));
    let unusual = entries.any(|entry| {
        let name = entry.split('=').next().unwrap_or_default();
        FIXED.contains(&name) || READ_AT_START.iter().any(|prefix| name.starts_with(prefix))
    });
    unusual.then_some("its environment changes how an interpreter starts")
}

#[cfg(test)]
mod tests {
    use super::refusal;
    use crate::plan::{PATH, environment};
    use prl_sandbox_guest::wire::Program;

    fn refused(command: &[&str], entry: Option<&str>) -> Option<&'static str> {
        let program = Program {
            command: command.iter().map(|text| (*text).to_owned()).collect(),
            env: environment(PATH).into_iter().chain(entry.map(str::to_owned)).collect(),
            ..Program::default()
        };
        refusal(&program, "/usr/bin/python3", &environment(PATH))
    }

    #[test]
    fn plain_programs_are_taken_and_all_others_executed() {
        for command in [
            &["python3", "-c", "print(1)"][..],
            &["/usr/bin/python3", "-c", "pass", "-u"],
            &["python3", "main.py", "--flag"],
        ] {
            assert_eq!(refused(command, None), None, "{command:?}");
            assert_eq!(refused(command, Some("N=1")), None, "{command:?}");
        }
        for command in [
            &["python3"][..],
            &["python3", "-"],
            &["python3", "-c"],
            &["python3", "-I", "-c", "pass"],
            &["python3", "-m", "this"],
            &["python3.11", "-c", "pass"],
            &["./python3", "-c", "pass"],
            &["bash", "-c", "python3"],
            &[],
        ] {
            assert!(refused(command, None).is_some(), "{command:?}");
        }
        for entry in [
            "PYTHONHASHSEED=0",
            "PATH=/work",
            "LC_ALL=C",
            "HOME=/tmp",
            "LD_PRELOAD=x.so",
            "PYTHONDONTWRITEBYTECODE=",
        ] {
            assert!(refused(&["python3", "-c", "pass"], Some(entry)).is_some(), "{entry}");
        }
        let long = "#".repeat(1 << 17);
        assert!(refused(&["python3", "-c", &long], None).is_some());
    }
}
