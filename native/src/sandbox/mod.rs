//! Sandboxes: handles of a client of daemons, of the boxes that it holds, and of their processes.

mod boxes;
mod cancels;
mod capabilities;
mod files;
mod pool;
mod process;
mod request;
mod result;
mod test_run;
