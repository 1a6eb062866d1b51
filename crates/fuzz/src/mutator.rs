//! Changes of inputs that know nothing of their format, except for a dictionary of its words.

use fastrand::Rng;

/// Integers at which sizes, signs and widths change.
const INTEGERS: [u64; 20] = [
    0,
    1,
    2,
    7,
    8,
    16,
    127,
    128,
    255,
    256,
    32_767,
    65_535,
    65_536,
    0x7fff_ffff,
    0xffff_ffff,
    0x1_0000_0000,
    0x1f_ffff_ffff_ffff,
    0x20_0000_0000_0000,
    0x7fff_ffff_ffff_ffff,
    0xffff_ffff_ffff_ffff,
];
/// Numbers as texts write them, beside the integers.
const NUMBERS: [&str; 10] = [
    "-1",
    "-0",
    "0.5",
    "1e308",
    "1e999",
    "-1e999",
    "1e-400",
    "NaN",
    "18446744073709551616",
    "00",
];
/// Most changes of one input.
const MAX_CHANGES: usize = 6;
/// Most copies of a part in one change.
const MAX_COPIES: usize = 4096;

/// Makes inputs out of inputs. The same seed gives the same changes.
#[derive(Debug)]
pub struct Mutator {
    random: Rng,
    words: Vec<Vec<u8>>,
    most_bytes: usize,
}

impl Mutator {
    /// `words` are texts and bytes that mean something in the format; no input becomes longer than `most_bytes`.
    pub fn new(seed: u64, words: Vec<Vec<u8>>, most_bytes: usize) -> Self {
        Self {
            random: Rng::with_seed(seed),
            words,
            most_bytes,
        }
    }

    /// A number below `end`, which is not 0.
    pub fn below(&mut self, end: usize) -> usize {
        self.random.usize(..end)
    }

    /// Changes `input` in one to six places; `other` gives parts that are put in.
    pub fn change(&mut self, input: &mut Vec<u8>, other: &[u8]) {
        // Most inputs have few changes, because each one more makes it likelier that the first check already fails.
        let changes = 1 + self.random.usize(..MAX_CHANGES).min(self.random.usize(..MAX_CHANGES));
        for _ in 0..changes {
            self.change_once(input, other);
            input.truncate(self.most_bytes);
        }
    }

    fn change_once(&mut self, input: &mut Vec<u8>, other: &[u8]) {
        match self.random.u8(..16) {
            0 | 1 => {
                let bit = 1 << self.random.u8(..8);
                self.byte(input, |byte, _| byte ^ bit);
            }
            2 => self.byte(input, |_, random| random),
            3 => self.byte(input, |byte, random| byte.wrapping_add(random % 17).wrapping_sub(8)),
            4 | 5 => self.integer(input),
            6 | 7 => self.number(input),
            8 => input.truncate(self.place(input)),
            9 => {
                let part = self.part(input.len());
                input.drain(part);
            }
            10 => {
                let part = self.part(input.len());
                self.insert(input, |_, input| input[part].to_vec());
            }
            11 => self.repeat(input),
            12 => {
                let part = self.part(other.len());
                self.insert(input, |_, _| other[part].to_vec());
            }
            13 => {
                let (here, there) = (self.place(input), self.place(other));
                input.truncate(here);
                input.extend_from_slice(&other[there..]);
            }
            _ => self.word(input),
        }
    }

    /// A position in `bytes`, the end included.
    fn place(&mut self, bytes: &[u8]) -> usize {
        self.random.usize(..=bytes.len())
    }

    /// A part of `length` bytes; short ones are as likely as long ones.
    fn part(&mut self, length: usize) -> std::ops::Range<usize> {
        let start = self.random.usize(..=length);
        let most = if self.random.bool() { 16 } else { length };
        start..start + self.random.usize(..=most.min(length - start))
    }

    fn byte(&mut self, input: &mut [u8], change: impl FnOnce(u8, u8) -> u8) {
        if !input.is_empty() {
            let at = self.random.usize(..input.len());
            input[at] = change(input[at], self.random.u8(..));
        }
    }

    /// An integer of 1, 2, 4 or 8 bytes in either order over what is there.
    fn integer(&mut self, input: &mut Vec<u8>) {
        let width = 1usize << self.random.u8(..4);
        let value = INTEGERS[self.below(INTEGERS.len())];
        let bytes = if self.random.bool() {
            value.to_le_bytes()[..width].to_vec()
        } else {
            value.to_be_bytes()[8 - width..].to_vec()
        };
        // Formats keep their lengths at the beginning.
        let at = if self.random.bool() { 0 } else { self.place(input) };
        let end = (at + width).min(input.len());
        input.splice(at..end, bytes);
    }

    /// Another number in place of one that is written in digits.
    fn number(&mut self, input: &mut Vec<u8>) {
        let from = self.place(input);
        let Some(start) = (from..input.len()).find(|at| input[*at].is_ascii_digit()) else {
            return self.integer(input);
        };
        let digits = input[start..].iter().take_while(|byte| byte.is_ascii_digit()).count();
        let text = if self.random.u8(..3) == 0 {
            NUMBERS[self.below(NUMBERS.len())].to_owned()
        } else {
            INTEGERS[self.below(INTEGERS.len())].to_string()
        };
        input.splice(start..start + digits, text.into_bytes());
    }

    /// Many copies of a part or a word, which nests what opens and fills what is counted.
    fn repeat(&mut self, input: &mut Vec<u8>) {
        let copies = 1 << self.random.usize(..=MAX_COPIES.ilog2() as usize);
        let part = self.part(input.len().min(64));
        let piece = match self.words.is_empty() || self.random.bool() {
            true => input[part].to_vec(),
            false => self.words[self.random.usize(..self.words.len())].clone(),
        };
        let copies = copies.min(self.most_bytes / piece.len().max(1));
        self.insert(input, |_, _| piece.repeat(copies));
    }

    /// A word of the format, put in or written over what is there.
    fn word(&mut self, input: &mut Vec<u8>) {
        if self.words.is_empty() {
            return self.integer(input);
        }
        let word = self.words[self.random.usize(..self.words.len())].clone();
        let at = self.place(input);
        let end = if self.random.bool() {
            at
        } else {
            (at + word.len()).min(input.len())
        };
        input.splice(at..end, word);
    }

    fn insert(&mut self, input: &mut Vec<u8>, piece: impl FnOnce(&mut Self, &[u8]) -> Vec<u8>) {
        let piece = piece(self, input);
        let at = self.place(input);
        input.splice(at..at, piece);
    }
}

#[cfg(test)]
mod tests {
    use super::Mutator;

    #[test]
    fn one_seed_gives_one_sequence_within_its_length() {
        let run = |seed| {
            let mut mutator = Mutator::new(seed, vec![b"{\"a\":".to_vec()], 300);
            let mut input = b"some input with 12 digits".to_vec();
            let all: Vec<Vec<u8>> = (0..2000)
                .map(|_| {
                    mutator.change(&mut input, b"another 7");
                    assert!(input.len() <= 300);
                    input.clone()
                })
                .collect();
            all
        };
        assert_eq!(run(1), run(1));
        assert_ne!(run(1), run(2));
        let mut mutator = Mutator::new(3, Vec::new(), 10);
        for _ in 0..1000 {
            mutator.change(&mut Vec::new(), b"");
        }
    }
}
