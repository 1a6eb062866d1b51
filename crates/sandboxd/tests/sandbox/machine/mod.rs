//! What the machine, or the container around the daemon, makes of it: tiers, control groups, few descriptors, deployments.

mod cgroup_v2;
mod container;
mod deploy;
mod descriptors;
mod groups;
mod process;
mod tiers;
