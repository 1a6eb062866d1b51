//! Sets of characters: ranges of Unicode scalar values, sorted and apart.

/// A set of characters.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct CharSet(Vec<(char, char)>);

const BELOW_SURROGATES: char = '\u{d7ff}';
const ABOVE_SURROGATES: char = '\u{e000}';

impl CharSet {
    /// A set of ranges in any order, ends included.
    pub(super) fn of(mut ranges: Vec<(char, char)>) -> Self {
        ranges.sort_unstable();
        let mut merged: Vec<(char, char)> = Vec::with_capacity(ranges.len());
        for (low, high) in ranges {
            match merged.last_mut() {
                Some((_, last)) if next(*last).is_none_or(|after| low <= after) => *last = high.max(*last),
                _ => merged.push((low, high)),
            }
        }
        CharSet(merged)
    }

    /// Every character.
    pub(super) fn any() -> Self {
        CharSet(vec![('\0', char::MAX)])
    }

    pub(super) fn complement(&self) -> Self {
        let mut ranges = Vec::with_capacity(self.0.len() + 1);
        let mut from = Some('\0');
        for (low, high) in &self.0 {
            if let (Some(from), Some(to)) = (from, before(*low))
                && from <= to
            {
                ranges.push((from, to));
            }
            from = next(*high);
        }
        if let Some(from) = from {
            ranges.push((from, char::MAX));
        }
        CharSet(ranges)
    }

    /// The union of the sets, and whether no character is in two of them.
    pub(super) fn union<'set>(sets: impl IntoIterator<Item = &'set CharSet>) -> (Self, bool) {
        let mut ranges: Vec<(char, char)> = sets.into_iter().flat_map(|set| set.0.iter().copied()).collect();
        ranges.sort_unstable();
        let are_apart = ranges.windows(2).all(|pair| pair[0].1 < pair[1].0);
        (CharSet::of(ranges), are_apart)
    }

    pub(super) fn add(&mut self, other: &CharSet) {
        if !other.0.is_empty() && *self != *other {
            let both = self.0.iter().chain(&other.0).copied().collect();
            *self = CharSet::of(both);
        }
    }

    pub(super) fn overlaps(&self, other: &CharSet) -> bool {
        let (mut here, mut there) = (self.0.iter().peekable(), other.0.iter().peekable());
        while let (Some((low, high)), Some((other_low, other_high))) = (here.peek(), there.peek()) {
            if low <= other_high && other_low <= high {
                return true;
            }
            if high < other_high {
                here.next();
            } else {
                there.next();
            }
        }
        false
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The one character that it has, if it is one.
    pub(super) fn only(&self) -> Option<char> {
        match self.0.as_slice() {
            [(low, high)] if low == high => Some(*low),
            _ => None,
        }
    }

    pub(super) fn ranges(&self) -> &[(char, char)] {
        &self.0
    }
}

fn next(sign: char) -> Option<char> {
    match sign {
        BELOW_SURROGATES => Some(ABOVE_SURROGATES),
        _ => char::from_u32(u32::from(sign) + 1),
    }
}

fn before(sign: char) -> Option<char> {
    match sign {
        ABOVE_SURROGATES => Some(BELOW_SURROGATES),
        _ => char::from_u32(u32::from(sign).checked_sub(1)?),
    }
}

#[cfg(test)]
mod tests {
    use super::CharSet;

    #[test]
    fn a_complement_has_every_other_character_and_its_complement_is_the_set() {
        for ranges in [
            vec![],
            vec![('\0', char::MAX)],
            vec![('b', 'd'), ('a', 'a'), ('x', 'z')],
            vec![('\0', '\u{d7ff}')],
            vec![('\u{e000}', char::MAX), ('c', 'h'), ('e', 'f')],
        ] {
            let set = CharSet::of(ranges);
            let other = set.complement();
            assert!(!set.overlaps(&other), "{set:?}");
            assert_eq!(other.complement(), set);
            let mut both = set.clone();
            both.add(&other);
            assert_eq!(both, CharSet::any());
        }
    }
}
