//! Warm runtimes: interpreters that have started before a program asks for one.
//!
//! A template interpreter outside of every sandbox has loaded modules; from it a zygote is forked into each sandbox that
//! is parked for Python, and becomes the program that the sandbox is given. A Node is executed in each that is parked for
//! Node. Every zygote is used once. Which commands are run so is in `eligible` and `node/commands`; what they can notice of
//! it, in the README of `zygotes` in prl-sandbox-guest: little but the time.

mod check;
mod eligible;
mod installation;
mod node;
mod profiles;
mod python;
mod template;

use std::sync::Arc;

use crate::error::SandboxError;
use crate::sandbox::{Factory, Sandbox};

pub(crate) use installation::Installation;
pub(crate) use node::{Form, Node};
pub(crate) use profiles::{NODE, PYTHON, Profile, Profiles};
pub(crate) use python::{Parked, Python};

/// The id by which the first zygote of a sandbox is known to init: no other order has it.
pub(crate) const FIRST: u64 = u64::MAX;
/// And those of the first that it bears, which wait with it: one less for each.
const FIRST_BORN: [u64; 2] = [FIRST - 1, FIRST - 2];

/// Where parked sandboxes come from.
#[derive(Clone, Debug)]
pub(crate) enum Maker {
    Plain(Arc<Factory>),
    /// Whether its zygote is to become the only program.
    Python {
        python: Arc<Python>,
        sole: bool,
    },
    Node(Arc<Node>, Form),
}

impl Maker {
    /// `image`: its number, counted from 1; 0 is the only one that warm runtimes have.
    pub(crate) async fn make(&self, image: u32) -> Result<Sandbox, SandboxError> {
        match self {
            Self::Plain(factory) => factory.make(image).await,
            Self::Python { python, sole } => python.make(*sole).await,
            Self::Node(node, form) => node.make(*form).await,
        }
    }
}
