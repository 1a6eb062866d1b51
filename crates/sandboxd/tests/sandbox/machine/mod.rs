//! The daemon under the conditions of the machine or of a container: tiers, control groups, few descriptors,
//! deployments.

mod cgroup_v2;
mod container;
mod deploy;
mod descriptors;
mod groups;
mod process;
mod runtimes;
mod tiers;
