//! Makes inputs: from a generator that knows the format, and by mutation of seeds.

use std::fs;
use std::hash::{BuildHasher as _, Hasher as _, RandomState};
use std::io::Write as _;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// Inputs that are kept for mutation, besides the seeds.
const POOL: usize = 256;
/// No input is longer than this, so that runs stay short.
const MAX_INPUT: usize = 4096;
const INTERESTING: [u8; 8] = [0, 1, 0x0a, 0x7f, 0x80, 0xfe, 0xff, b'|'];

/// A small generator of random numbers (xorshift64*): the same seed, the same run.
pub(crate) struct Random(u64);

/// Reads structure out of arbitrary bytes; where they end there are zeros.
pub(crate) struct Unstructured<'a>(&'a [u8]);

/// Replays the seeds of a target, then runs new inputs until the time is over.
pub(crate) fn fuzz(target: &str, generate: fn(&mut Random) -> Vec<u8>, run: fn(&[u8])) {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../testdata/fuzz").join(target);
    let mut corpus: Vec<Vec<u8>> = seeds(&folder).iter().map(|path| replay(path, run)).collect();
    let kept = corpus.len();
    assert!(kept > 0, "{} holds no seeds", folder.display());

    let seed = number("KEYWARD_FUZZ_SEED").unwrap_or_else(|| RandomState::new().build_hasher().finish());
    let mut random = Random(seed | 1);
    let end = Instant::now() + Duration::from_secs(number("KEYWARD_FUZZ_SECONDS").unwrap_or(1));
    let mut runs = 0_u64;
    while Instant::now() < end {
        let input = if random.below(3) == 0 {
            let input = generate(&mut random);
            if corpus.len() < kept + POOL {
                corpus.push(input.clone());
            } else {
                let slot = kept + random.below(POOL);
                corpus[slot].clone_from(&input);
            }
            input
        } else {
            mutated(&corpus, &mut random)
        };
        if catch_unwind(AssertUnwindSafe(|| run(&input))).is_err() {
            let path = folder.join(format!("found-{seed:016x}-{runs}"));
            fs::write(&path, &input).expect("the input can be written");
            panic!("target {target}, seed {seed}, run {runs}: the input is now {}", path.display());
        }
        runs += 1;
    }
    let _ = writeln!(std::io::stderr(), "{target}: {kept} seeds, then {runs} inputs from seed {seed}");
}

fn seeds(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
    let mut paths: Vec<PathBuf> =
        entries.map(|entry| entry.expect("the folder can be read").path()).collect();
    paths.sort();
    paths
}

fn replay(path: &Path, run: fn(&[u8])) -> Vec<u8> {
    let input = fs::read(path).expect("a seed can be read");
    assert!(catch_unwind(|| run(&input)).is_ok(), "the seed {} fails", path.display());
    input
}

fn number(variable: &str) -> Option<u64> {
    let text = std::env::var(variable).ok()?;
    Some(text.parse().unwrap_or_else(|_| panic!("{variable} is no number")))
}

fn mutated(corpus: &[Vec<u8>], random: &mut Random) -> Vec<u8> {
    let mut input = random.choose(corpus).clone();
    for _ in 0..=random.below(6) {
        let at = random.below(input.len() + 1);
        let length = random.below(16);
        let until = (at + length).min(input.len());
        match random.below(8) {
            0 if at < input.len() => input[at] ^= 1 << random.below(8),
            1 if at < input.len() => input[at] = random.byte(),
            2 if at < input.len() => input[at] = *random.choose(&INTERESTING),
            3 => input.insert(at, random.byte()),
            4 => drop(input.drain(at..until)),
            5 => {
                let copy = input[at..until].to_vec();
                input.splice(at..at, copy);
            }
            6 => {
                // The end of another input behind the beginning of this one.
                let other = random.choose(corpus);
                let from = random.below(other.len() + 1);
                input.truncate(at);
                input.extend_from_slice(&other[from..]);
            }
            _ => input.truncate(at),
        }
    }
    input.truncate(MAX_INPUT);
    input
}

// === impl Random ===

impl Random {
    pub(crate) fn next(&mut self) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d)
    }

    pub(crate) fn below(&mut self, limit: usize) -> usize {
        usize::try_from(self.next() >> 33).unwrap_or(0) % limit.max(1)
    }

    pub(crate) fn byte(&mut self) -> u8 {
        self.next().to_be_bytes()[0]
    }

    pub(crate) fn bytes(&mut self, limit: usize) -> Vec<u8> {
        (0..self.below(limit)).map(|_| self.byte()).collect()
    }

    pub(crate) fn choose<'a, T>(&mut self, from: &'a [T]) -> &'a T {
        &from[self.below(from.len())]
    }
}

// === impl Unstructured ===

impl<'a> Unstructured<'a> {
    pub(crate) fn new(bytes: &'a [u8]) -> Self {
        Self(bytes)
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(crate) fn byte(&mut self) -> u8 {
        let Some((first, rest)) = self.0.split_first() else { return 0 };
        self.0 = rest;
        *first
    }

    /// At most this many bytes.
    pub(crate) fn take(&mut self, length: usize) -> &'a [u8] {
        let (taken, rest) = self.0.split_at(length.min(self.0.len()));
        self.0 = rest;
        taken
    }
}
