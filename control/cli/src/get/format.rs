//! How objects are shown.

use clap::ValueEnum;

/// How objects are shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Format {
    /// A table, for people.
    Table,
    /// The same with more columns, and nothing broken into several lines.
    Wide,
    /// The spec beside the metadata.
    Yaml,
    /// A list of objects.
    Json,
    /// Objects as they are applied.
    KubeYaml,
}

// === impl Format ===

impl Format {
    /// Whether it is for people.
    pub(crate) fn is_table(self) -> bool {
        matches!(self, Self::Table | Self::Wide)
    }
}
