//! Warm runtimes: interpreters that have started before a program asks for one.
//!
//! A template interpreter outside every sandbox has loaded modules. From it a zygote is forked into each sandbox that
//! is parked for Python. The zygote becomes the program that the sandbox gets. A Node is executed in each sandbox that
//! is parked for Node. Every zygote is used once. `eligible` and `node/commands` say which commands run on a zygote.
//! The README of `zygotes` in prl-sandbox-guest says what such a command can notice: little except the time.

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

/// The id by which init knows the first zygote of a sandbox. No other order has it.
pub(crate) const FIRST: u64 = u64::MAX;
/// The ids of the first zygotes that it forks, which wait with it.
const FIRST_BORN: [u64; 2] = [FIRST - 1, FIRST - 2];

/// Makes parked sandboxes.
#[derive(Clone, Debug)]
pub(crate) enum Maker {
    Plain(Arc<Factory>),
    /// `sole`: whether its zygote is to become the only program.
    Python {
        python: Arc<Python>,
        sole: bool,
    },
    Node(Arc<Node>, Form),
}

impl Maker {
    /// `image`: the image's number, counted from 1. Warm runtimes have only 0, which is none.
    pub(crate) async fn make(&self, image: u32) -> Result<Sandbox, SandboxError> {
        match self {
            Self::Plain(factory) => factory.make(image).await,
            Self::Python { python, sole } => python.make(*sole).await,
            Self::Node(node, form) => node.make(*form).await,
        }
    }
}
