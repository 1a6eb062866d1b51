//! Whose numbers the users of sandboxes have: none of the machine's accounts, and all of them numbers that there are here.
//! In a container with a user namespace of its own those are usually the first 65536. Each sandbox has two users, of which
//! the second (`NOBODY_OFFSET`) is found by adding.

use std::fs;
use std::io;
use std::ops::Range;

/// From the sandbox's user to its second one.
pub(crate) const NOBODY_OFFSET: u32 = 16_384;
/// Where no machine's accounts are.
const APART: Range<u32> = 1_879_048_192..1_879_048_192 + MOST;
/// How many sandboxes can be alive at a time: the second users begin where the first end.
const MOST: u32 = NOBODY_OFFSET;
/// The account that stands for everybody without a number, and what is above it.
const NOBODY: u32 = 65_534;
/// Below are accounts of services. People may have such a number: in a container with few of them they are not there.
const FIRST: u32 = 1000;

/// All of them, in the order in which they are taken, from the end.
///
/// # Errors
/// This process's user namespace has none to spare.
pub fn free() -> io::Result<Vec<u32>> {
    let map = |kind| fs::read_to_string(format!("/proc/self/{kind}_map"));
    let mut users: Vec<u32> = choose(&map("uid")?, &map("gid")?).collect();
    if users.is_empty() {
        let reason = "the user namespace of this process maps too few numbers; 65536 are usual";
        return Err(io::Error::new(io::ErrorKind::Unsupported, reason));
    }
    // What the kernel counts by user is not shared with every other daemon on the machine at once.
    let first = std::process::id() as usize * 61 % users.len();
    users.rotate_left(first);
    Ok(users)
}

/// Whether this process's users are the machine's own: it is in no user namespace below the first.
pub(crate) fn are_the_machines() -> bool {
    fs::read_to_string("/proc/self/uid_map").is_ok_and(|map| map.split_whitespace().eq(["0", "0", "4294967295"]))
}

/// The first users: numbers that are both users and groups by the maps of the kernel, and so are the second.
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

/// What the lines `first outside number` map.
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
            // A container's, and one whose groups are fewer.
            ("0 200000 65536\n", "0 200000 65536\n", 32_766..49_150),
            ("0 200000 65536\n", "0 200000 20000\n", 1000..3616),
            // What a user may map: himself as root, and the numbers that he was given.
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
