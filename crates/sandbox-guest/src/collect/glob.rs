//! Globs over relative paths: `*` and `?` within a name, `[...]` sets, `**` over any number of directories.
//!
//! Matching compares bytes. For each `**` it takes time at most proportional to the length of the pattern times that of
//! the path.

/// Whether the whole path matches the whole pattern.
pub(crate) fn matches(pattern: &str, path: &str) -> bool {
    let pattern: Vec<&[u8]> = pattern.split('/').map(str::as_bytes).collect();
    let path: Vec<&[u8]> = path.split('/').map(str::as_bytes).collect();
    // reachable[i]: the pattern up to here matches the first i names.
    let mut reachable = vec![false; path.len() + 1];
    reachable[0] = true;
    for part in pattern {
        let mut next = vec![false; path.len() + 1];
        if part == b"**" {
            let mut open = false;
            for (from, to) in reachable.iter().zip(&mut next) {
                open |= *from;
                *to = open;
            }
        } else {
            for (index, name) in path.iter().enumerate() {
                next[index + 1] = reachable[index] && name_matches(part, name);
            }
        }
        reachable = next;
    }
    reachable.last().copied().unwrap_or(false)
}

fn name_matches(pattern: &[u8], name: &[u8]) -> bool {
    let (mut p, mut n) = (0, 0);
    let mut star: Option<(usize, usize)> = None;
    while n < name.len() {
        let step = match pattern.get(p) {
            Some(b'*') => {
                star = Some((p + 1, n));
                p += 1;
                continue;
            }
            Some(b'?') => Some(1),
            Some(b'[') => set_matches(&pattern[p..], name[n]),
            Some(byte) if *byte == name[n] => Some(1),
            _ => None,
        };
        if let Some(length) = step {
            p += length;
            n += 1;
        } else if let Some((after, from)) = star {
            p = after;
            n = from + 1;
            star = Some((after, n));
        } else {
            return false;
        }
    }
    pattern[p..].iter().all(|byte| *byte == b'*')
}

/// The length of the set at the start of `pattern`, when the set is closed and contains the byte.
fn set_matches(pattern: &[u8], byte: u8) -> Option<usize> {
    let negated = matches!(pattern.get(1), Some(b'!' | b'^'));
    let first = if negated { 2 } else { 1 };
    let end = pattern.iter().skip(first + 1).position(|byte| *byte == b']')? + first + 1;
    let set = &pattern[first..end];
    let mut found = false;
    let mut index = 0;
    while index < set.len() {
        if index + 2 < set.len() && set[index + 1] == b'-' {
            found |= (set[index]..=set[index + 2]).contains(&byte);
            index += 3;
        } else {
            found |= set[index] == byte;
            index += 1;
        }
    }
    (found != negated).then_some(end + 1)
}

#[cfg(test)]
mod tests {
    use super::matches;

    #[test]
    fn stars_stay_within_a_name_and_double_stars_do_not() {
        for (pattern, path, expected) in [
            ("out/*", "out/a.txt", true),
            ("out/*", "out/b/a.txt", false),
            ("out/**", "out/b/a.txt", true),
            ("**/*.py", "a.py", true),
            ("**/*.py", "x/y/a.py", true),
            ("*.tx?", "a.txt", true),
            ("[a-c]*", "bee", true),
            ("[!a-c]*", "bee", false),
            ("[", "[", false),
            ("a*b*c", "aXbYbZc", true),
            ("a*b*c", "aXbYbZ", false),
            ("", "a", false),
        ] {
            assert_eq!(matches(pattern, path), expected, "{pattern} on {path}");
        }
    }
}
