//! Which commands a parked Node can run so that they see no difference from an executed one.
//!
//! Where files of the sandbox decide, the Node decides in the sandbox: when it finds no such file it says so.

use prl_sandbox_guest::wire::PerProcess;

use crate::plan::Plan;

/// The kind of program for which an interpreter was started.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Form {
    /// `-e code`
    Code,
    /// A file's name.
    File,
}

/// The program travels to the Node as one message.
const MAX_BYTES: usize = 128 << 10;
/// A waiting Node has used this much memory. With a lower limit only an executed Node can start, if any can.
const MIN_MEMORY_BYTES: u64 = 64 << 20;
/// The threads of a Node, and some for its program.
const MIN_PROCESSES: u64 = 24;
/// Beginnings of variables that an interpreter, or one of its libraries, reads at its start.
const READ_AT_START: [&str; 9] = [
    "NODE_", "UV_", "SSL_", "OPENSSL_", "ICU_", "LC_", "LD_", "MALLOC_", "GLIBC_",
];
const FIXED: [&str; 5] = ["PATH", "HOME", "LANG", "LANGUAGE", "TZ"];
/// Words by which a program reads how long its interpreter runs. On a parked Node the answer would include the time of
/// waiting.
const CLOCKS: [&[u8]; 3] = [b"performance", b"uptime", b"timeStamp"];

/// The form, or the reason why this command needs a new interpreter. `usual`: the environment of a parked Node.
pub(super) fn form(plan: &Plan, usual: &[String], open_files: u64) -> Result<Form, &'static str> {
    let program = &plan.start.program;
    let mut arguments = program.command.iter().map(String::as_str);
    // Under another name the interpreter would report that name.
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
