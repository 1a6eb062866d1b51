//! Ordinary programs: a sandbox that breaks them fails too.

mod basics;
mod python;
mod tools;

use super::{Case, Defence, Program, case};

/// All ordinary programs.
pub(crate) fn all() -> impl Iterator<Item = &'static Case> {
    [basics::CASES, python::CASES, tools::CASES].into_iter().flatten()
}

const fn works(name: &'static str, program: Program, out: &'static str) -> Case {
    case(name, Defence::None, program, out)
}
