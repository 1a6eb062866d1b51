//! How much CPU time the processes of a group have in each period, whatever else the machine does.

use std::fs;
use std::io;
use std::path::Path;
use std::sync::LazyLock;

use super::layout::Version;

/// The kernel's default.
const PERIOD_US: u64 = 100_000;
/// The kernel takes nothing below a millisecond.
const LEAST_US: u64 = 1000;
/// The processors of a group that runs in bursts: one burst of a millisecond in each period.
pub(super) const BURSTS: f64 = 0.01;
/// From this version on, a process whose quota is used up goes on until it returns from the kernel to its program (the
/// task-based throttling of the fair scheduler). Before, it stops anywhere, and may hold locks of the kernel meanwhile.
const SPARES_LOCKS: (u32, u32) = (6, 18);

/// Gives a group the time of so many processors, or `None` for all that it can get.
pub(super) fn set(version: Version, group: &Path, cpus: Option<f64>) -> io::Result<()> {
    let quota = cpus.map(|cpus| ((cpus * PERIOD_US as f64) as u64).max(LEAST_US));
    match version {
        Version::V1 => {
            fs::write(group.join("cpu.cfs_period_us"), PERIOD_US.to_string())?;
            let text = quota.map_or_else(|| "-1".to_owned(), |quota| quota.to_string());
            fs::write(group.join("cpu.cfs_quota_us"), text)
        }
        Version::V2 => {
            let text = quota.map_or_else(|| "max".to_owned(), |quota| quota.to_string());
            fs::write(group.join("cpu.max"), format!("{text} {PERIOD_US}"))
        }
    }
}

/// Whether this kernel stops processes without quota only outside of the kernel.
pub(super) fn spares_locks() -> bool {
    static SPARES: LazyLock<bool> =
        LazyLock::new(|| fs::read_to_string("/proc/sys/kernel/osrelease").is_ok_and(|release| is_new(&release)));
    *SPARES
}

fn is_new(release: &str) -> bool {
    let mut numbers = release.split(|one: char| !one.is_ascii_digit()).map(str::parse);
    let (Some(Ok(major)), Some(Ok(minor))) = (numbers.next(), numbers.next()) else {
        return false;
    };
    (major, minor) >= SPARES_LOCKS
}

#[cfg(test)]
mod tests {
    use super::{Version, is_new, set};

    #[test]
    fn a_quota_is_written_in_the_words_of_each_version() {
        let group = tempfile::tempdir().unwrap();
        let read = |name: &str| std::fs::read_to_string(group.path().join(name)).unwrap();
        for (cpus, v1, v2) in [
            (Some(1.5), "150000", "150000 100000"),
            (Some(0.0001), "1000", "1000 100000"),
            (None, "-1", "max 100000"),
        ] {
            set(Version::V1, group.path(), cpus).unwrap();
            assert_eq!(
                (read("cpu.cfs_period_us").as_str(), read("cpu.cfs_quota_us").as_str()),
                ("100000", v1)
            );
            set(Version::V2, group.path(), cpus).unwrap();
            assert_eq!(read("cpu.max"), v2);
        }
    }

    #[test]
    fn kernels_are_distinguished_by_the_first_two_numbers_of_their_release() {
        for (release, new) in [
            ("6.17.9-generic", false),
            ("5.19.0", false),
            ("6.18.0", true),
            ("6.18.44-fc-v769\n", true),
            ("6.100.1", true),
            ("7.0-rc1", true),
            ("", false),
            ("unknown", false),
        ] {
            assert_eq!(is_new(release), new, "{release:?}");
        }
    }
}
