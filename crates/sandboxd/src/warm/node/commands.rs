//! Which commands a parked Node can run so that nobody could tell it from one that was executed.
//!
//! What depends on the sandbox's files is decided in the sandbox: a Node that finds no such file says so.

use prl_sandbox_guest::wire::PerProcess;

use crate::plan::Plan;

/// What an interpreter is started to run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Form {
    /// `-e code`
    Code,
    /// A file's name.
    File,
}

/// Everything that travels to it is one message.
const MAX_BYTES: usize = 128 << 10;
/// A Node that waits has used so much; with less there is one that can start only when executed, or cannot.
const MIN_MEMORY_BYTES: u64 = 64 << 20;
/// As many as its threads, and some for its program's.
const MIN_PROCESSES: u64 = 24;
/// What an interpreter reads from its environment when it starts, or a library of its own does.
const READ_AT_START: [&str; 9] = [
    "NODE_", "UV_", "SSL_", "OPENSSL_", "ICU_", "LC_", "LD_", "MALLOC_", "GLIBC_",
];
const FIXED: [&str; 5] = ["PATH", "HOME", "LANG", "LANGUAGE", "TZ"];
/// By these a program asks for how long its interpreter runs, which would be told with the time that it waited.
const CLOCKS: [&[u8]; 3] = [b"performance", b"uptime", b"timeStamp"];

/// The form, or why this needs an interpreter of its own. `usual`: the environment that a parked one has.
pub(super) fn form(plan: &Plan, usual: &[String], open_files: u64) -> Result<Form, &'static str> {
    let program = &plan.start.program;
    let mut arguments = program.command.iter().map(String::as_str);
    // Under another name it would tell that one.
    if arguments.next() != Some("node") {
        return Err("it is not node");
    }
    let form = match arguments.next() {
        None | Some("-" | "") => return Err("the program comes from standard input"),
        Some("-e" | "--eval") => match (arguments.next(), arguments.next()) {
            (None, _) => return Err("there is no program"),
            (Some(code), _) if code.starts_with(['-', '\\']) => return Err("its code is taken for an option"),
            (_, Some(option)) if option.starts_with('-') => return Err("it has options"),
            _ => Form::Code,
        },
        Some(option) if option.starts_with('-') => return Err("it has options"),
        Some("inspect" | "debug") => return Err("it is the debugger"),
        Some(_) => Form::File,
    };
    let texts = program.command.iter().chain(&program.env);
    if texts.map(|text| text.len() + 1).sum::<usize>() > MAX_BYTES {
        return Err("it is too long");
    }
    let mut entries = program.env.iter().filter(|entry| !usual.contains(entry));
    if entries.any(|entry| {
        let name = entry.split('=').next().unwrap_or_default();
        FIXED.contains(&name) || READ_AT_START.iter().any(|prefix| name.starts_with(prefix))
    }) {
        return Err("its environment changes how an interpreter starts");
    }
    let alone = program.alone.as_deref().copied().unwrap_or_default();
    if program.open_files != open_files || program.cpu_seconds > 0 || alone != PerProcess::default() {
        return Err("it has limits that an interpreter takes when it starts");
    }
    if plan.limits.group.memory_bytes < MIN_MEMORY_BYTES || plan.limits.group.processes < MIN_PROCESSES {
        return Err("its limits are smaller than an interpreter that waits");
    }
    let files = plan.start.furnish.iter().flat_map(|furnish| &furnish.files);
    let mut sources = program
        .command
        .iter()
        .map(|text| text.as_bytes())
        .chain(files.map(|file| &*file.content));
    if sources.any(|source| CLOCKS.iter().any(|clock| mentions(source, clock))) {
        return Err("it asks how long its interpreter runs");
    }
    Ok(form)
}

fn mentions(source: &[u8], word: &[u8]) -> bool {
    let mut rest = source;
    while let Some(at) = rest.iter().position(|byte| Some(byte) == word.first()) {
        rest = rest.get(at..).unwrap_or_default();
        if rest.starts_with(word) {
            return true;
        }
        rest = rest.get(1..).unwrap_or_default();
    }
    false
}

#[cfg(test)]
mod tests {
    use super::mentions;

    #[test]
    fn a_word_is_found_anywhere() {
        for (source, found) in [
            ("uptime", true),
            ("process.uptime()", true),
            ("uuptime", true),
            ("upuptim", false),
            ("", false),
            ("up time", false),
        ] {
            assert_eq!(mentions(source.as_bytes(), b"uptime"), found, "{source}");
        }
    }
}
