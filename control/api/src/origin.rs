//! Where times and ids come from.

use jiff::Timestamp;
use uuid::Uuid;

/// The clock and the random numbers of a server, so that tests bring their own.
#[derive(Debug, Clone, Copy)]
pub struct Origin {
    /// The time.
    pub now: fn() -> Timestamp,
    /// A new id, never given before.
    pub uid: fn() -> Uuid,
}

/// The letters of generated names: no vowels, so that no words come out.
const LETTERS: &[u8; 27] = b"bcdfghjklmnpqrstvwxz2456789";
/// How many letters are added to a `generateName`.
const SUFFIX_LEN: usize = 5;

// === impl Origin ===

impl Origin {
    /// The clock and the random numbers of this machine.
    pub const SYSTEM: Self = Self { now: Timestamp::now, uid: Uuid::new_v4 };

    /// The time as metadata says it.
    pub(crate) fn timestamp(&self) -> String {
        (self.now)().strftime("%Y-%m-%dT%H:%M:%SZ").to_string()
    }

    /// What is added to a `generateName`.
    pub(crate) fn suffix(&self) -> String {
        let mut number = (self.uid)().as_u128();
        let mut suffix = String::with_capacity(SUFFIX_LEN);
        for _ in 0..SUFFIX_LEN {
            let letter = usize::try_from(number % LETTERS.len() as u128).unwrap_or_default();
            suffix.push(char::from(LETTERS[letter]));
            number /= LETTERS.len() as u128;
        }
        suffix
    }
}
