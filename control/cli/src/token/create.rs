//! `keyward token create`.

use anyhow::Context as _;
use clap::Args;
use jiff::{SignedDuration, Timestamp};
use keyward_access::{RANDOM_BYTES, Role, Token, TokenName, TokenRecord};

use super::Place;
use crate::lifetime::lifetime;
use crate::output::Output;

pub(super) const EXAMPLES: &str = "\
Examples:
  # A token that may do everything, into a file:
  keyward token create --role admin > admin.token

  # One that reads a namespace, for 30 days:
  keyward token create --role viewer --namespace team --expires 30d \\
    --name dashboard";

/// What the token is to be.
#[derive(Debug, Clone, Args)]
pub struct CreateArgs {
    #[command(flatten)]
    place: Place,

    /// What it may do: viewer reads everything but Secrets, editor changes it as well, admin sees and
    /// changes Secrets, too.
    #[arg(long, value_name = "ROLE")]
    role: Role,

    /// Its name, in the list and in the audit log [default: the role and a number].
    #[arg(long, value_name = "NAME", value_parser = name)]
    name: Option<TokenName>,

    /// For this namespace only; may be given several times.
    #[arg(long = "namespace", short, value_name = "NAMESPACE")]
    namespaces: Vec<String>,

    /// After what time it is worth nothing: a number and s, m, h, d, w or y [default: never].
    #[arg(long, value_name = "TIME", value_parser = lifetime)]
    expires: Option<SignedDuration>,
}

fn name(text: &str) -> Result<TokenName, String> {
    TokenName::new(text).map_err(|error| error.to_string())
}

/// The first of `admin-1`, `admin-2` and so on that is not taken.
fn free_name(role: Role, taken: &[TokenRecord]) -> anyhow::Result<TokenName> {
    let names = (1..=taken.len() + 1).map(|number| format!("{role}-{number}"));
    let free = names.into_iter().find(|name| taken.iter().all(|record| record.name.as_str() != name));
    Ok(TokenName::new(&free.context("no name is free")?)?)
}

pub(super) fn run(args: CreateArgs, now: Timestamp, output: &mut Output) -> anyhow::Result<()> {
    let mut random = [0; RANDOM_BYTES];
    getrandom::fill(&mut random).context("the machine has no random numbers")?;
    let token = Token::new(&random);
    let expires = args.expires.map(|lifetime| now.checked_add(lifetime)).transpose()?;
    let file = args.place.file();
    let name = match args.name {
        Some(name) => name,
        None => free_name(args.role, file.book()?.records())?,
    };
    let record = TokenRecord {
        name: name.clone(),
        role: args.role,
        namespaces: args.namespaces,
        digest: token.digest(),
        created: now,
        expires,
    };
    file.change(|book| book.add(record)).map_err(|error| args.place.hinted(error))?;
    let until = expires.map_or_else(String::new, |expires| format!(", until {expires:.0}"));
    output.note(format!("token {name}, role {}{until}; it is not shown again:", args.role));
    output.data(token.reveal())
}
