//! The code that runs in a sandbox, or between fork and exec: the spawner, the init of each sandbox, and the steps by
//! which both prepare a process before it becomes an untrusted program.
//!
//! This is the privileged half of the sandbox daemon. Each process here has one thread, so that its child may go on
//! after a fork. The crate has no executor and no network stack, and does not know the daemon: they exchange the
//! messages of `wire`.

#![expect(
    missing_docs,
    reason = "one program with the daemon; names and module heads say what there is to say"
)]

mod below;
mod cgroup;
pub mod child;
mod collect;
pub mod defence;
pub mod filter;
pub mod init;
pub mod landlock;
pub mod metered;
pub mod process;
pub mod spawner;
pub mod sys;
pub mod template;
pub mod users;
pub mod wire;
pub mod zygotes;
