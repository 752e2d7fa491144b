//! `keyward proxy served-config`.

use clap::Args;
use serde_json::Value;

use super::admin::NameArgs;
use super::served::Served;
use crate::output::{Document, Output, yaml};

pub(super) const EXAMPLES: &str = "\
Examples:
  keyward proxy served-config
  keyward proxy served-config --name gateway-proxy -o json \\
    | jq '.clusters[].name'

What the control server serves to the proxies of this name. `keyward proxy
diff` compares it with what a proxy reports.";

/// What is shown.
#[derive(Debug, Clone, Args)]
pub struct ServedConfigArgs {
    /// How it looks; yaml is in sections.
    #[arg(long, short, default_value = "yaml", value_name = "FORMAT")]
    output: Document,

    #[command(flatten)]
    name: NameArgs,
}

fn sections(served: &Served) -> anyhow::Result<String> {
    let mut text = format!("\n#role: {}", served.role);
    let sections: [(&str, &[Value]); 6] = [
        ("clusters", &served.clusters),
        ("eds", &served.endpoints),
        ("listeners", &served.listeners),
        ("rds", &served.routes),
        ("ecds", &served.extension_configs),
        ("secrets", &served.secrets),
    ];
    for (name, resources) in sections {
        text.push_str(&format!("\n\n#{name}"));
        for resource in resources {
            text.push_str(&format!("\n---\n{}", yaml(resource)?));
        }
    }
    Ok(text.trim_start().to_owned())
}

pub(super) async fn run(args: &ServedConfigArgs, output: &mut Output) -> anyhow::Result<()> {
    let served = Served::ask(&args.name).await?;
    match args.output {
        Document::Yaml => output.data(sections(&served)?),
        Document::Json => output.document(Document::Json, &served),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn each_section_is_there_also_when_it_is_empty() {
        let served: Served = serde_json::from_value(json!({
            "role": "a~b", "version": "1", "listeners": [{ "name": "l" }], "routes": [{ "name": "r" }, { "name": "s" }],
            "clusters": [{ "name": "c", "connectTimeout": "1s" }], "endpoints": [], "extensionConfigs": [],
            "secrets": ["web"],
        }))
        .unwrap();
        let expected = "\
#role: a~b

#clusters
---
name: c
connectTimeout: 1s

#eds

#listeners
---
name: l

#rds
---
name: r
---
name: s

#ecds

#secrets
---
web";
        let shown = sections(&served).unwrap();
        // In which order serde_json keeps fields is not what this is about.
        let sorted = |text: &str| {
            let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
            lines.sort();
            lines
        };
        assert_eq!(sorted(&shown), sorted(expected), "{shown}");
        assert!(shown.starts_with("#role: a~b\n\n#clusters\n---\n") && shown.ends_with("#secrets\n---\nweb"));
    }
}
