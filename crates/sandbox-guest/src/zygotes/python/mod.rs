//! Python: the bootstrap of a template, and the interpreter behind `Evaluate`.

/// The script that a template executes: it takes the parts from its socket.
pub const LOADER: &str = include_str!("loader.py");
/// Parts of the bootstrap, ordered so that each comes after the parts that it needs.
pub const PARTS: [(&str, &str); 10] = [
    ("closure", include_str!("closure.py")),
    ("stash", include_str!("stash.py")),
    ("kernel", include_str!("kernel.py")),
    ("huge", include_str!("huge.py")),
    ("calls", include_str!("calls.py")),
    ("rights", include_str!("rights.py")),
    ("guest", include_str!("guest.py")),
    ("birth", include_str!("birth.py")),
    ("hot", include_str!("hot.py")),
    ("template", include_str!("template.py")),
];
/// The interpreter behind `Evaluate`.
pub const REPL: &str = include_str!("repl.py");
