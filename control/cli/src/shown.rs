//! An object that was made or changed, as it is shown.

use jiff::Timestamp;
use keyward_resource::Kind;
use serde_json::Value;

use crate::get::Format;
use crate::output::{Output, yaml};
use crate::print::{Form, View, documents, table};

/// Shows what a server made of an object: as a table, unless something else is asked for.
pub(crate) fn made(
    kind: &Kind,
    object: Value,
    format: Option<Format>,
    now: Timestamp,
    output: &mut Output,
) -> anyhow::Result<()> {
    let view = |wide| View { wide, namespaces: false, now };
    output.data(match format.unwrap_or(Format::Table) {
        Format::Table => table(kind, &[object], view(false)),
        Format::Wide => table(kind, &[object], view(true)),
        Format::Json => documents(kind, vec![object], Form::Json)?,
        Format::Yaml => documents(kind, vec![object], Form::Yaml)?,
        Format::KubeYaml => documents(kind, vec![object], Form::KubeYaml)?,
    })
}

/// Shows an object that was not made (dry run): as it can be applied, unless something else is asked for.
pub(crate) fn wanted(
    kind: &Kind,
    object: Value,
    format: Option<Format>,
    now: Timestamp,
    output: &mut Output,
) -> anyhow::Result<()> {
    let mut object = object;
    if let Some(fields) = object.as_object_mut() {
        // It would be that of the version before.
        fields.remove("status");
    }
    match format.unwrap_or(Format::KubeYaml) {
        // What a Secret is to hold is known to whoever makes it, and is to be applied.
        Format::Yaml | Format::KubeYaml if kind.is_confidential() => output.data(yaml(&object)?),
        Format::Json if kind.is_confidential() => output.data(serde_json::to_string_pretty(&object)?),
        format => made(kind, object, Some(format), now, output),
    }
}
