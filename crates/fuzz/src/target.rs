//! One parser under fuzz: where its inputs come from, what fails, and how long it runs.

use std::collections::HashSet;
use std::panic::{AssertUnwindSafe, catch_unwind, set_hook, take_hook};
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use crate::death::{die, under_way};
use crate::folder::{Folder, hash};
use crate::mutator::Mutator;
use crate::shape::shape;
use prl_test_heap::{Measured, measure, turn};

/// How long a target runs in the long form.
const LONG: Duration = Duration::from_secs(600);
/// An input that takes longer hangs.
const HANGS: Duration = Duration::from_secs(60);
/// Inputs that mutations start from; later ones take the place of earlier ones.
const MOST_STARTS: usize = 2048;
/// Shapes that are remembered.
const MOST_SHAPES: usize = 20_000;
/// Inputs that one run with `PRL_FUZZ_SAVE=1` adds to the corpus.
const MOST_SAVED: usize = 10;
/// Longest input that is added to the corpus.
const MOST_SAVED_BYTES: usize = 2048;

/// The message of the last panic.
static PANIC: Mutex<String> = Mutex::new(String::new());

/// A parser and its inputs.
#[derive(Debug)]
pub struct Target {
    name: &'static str,
    words: Vec<Vec<u8>>,
    starts: Vec<Vec<u8>>,
    inputs: usize,
    most_bytes: usize,
    heap: Bound,
}

/// Bytes of the heap that an input may take.
#[derive(Debug, Clone, Copy)]
struct Bound {
    fixed: usize,
    per_byte: usize,
}

impl Target {
    /// A target whose folder is `crates/fuzz/corpus/<name>`, with inputs of at most 64 KiB and 1 MiB of heap and 64 bytes for each byte of input.
    pub fn new(name: &'static str) -> Self {
        Self {
            name,
            words: Vec::new(),
            starts: Vec::new(),
            inputs: 2000,
            most_bytes: 64 << 10,
            heap: Bound {
                fixed: 1 << 20,
                per_byte: 64,
            },
        }
    }

    /// Adds words of the format to the dictionary.
    #[must_use]
    pub fn words(mut self, words: &[&str]) -> Self {
        self.words.extend(words.iter().map(|word| word.as_bytes().to_vec()));
        self
    }

    /// Adds an input beside the files of the folder, which mutations start from.
    #[must_use]
    pub fn start(mut self, input: impl Into<Vec<u8>>) -> Self {
        self.starts.push(input.into());
        self
    }

    /// How many mutated inputs the short form tries.
    #[must_use]
    pub fn inputs(mut self, inputs: usize) -> Self {
        self.inputs = inputs;
        self
    }

    /// The heap that an input may take: `fixed` bytes and `per_byte` for each of its bytes.
    #[must_use]
    pub fn heap(mut self, fixed: usize, per_byte: usize) -> Self {
        self.heap = Bound { fixed, per_byte };
        self
    }

    /// The length of the longest input in bytes.
    #[must_use]
    pub fn most_bytes(mut self, most_bytes: usize) -> Self {
        self.most_bytes = most_bytes;
        self
    }

    /// Tries every file of the folder and every start, and then mutations of them. `parse` gives what the parser answered, as a text.
    ///
    /// # Panics
    /// When an input fails; the message names its file.
    pub fn run(self, mut parse: impl FnMut(&[u8]) -> String) {
        let _turn = turn();
        let long = std::env::var_os("PRL_TEST_LONG").is_some_and(|value| value == "1");
        let saves = std::env::var_os("PRL_FUZZ_SAVE").is_some_and(|value| value == "1");
        let seed = match std::env::var("PRL_FUZZ_SEED") {
            Ok(text) => text.parse().expect("PRL_FUZZ_SEED is an integer"),
            Err(_) => hash(self.name.as_bytes()),
        };
        let (folder, files) = Folder::open(self.name).expect("the folder of the target");
        let from_folder = files.len();
        let mut starts: Vec<Vec<u8>> = files.into_iter().chain(self.starts).collect();
        assert!(!starts.is_empty(), "{} has nothing to start from", self.name);
        let mut run = Run::begin(self.name, seed, self.heap, folder);
        let mut shapes: HashSet<String> = HashSet::new();
        let mut saved = 0;
        let mut keep = |run: &Run, input: &[u8], is_file: bool, answer: String| {
            let is_new = shapes.len() < MOST_SHAPES && shapes.insert(answer);
            if is_new && saves && !is_file && saved < MOST_SAVED && input.len() <= MOST_SAVED_BYTES {
                run.folder.keep("", input).expect("the corpus");
                saved += 1;
            }
            is_new
        };
        for (index, input) in starts.iter().enumerate() {
            let answer = run.try_one(input, &mut parse);
            keep(&run, input, index < from_folder, answer);
        }
        let mut mutator = Mutator::new(seed, self.words, self.most_bytes);
        let begin = Instant::now();
        let mut tried = 0usize;
        while if long {
            begin.elapsed() < LONG
        } else {
            tried < self.inputs
        } {
            let mut input = starts[mutator.below(starts.len())].clone();
            let other = mutator.below(starts.len());
            mutator.change(&mut input, &starts[other]);
            let answer = run.try_one(&input, &mut parse);
            tried += 1;
            if keep(&run, &input, false, answer) {
                if starts.len() < MOST_STARTS {
                    starts.push(input);
                } else {
                    let at = mutator.below(MOST_STARTS);
                    starts[at] = input;
                }
            }
        }
        run.end();
    }
}

/// A run of a target. While it lasts, panics are not printed: parsers that catch their own would fill the log.
struct Run {
    name: &'static str,
    seed: u64,
    heap: Bound,
    folder: Folder,
    watch: Sender<()>,
}

impl Run {
    fn begin(name: &'static str, seed: u64, heap: Bound, folder: Folder) -> Self {
        under_way(Some(folder.under_way()));
        set_hook(Box::new(|panic| *hold(&PANIC) = panic.to_string()));
        let (watch, beats) = channel();
        thread::spawn(move || {
            // The first word waits as long as the process needs for its files.
            let mut alive = beats.recv().is_ok();
            while alive {
                alive = match beats.recv_timeout(HANGS) {
                    Ok(()) => true,
                    Err(RecvTimeoutError::Disconnected) => false,
                    Err(RecvTimeoutError::Timeout) => die(&format!("it takes more than {} s", HANGS.as_secs())),
                };
            }
        });
        Self {
            name,
            seed,
            heap,
            folder,
            watch,
        }
    }

    /// The shape of the parser's answer.
    fn try_one(&mut self, input: &[u8], parse: &mut impl FnMut(&[u8]) -> String) -> String {
        self.watch.send(()).expect("the watch");
        self.folder.begin(input).expect("the file of the input under way");
        let Measured {
            value: answer, peak, ..
        } = measure(|| catch_unwind(AssertUnwindSafe(|| shape(&parse(input)))));
        let bound = self.heap.fixed + self.heap.per_byte * input.len();
        match answer {
            Err(_) => {
                let panic = hold(&PANIC).clone();
                self.fail(input, &panic)
            }
            Ok(_) if peak > bound => self.fail(
                input,
                &format!(
                    "{} bytes of input took {peak} bytes of heap; at most {bound} are right",
                    input.len()
                ),
            ),
            Ok(answer) => answer,
        }
    }

    fn fail(&self, input: &[u8], reason: &str) -> ! {
        let path = self
            .folder
            .keep("failing-", input)
            .expect("the file of a failing input");
        std::fs::remove_file(self.folder.under_way()).expect("the input under way has another file");
        drop(take_hook());
        panic!("{}: {} (seed {}): {reason}", self.name, path.display(), self.seed);
    }

    fn end(self) {
        drop(take_hook());
        under_way(None);
        self.folder.finish().expect("the file of the input under way");
    }
}

fn hold<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
