//! Chooses the numbers for the users of sandboxes: no account of the machine has them, and all exist here. In a
//! container with a separate user namespace that is usually so for the first 65536. Each sandbox has two users. The
//! second is the first plus `NOBODY_OFFSET`.

use std::fs;
use std::io;
use std::ops::Range;

/// The distance from the number of the sandbox's user to that of its second user.
pub(crate) const NOBODY_OFFSET: u32 = 16_384;
/// Numbers that no machine's accounts have.
const APART: Range<u32> = 1_879_048_192..1_879_048_192 + MOST;
/// How many sandboxes can be alive at a time: the second users begin where the first end.
const MOST: u32 = NOBODY_OFFSET;
/// The account for all users without a number, and the numbers above it.
const NOBODY: u32 = 65_534;
/// Numbers below belong to accounts of services. People may have numbers from here on, but not in a container with few
/// numbers.
const FIRST: u32 = 1000;

/// All numbers in the order in which they are taken, from the end.
///
/// # Errors
/// This process's user namespace has no numbers to spare.
pub fn free() -> io::Result<Vec<u32>> {
    let map = |kind| fs::read_to_string(format!("/proc/self/{kind}_map"));
    let mut users: Vec<u32> = choose(&map("uid")?, &map("gid")?).collect();
    if users.is_empty() {
        let reason = "the user namespace of this process maps too few numbers; 65536 are usual";
        return Err(io::Error::new(io::ErrorKind::Unsupported, reason));
    }
    // Daemons begin at different numbers, because the kernel counts some things by user for the whole machine.
    let first = std::process::id() as usize * 61 % users.len();
    users.rotate_left(first);
    Ok(users)
}

/// Whether this process's users are those of the machine: its user namespace is the first one.
pub(crate) fn are_the_machines() -> bool {
    fs::read_to_string("/proc/self/uid_map").is_ok_and(|map| map.split_whitespace().eq(["0", "0", "4294967295"]))
}

/// The first users: numbers that the kernel maps for users and for groups, as well as the second numbers.
fn choose(users: &str, groups: &str) -> Range<u32> {
    let (users, groups) = (mapped(users), mapped(groups));
    let both = |user: &Range<u32>, group: &Range<u32>| user.start.max(group.start)..user.end.min(group.end);
    let common: Vec<_> = users
        .iter()
        .flat_map(|user| groups.iter().map(move |group| both(user, group)))
        .collect();
    let holds = |range: &Range<u32>| range.start <= APART.start && APART.end + NOBODY_OFFSET <= range.end;
    if common.iter().any(holds) {
        return APART;
    }
    let spare = common.into_iter().map(|range| {
        let end = range.end.min(NOBODY).saturating_sub(NOBODY_OFFSET);
        range.start.max(FIRST).max(end.saturating_sub(MOST))..end
    });
    spare.max_by_key(|range| range.len()).unwrap_or(0..0)
}

/// The ranges in the lines `first outside number` of a map.
fn mapped(map: &str) -> Vec<Range<u32>> {
    let range = |line: &str| {
        let mut fields = line.split_whitespace().map(str::parse::<u32>);
        let (first, number) = (fields.next()?.ok()?, fields.nth(1)?.ok()?);
        Some(first..first.saturating_add(number))
    };
    map.lines().filter_map(range).collect()
}

#[cfg(test)]
mod tests {
    use super::{APART, choose};

    #[test]
    fn sandboxes_are_users_that_there_are() {
        let all = "         0          0 4294967295\n";
        assert_eq!(choose(all, all), APART);
        for (users, groups, expected) in [
            // A container's, and one with fewer groups.
            ("0 200000 65536\n", "0 200000 65536\n", 32_766..49_150),
            ("0 200000 65536\n", "0 200000 20000\n", 1000..3616),
            // The map of an ordinary user: the user as root, and the numbers that were assigned to the user.
            (
                "0 1000 1\n1 100000 65536\n",
                "0 1000 1\n1 100000 65536\n",
                32_766..49_150,
            ),
            ("0 200000 1879080960\n", all, APART),
            ("0 200000 1879080959\n", all, 32_766..49_150),
        ] {
            assert_eq!(choose(users, groups), expected, "{users} {groups}");
        }
        for few in ["0 1000 1\n", "0 200000 17000\n", "", "1 2\n"] {
            assert!(choose(few, all).is_empty(), "{few}");
        }
    }
}
