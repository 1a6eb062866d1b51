//! The scripts of warm interpreters: of the template that forks zygotes, of the zygotes, and of waiting Nodes.

pub mod node;
pub mod python;
