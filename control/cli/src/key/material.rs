//! The key itself: given, read, made, or known by its digest alone.

use std::fmt;
use std::io::Read;
use std::str::FromStr;

use anyhow::{Context as _, anyhow, ensure};
use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use clap::Args;
use keyward_filter_core::generated;
use keyward_resource::kinds::secret::{DIGEST_FIELD, KEY_FIELD, MAX_KEY_LEN};
use serde_json::{Map, Value};
use sha2::{Digest as _, Sha256};

use super::id_of;
use crate::client::ClientError;
use crate::ended::Ended;
use crate::ends::Ends;
use crate::hex::hex;
use crate::output::Output;

/// Where the key comes from.
#[derive(Debug, Clone, Default, Args)]
#[command(next_help_heading = "Key")]
pub(crate) struct KeyArgs {
    /// The key, 1 to 4096 bytes. Everybody on this machine sees flags: --apikey-stdin is safer.
    #[arg(long, value_name = "KEY", conflicts_with_all = ["apikey_stdin", "apikey_sha256"])]
    apikey: Option<Text>,

    /// Reads the key from standard input; a line end behind it is dropped.
    #[arg(long, conflicts_with = "apikey_sha256")]
    apikey_stdin: bool,

    /// Makes a key, `kw_<random>_<checksum>`, and shows it once on standard output.
    #[arg(long)]
    apikey_generate: bool,

    /// The SHA-256 of a key that exists elsewhere, in 64 hexadecimal digits.
    #[arg(long, value_name = "HEX")]
    apikey_sha256: Option<Text>,

    /// Stores the SHA-256 of the key and not the key itself: nobody can read it back.
    #[arg(long)]
    digest_only: bool,
}

/// What is said before a key of which nobody knows whether it is stored.
const UNCLEAR: &str = "whether it is stored is not known; if it is, this is the key, not shown again:";

/// An argument that cannot be printed.
#[derive(Clone)]
pub(crate) struct Text(String);

/// A key, in the form in which it is stored.
pub(crate) struct Material {
    /// What stands in the data of the Secret.
    entry: (&'static str, Vec<u8>),
    sha256: [u8; 32],
    /// The key, if it was made here.
    made: Option<String>,
}

/// What is no digest is not told: it may be the key.
fn digest(Text(text): &Text) -> anyhow::Result<String> {
    let is_digest = text.len() == 64 && text.bytes().all(|byte| byte.is_ascii_hexdigit());
    let why = "what --apikey-sha256 says is not 64 hexadecimal digits\nhint: it takes the SHA-256 of a key; a key \
               itself is for --apikey-stdin, and with --digest-only nothing but its SHA-256 is stored";
    if is_digest { Ok(text.to_ascii_lowercase()) } else { Err(Ended::usage(anyhow!(why))) }
}

/// The SHA-256 of a key.
pub(crate) fn sha256(key: &[u8]) -> [u8; 32] {
    Sha256::digest(key).into()
}

// === impl KeyArgs ===

impl KeyArgs {
    /// Whether nothing says where the key comes from.
    pub(crate) fn is_silent(&self) -> bool {
        self.apikey.is_none() && !self.apikey_stdin && !self.apikey_generate && self.apikey_sha256.is_none()
    }

    /// Whether a key is made that the Secret does not hold.
    pub(crate) fn is_lost(&self) -> bool {
        self.digest_only && self.apikey.is_none() && !self.apikey_stdin && self.apikey_sha256.is_none()
    }

    /// The same, and a key is made where nothing says where it comes from.
    pub(crate) fn or_generated(&self, digest_only: bool) -> Self {
        let apikey_generate = self.apikey_generate || self.is_silent();
        Self { apikey_generate, digest_only: self.digest_only || digest_only, ..self.clone() }
    }

    /// The key. As in the original product, one that is given wins over one that is to be made.
    pub(crate) fn material(&self, input: &mut impl Read) -> anyhow::Result<Material> {
        if let Some(text) = &self.apikey_sha256 {
            let digest = digest(text)?;
            let mut sha256 = [0; 32];
            let (pairs, _) = digest.as_bytes().as_chunks::<2>();
            for (to, pair) in sha256.iter_mut().zip(pairs) {
                *to = u8::from_str_radix(std::str::from_utf8(pair)?, 16)?;
            }
            let entry = (DIGEST_FIELD, digest.into_bytes());
            return Ok(Material { entry, sha256, made: None });
        }
        let (key, made) = match &self.apikey {
            Some(key) => (key.0.clone().into_bytes(), None),
            None if self.apikey_stdin => (read(input)?, None),
            None if self.apikey_generate => {
                let mut random = [0; 16];
                getrandom::fill(&mut random).context("the machine has no random numbers")?;
                let key = generated::make(random);
                (key.clone().into_bytes(), Some(key))
            }
            None => {
                let why = "no key is provided, and none is to be generated\nhint: --apikey-generate makes one; \
                           --apikey, --apikey-stdin and --apikey-sha256 take yours";
                return Err(Ended::usage(anyhow!(why)));
            }
        };
        ensure!(!key.is_empty(), "the key is empty");
        ensure!(key.len() <= MAX_KEY_LEN, "the key is longer than {MAX_KEY_LEN} bytes");
        let sha256 = sha256(&key);
        let entry =
            if self.digest_only { (DIGEST_FIELD, hex(&sha256).into_bytes()) } else { (KEY_FIELD, key) };
        Ok(Material { entry, sha256, made })
    }
}

/// A key from standard input.
pub(crate) fn read(input: &mut impl Read) -> anyhow::Result<Vec<u8>> {
    let mut key = Vec::new();
    // One byte more than is allowed, and a line end: enough to see that it is too long.
    let limit = u64::try_from(MAX_KEY_LEN)?.saturating_add(3);
    input.take(limit).read_to_end(&mut key).context("the key cannot be read from standard input")?;
    if key.last() == Some(&b'\n') {
        key.pop();
        if key.last() == Some(&b'\r') {
            key.pop();
        }
    }
    Ok(key)
}

// === impl Material ===

impl Material {
    /// The first digits of its digest.
    pub(crate) fn id(&self) -> String {
        id_of(&self.sha256)
    }

    /// The key itself, if it was made here: nobody else has it.
    pub(crate) fn made(&self) -> Option<&str> {
        self.made.as_deref()
    }

    /// Where it is not clear whether the key has come to be: shows one that was made here, as nobody else has
    /// it. The error stays what it is.
    fn saved(&self, error: anyhow::Error, output: &mut Output) -> anyhow::Error {
        let is_unclear = error.downcast_ref::<ClientError>().is_some_and(ClientError::is_unclear);
        if let Some(key) = self.made.as_ref().filter(|_| is_unclear) {
            output.note(UNCLEAR);
            return output.data(key).err().unwrap_or(error);
        }
        error
    }

    /// Waits for the answer to a change that gives somebody this key. Whoever is told to end meanwhile shows a
    /// key that was made here before: it may be stored, and nobody else has it.
    pub(crate) async fn kept<T, E: Into<anyhow::Error>>(
        &self,
        changing: impl Future<Output = Result<T, E>>,
        output: &mut Output,
    ) -> anyhow::Result<T> {
        let Some(key) = &self.made else { return changing.await.map_err(Into::into) };
        let mut ends = Ends::new()?;
        tokio::select! {
            biased;
            changed = changing => changed.map_err(|error| self.saved(error.into(), output)),
            end = ends.any() => {
                output.note(UNCLEAR);
                output.data(key)?;
                Err(Ended::told(end.code()))
            }
        }
    }

    /// The name of the entry that it is stored in.
    pub(crate) fn field(&self) -> &'static str {
        self.entry.0
    }

    /// Its SHA-256.
    pub(crate) fn sha256(&self) -> &[u8; 32] {
        &self.sha256
    }

    /// The entry as it stands in `data`.
    pub(crate) fn encoded(&self) -> Value {
        BASE64_STANDARD.encode(&self.entry.1).into()
    }

    /// Puts it into the object of a Secret: as text where it is one, for people.
    pub(crate) fn put(&self, object: &mut Map<String, Value>) {
        let (place, value) = match std::str::from_utf8(&self.entry.1) {
            Ok(text) => ("stringData", text.into()),
            Err(_) => ("data", self.encoded()),
        };
        let place = object.entry(place).or_insert_with(|| Map::new().into());
        if let Value::Object(entries) = place {
            entries.insert(self.entry.0.to_owned(), value);
        }
    }
}

// === impl Text ===

impl Text {
    /// What it says.
    pub(crate) fn as_bytes(&self) -> &[u8] {
        self.0.as_bytes()
    }
}

impl FromStr for Text {
    type Err = std::convert::Infallible;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        Ok(Self(text.to_owned()))
    }
}

impl fmt::Debug for Text {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("[redacted]")
    }
}

impl fmt::Debug for Material {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Material").field(&self.id()).finish()
    }
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;
    use std::future::pending;
    use std::io::Write;
    use std::rc::Rc;

    use rustix::process::{Signal, getpid, kill_process};

    use super::*;

    #[derive(Clone, Default)]
    struct Said(Rc<RefCell<Vec<u8>>>);

    impl Write for Said {
        fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
            self.0.borrow_mut().write(bytes)
        }

        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }

    #[tokio::test]
    async fn who_is_told_to_end_shows_the_key_that_nobody_else_has() {
        let args = KeyArgs { apikey_generate: true, ..KeyArgs::default() };
        let material = args.material(&mut std::io::empty()).expect("a key");
        let (data, notes) = (Said::default(), Said::default());
        let mut output = Output::into(data.clone(), notes.clone());
        // The answer never comes, and Ctrl-C does once somebody waits for it.
        let changing = async {
            kill_process(getpid(), Signal::INT).expect("a signal");
            pending::<Result<(), anyhow::Error>>().await
        };
        let ended = material.kept(changing, &mut output).await.expect_err("it ends");
        assert_eq!(ended.downcast_ref::<Ended>().map(Ended::code), Some(130));
        let key = material.made().expect("it is made here");
        assert_eq!(String::from_utf8_lossy(&data.0.borrow()), format!("{key}\n"));
        assert!(!String::from_utf8_lossy(&notes.0.borrow()).contains(key));
    }
}
