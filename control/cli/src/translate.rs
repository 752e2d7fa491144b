//! `keyward translate -f PATH`: what a server would tell proxies that had these files and nothing else.
//!
//! ```text
//! files ─read▶ objects ─decode▶ Input ─translate▶ Proxy ─▶ objects of kind Proxy
//!                                        │          └─xds▶ resources of Envoy, as JSON
//!                                        └─▶ reports, on standard error
//! ```

pub(crate) mod settings;

use anyhow::bail;
use clap::{Args, ValueEnum};
use keyward_admin::xds::whole as shown;
use keyward_folder::Document;
use keyward_resource::{Report, Reports, State, admit, decode, summary};
use keyward_translate::proxy::{Proxy, object::object};
use keyward_translate::{Encoded, FilterCode, Input, LastGood, Settings, translate, xds};
use serde::Serialize;
use serde_json::Value;

use crate::Program;
use crate::client::{Environment, usual_namespace};
use crate::files::FilesArgs;
use crate::output::{Document as Form, Output, yaml};

#[cfg(test)]
mod tests;

pub(super) const EXAMPLES: &str = "\
Examples:
  # Which listeners, virtual hosts and routes come of a folder of resources:
  keyward translate -f resources/

  # What Envoy would be told:
  keyward translate -f resources/ --to xds -o json

Problems stand on standard error. Keys are no part of what is translated;
private keys are not shown.

Exit codes: 0 translated, 1 translated and something is wrong with it, or not
translated, 2 wrong usage.";

/// What is translated, and into what.
#[derive(Debug, Clone, Args)]
pub struct TranslateArgs {
    #[command(flatten)]
    files: FilesArgs,

    /// The namespace of objects that name none, as for apply [default: that of the context, else keyward-system].
    #[arg(long, short, value_name = "NAMESPACE")]
    namespace: Option<String>,

    /// Into what.
    #[arg(long, value_name = "FORM", default_value = "proxy")]
    to: To,

    /// How it looks: yaml has a document for each proxy, json a list of them.
    #[arg(long, short, default_value = "yaml", value_name = "FORMAT")]
    output: Form,

    /// The namespace of the installation.
    #[arg(long, env = "KEYWARD_SYSTEM_NAMESPACE", default_value = "keyward-system", value_name = "NAME")]
    system_namespace: String,
}

/// Into what.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum To {
    /// Objects of kind Proxy: listeners, virtual hosts, routes.
    Proxy,
    /// The resources of Envoy.
    Xds,
}

/// What is wrong, or worth a word.
#[derive(Debug, Default)]
struct Findings {
    said: Vec<String>,
    /// How many of them are more than a word.
    problems: usize,
}

/// What one role is told, under the names that a server's answer has.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct Told {
    role: String,
    listeners: Vec<Value>,
    routes: Vec<Value>,
    clusters: Vec<Value>,
    endpoints: Vec<Value>,
    extension_configs: Vec<Value>,
    /// Their names.
    secrets: Vec<String>,
}

pub(super) fn run(args: &TranslateArgs, program: &Program<'_>, output: &mut Output) -> anyhow::Result<()> {
    let namespace = args.namespace.clone().unwrap_or_else(|| usual_namespace(&Environment::of_process()));
    let (report, documents) = args.files.look(&namespace)?;
    let mut findings = Findings::default();
    for problem in &report.problems {
        findings.problem(problem.to_string());
    }
    let input = input(documents, &mut findings);
    let translated = translate(&input, &settings::usual(&args.system_namespace), &LastGood::default());
    findings.take(&translated.reports);
    let (proxies, settings) = (&translated.proxies, &translated.settings);
    match args.to {
        To::Proxy => {
            let all: Vec<Value> = proxies.iter().filter_map(|(role, proxy)| object(role, proxy)).collect();
            show(args.output, &all, output)?;
        }
        To::Xds => {
            let code = FilterCode { wasm: program.module.to_vec().into(), vm_id: "keyward".to_owned() };
            let told: Vec<Told> =
                proxies.iter().map(|(role, proxy)| Told::of(role, proxy, &code, settings)).collect();
            show(args.output, &told, output)?;
        }
    }
    findings.said.iter().for_each(|said| output.note(said));
    match findings.problems {
        0 => Ok(()),
        1 => bail!("there is 1 problem"),
        many => bail!("there are {many} problems"),
    }
}

/// What is translated of these objects.
fn input(documents: Vec<Document>, findings: &mut Findings) -> Input {
    let mut input = Input::default();
    for Document { kind, namespace, name, object, .. } in documents {
        let stored = admit(kind, &namespace, Some(&name), object);
        match stored.and_then(|stored| decode(kind, &stored)) {
            Ok(resource) => input.put(resource),
            Err(errors) => {
                findings.problem(format!("{} {namespace}/{name}: {}", kind.name, summary(&errors)));
            }
        }
    }
    input
}

fn show<T: Serialize>(form: Form, all: &[T], output: &mut Output) -> anyhow::Result<()> {
    match form {
        Form::Json => output.document(Form::Json, &all),
        Form::Yaml => {
            let documents: anyhow::Result<Vec<String>> = all.iter().map(yaml).collect();
            output.data(documents?.join("\n---\n"))
        }
    }
}

// === impl Findings ===

impl Findings {
    fn problem(&mut self, what: String) {
        self.said.push(what);
        self.problems += 1;
    }

    /// What translation says of each object.
    fn take(&mut self, reports: &Reports) {
        for (object, Report { state, reasons }) in reports.iter() {
            if reasons.is_empty() {
                continue;
            }
            let said = format!("{object}: {}: {}", state.as_str(), reasons.join("; "));
            match state {
                State::Rejected => self.problem(said),
                _ => self.said.push(said),
            }
        }
    }
}

// === impl Told ===

impl Told {
    fn of(role: &str, proxy: &Proxy, code: &FilterCode, settings: &Settings) -> Self {
        let told = xds(proxy, code, settings);
        let all = |list: &[Encoded]| list.iter().map(|one| shown(one.type_url, &one.bytes)).collect();
        Self {
            role: role.to_owned(),
            listeners: all(&told.listeners),
            routes: all(&told.routes),
            clusters: all(&told.clusters),
            endpoints: all(&told.endpoints),
            extension_configs: all(&told.extensions),
            secrets: told.secrets.iter().map(|secret| secret.name.clone()).collect(),
        }
    }
}
