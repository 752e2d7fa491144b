//! `keyward filter digest`.

use std::io::BufRead;

use anyhow::{Context as _, bail, ensure};
use clap::Args;
use keyward_resource::kinds::secret::MAX_KEY_LEN;
use serde_json::json;
use sha2::{Digest as _, Sha256};

use crate::hex::hex;
use crate::output::{Format, Output};

pub(super) const EXAMPLES: &str = "\
Examples:
  keyward filter digest < keys.txt

  # As entries of `keys` in a plugin configuration:
  keyward filter digest -o json < keys.txt";

/// How digests are shown.
#[derive(Debug, Clone, Args)]
pub struct DigestArgs {
    /// How the digests look: one a line, or as entries of `keys`.
    #[arg(long, short, default_value = "table", value_name = "FORMAT")]
    output: Format,
}

pub(super) fn run(args: &DigestArgs, input: impl BufRead, output: &mut Output) -> anyhow::Result<()> {
    let digests = digests(input)?;
    let keys: Vec<_> = digests.iter().map(|digest| json!({ "sha256": digest })).collect();
    output.show(args.output, &keys, || digests.join("\n"))
}

/// The digests of the keys of an input; none if one of them is no key.
pub(super) fn digests(mut input: impl BufRead) -> anyhow::Result<Vec<String>> {
    let mut digests = Vec::new();
    let mut line = Vec::new();
    loop {
        line.clear();
        // A key may be any bytes.
        if input.read_until(b'\n', &mut line).context("standard input cannot be read")? == 0 {
            break;
        }
        let key = line.strip_suffix(b"\n").unwrap_or(&line);
        let key = key.strip_suffix(b"\r").unwrap_or(key);
        let number = digests.len() + 1;
        ensure!(!key.is_empty(), "line {number} is empty: a key has 1 to {MAX_KEY_LEN} bytes");
        ensure!(
            key.len() <= MAX_KEY_LEN,
            "line {number} is longer than {MAX_KEY_LEN} bytes: so long is no key"
        );
        digests.push(hex(&Sha256::digest(key)));
    }
    if digests.is_empty() {
        bail!("there are no keys on standard input\nhint: give one key a line");
    }
    Ok(digests)
}
