//! Sandboxes: a client of daemons, the boxes that it holds, and their processes, each behind a handle.

mod cancels;
mod capabilities;
mod files;
mod held;
mod pool;
mod process;
mod request;
mod result;
mod test_run;
