//! `keyward proxy diff`.

mod compare;
mod reported;

use clap::Args;
use serde::Serialize;
use serde_json::Value;

use self::compare::difference;
use self::reported::{Reported, State};
use super::admin::AdminArgs;
use super::served::Served;
use crate::ended::Ended;
use crate::output::{Format, Output, Table};

pub(super) const EXAMPLES: &str = "\
Examples:
  keyward proxy diff
  keyward proxy diff --all -o json \\
    | jq -r '.resources[] | select(.state != \"Same\") | .name'

Compares what the control server serves with what the proxy reports in its
configuration dump, resource by resource: Same, Missing (the proxy does not
have it), Stale (it has another version), Extra (it has what is not served any
more). A proxy that has just been told something needs a moment.

Exit codes: 0 all the same, 1 could not be compared, 2 something differs.";

/// What is compared.
#[derive(Debug, Clone, Args)]
pub struct DiffArgs {
    /// Shows those that are the same too.
    #[arg(long)]
    all: bool,

    /// How it looks.
    #[arg(long, short, default_value = "table", value_name = "FORMAT")]
    output: Format,

    #[command(flatten)]
    admin: AdminArgs,
}

/// Something differs.
#[derive(Debug, thiserror::Error)]
#[error(
    "{differing} of {all} resources differ\nhint: `keyward proxy status` says what the proxy refuses, and why"
)]
struct Differs {
    differing: usize,
    all: usize,
}

/// How one resource stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
enum Standing {
    Same,
    Missing,
    Stale,
    Extra,
}

/// One resource.
#[derive(Debug, PartialEq, Eq, Serialize)]
struct Resource {
    #[serde(rename = "type")]
    of: &'static str,
    name: String,
    state: Standing,
    /// Where they differ first, or what the proxy says of it.
    #[serde(skip_serializing_if = "Option::is_none")]
    detail: Option<String>,
}

/// All of them.
#[derive(Debug, Serialize)]
struct Answer {
    role: String,
    same: bool,
    resources: Vec<Resource>,
}

fn name(of: &'static str, resource: &Value) -> String {
    let field = if of == "endpoints" { "clusterName" } else { "name" };
    let name = resource.as_str().or_else(|| resource[field].as_str());
    name.unwrap_or("?").to_owned()
}

/// Compares one type: what is served, with what is reported under these names.
fn of_type(of: &'static str, served: &[Value], reported: &Reported) -> Vec<Resource> {
    let mut resources: Vec<Resource> = served
        .iter()
        .map(|resource| {
            let name = name(of, resource);
            let (state, detail) = match reported.get(of, &name) {
                None => (Standing::Missing, None),
                Some(State { error: Some(error), .. }) => (Standing::Stale, Some(error.clone())),
                // Of a secret both sides tell the name.
                Some(_) if of == "secrets" => (Standing::Same, None),
                Some(State { content, .. }) => match difference(of, resource, content) {
                    None => (Standing::Same, None),
                    Some(place) => (Standing::Stale, Some(format!("differs at {place}"))),
                },
            };
            Resource { of, name, state, detail }
        })
        .collect();
    let known: Vec<String> = resources.iter().map(|resource| resource.name.clone()).collect();
    let extra = reported.names(of).filter(|name| !known.contains(name));
    let extra = extra.map(|name| Resource { of, name, state: Standing::Extra, detail: None });
    resources.extend(extra.collect::<Vec<_>>());
    resources
}

fn compare(served: &Served, dump: &Value) -> Answer {
    let reported = Reported::read(dump);
    let types: [(&'static str, &[Value]); 6] = [
        ("listeners", &served.listeners),
        ("routes", &served.routes),
        ("extensionConfigs", &served.extension_configs),
        ("clusters", &served.clusters),
        ("endpoints", &served.endpoints),
        ("secrets", &served.secrets),
    ];
    let resources: Vec<Resource> =
        types.into_iter().flat_map(|(of, served)| of_type(of, served, &reported)).collect();
    let same = resources.iter().all(|resource| resource.state == Standing::Same);
    Answer { role: served.role.clone(), same, resources }
}

pub(super) async fn run(args: &DiffArgs, output: &mut Output) -> anyhow::Result<()> {
    let admin = args.admin.open().await?;
    let served = Served::ask(&args.admin.proxy).await?;
    let dump: Value = serde_json::from_str(&admin.get("/config_dump?include_eds").await?)
        .map_err(|_| anyhow::anyhow!("what {} dumps is no JSON", admin.url()))?;
    let mut answer = compare(&served, &dump);
    let all = answer.resources.len();
    let differing = answer.resources.iter().filter(|resource| resource.state != Standing::Same).count();
    if !args.all {
        answer.resources.retain(|resource| resource.state != Standing::Same);
    }
    if args.output != Format::Table || !answer.resources.is_empty() {
        output.show(args.output, &answer, || table(&answer).to_string())?;
    }
    if differing > 0 {
        return Err(Ended::with(2, Differs { differing, all }));
    }
    output.note(format_args!("the proxy has all {all} resources as they are served"));
    Ok(())
}

fn table(answer: &Answer) -> Table {
    let mut table = Table::new(&["TYPE", "NAME", "STATE", "DETAIL"]);
    for Resource { of, name, state, detail } in &answer.resources {
        let state = format!("{state:?}").to_uppercase();
        table.row([(*of).to_owned(), name.clone(), state, detail.clone().unwrap_or_else(|| "-".to_owned())]);
    }
    table
}

#[cfg(test)]
mod tests;
