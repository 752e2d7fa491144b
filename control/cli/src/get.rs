//! `keyward get`.

mod format;

use anyhow::{anyhow, bail};
use clap::Args;
use jiff::Timestamp;
use keyward_resource::Kind;
use serde_json::Value;

pub(crate) use self::format::Format;
use crate::ended::Ended;
use crate::kind::{named, several};
use crate::output::{Output, yaml};
use crate::print::{Form, View, documents, routes, routes_of, table};
use crate::remote::{Remote, RemoteArgs};

pub(super) const EXAMPLES: &str = "\
Examples:
  # All virtual services of the namespace, as a table:
  keyward get virtualservices

  # One upstream as it can be applied again:
  keyward get us petstore -o kube-yaml > petstore.yaml

  # Whatever there is of a kind, in all namespaces, with ages and reasons:
  keyward get authconfigs -A -o wide

  # By labels:
  keyward get secrets -l team=infra,tier!=gold

  # The routes of a virtual service, one a row:
  keyward get vs route default

Kinds: virtualservice (vs), routetable (rt), upstream (us, u), upstreamgroup
(ug), authconfig (ac), ratelimitconfig (rlc), gateway (gw), virtualhostoption
(vho), routeoption (rto), proxy (p), settings, secret, namespace (ns); plurals
are known too.

Formats: kube-yaml and json are whole objects, as they can be applied; json is
always a list. yaml has the fields of the spec beside the metadata, as glooctl
shows them. What a Secret holds is never shown: whoever has the right to see it
gets it with `kubectl get secret NAME -o yaml`, or in an editor with `keyward
edit`.";

/// What people type for the routes of an object.
const ROUTES: &[&str] = &["route", "routes", "r"];

/// Which objects.
#[derive(Debug, Clone, Args)]
pub struct GetArgs {
    /// The kind, such as virtualservice or vs.
    #[arg(value_name = "KIND", value_parser = named)]
    kind: &'static Kind,

    /// Only these objects [default: all]. `get vs route NAME` shows the routes of one.
    #[arg(value_name = "NAME", conflicts_with = "selector")]
    names: Vec<String>,

    /// The same, as a flag.
    #[arg(long = "name", value_name = "NAME", hide = true, conflicts_with = "selector")]
    name: Option<String>,

    /// In all namespaces.
    #[arg(long, short = 'A', conflicts_with = "namespace")]
    all_namespaces: bool,

    /// Only objects with these labels, such as team=infra,tier!=gold.
    #[arg(long, short = 'l', value_name = "LABELS")]
    selector: Option<String>,

    /// How they look.
    #[arg(long, short, default_value = "table", value_name = "FORMAT")]
    output: Format,

    #[command(flatten)]
    remote: RemoteArgs,
}

pub(super) async fn run(args: &GetArgs, now: Timestamp, output: &mut Output) -> anyhow::Result<()> {
    let remote = args.remote.connect()?;
    if args.is_about_routes() {
        return args.show_routes(&remote, output).await;
    }
    let (objects, lacking) = args.objects(&remote).await?;
    if objects.is_empty() && lacking.is_empty() && args.output.is_table() {
        output.note(args.nothing(&remote));
        return Ok(());
    }
    if !objects.is_empty() || lacking.is_empty() {
        let view = |wide| View { wide, namespaces: args.all_namespaces, now };
        let shown = match args.output {
            Format::Table => table(args.kind, &objects, view(false)),
            Format::Wide => table(args.kind, &objects, view(true)),
            Format::Json => documents(args.kind, objects, Form::Json)?,
            Format::Yaml => documents(args.kind, objects, Form::Yaml)?,
            Format::KubeYaml => documents(args.kind, objects, Form::KubeYaml)?,
        };
        output.data(shown)?;
    }
    match lacking.len() {
        0 => Ok(()),
        _ => bail!(lacking.join("\nerror: ")),
    }
}

// === impl GetArgs ===

impl GetArgs {
    /// The objects that are asked for, and what there is to say of those that are not there.
    async fn objects(&self, remote: &Remote) -> anyhow::Result<(Vec<Value>, Vec<String>)> {
        let names: Vec<_> = self.names.iter().chain(&self.name).collect();
        if names.is_empty() {
            let namespace = (!self.all_namespaces).then_some(remote.namespace.as_str());
            let all = remote.list(self.kind, namespace, self.selector.as_deref()).await?;
            return Ok((all, Vec::new()));
        }
        if self.all_namespaces {
            let why = "an object has a name in one namespace\nhint: name it with -n, or leave out the name";
            return Err(Ended::usage(anyhow!(why)));
        }
        let (mut objects, mut lacking) = (Vec::new(), Vec::new());
        for name in names {
            let place = remote.place_of(self.kind, name);
            match remote.find(&place).await? {
                Some(object) => objects.push(object),
                None => lacking.push(crate::remote::lacking(&place).to_string()),
            }
        }
        Ok((objects, lacking))
    }

    fn nothing(&self, remote: &Remote) -> String {
        let what = several(self.kind);
        let such = if self.selector.is_some() { " with these labels" } else { "" };
        if self.all_namespaces || !self.kind.is_namespaced() {
            return format!("there are no {what}{such}");
        }
        format!("there are no {what}{such} in the namespace {}\nhint: -A looks everywhere", remote.namespace)
    }

    fn is_about_routes(&self) -> bool {
        let asked = self.names.first().is_some_and(|name| ROUTES.contains(&name.as_str()));
        asked && matches!(self.kind.name, "VirtualService" | "RouteTable")
    }

    /// The routes of one object.
    async fn show_routes(&self, remote: &Remote, output: &mut Output) -> anyhow::Result<()> {
        let mut names = self.names.iter().skip(1).chain(&self.name);
        let (Some(name), None) = (names.next(), names.next()) else {
            let kind = self.kind.singular;
            let why = anyhow!("name must be specified: whose routes?\nhint: keyward get {kind} route NAME");
            return Err(Ended::usage(why));
        };
        let object = remote.object(&remote.place_of(self.kind, name)).await?;
        let all: Vec<&Value> = routes_of(&object).collect();
        output.data(match self.output {
            Format::Table => routes(&object, false),
            Format::Wide => routes(&object, true),
            Format::Json => serde_json::to_string_pretty(&all)?,
            Format::Yaml | Format::KubeYaml => yaml(&all)?,
        })
    }
}
