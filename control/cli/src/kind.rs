//! Kinds, as people type them: `vs`, `virtualservices`, `VirtualService`, `virtualservices.gateway.keyward.io`.

use keyward_resource::{KINDS, Kind};

#[cfg(test)]
mod tests;

/// Short names of the original's command line, which are none of the API.
const SHORT: &[(&str, &str)] = &[("u", "Upstream"), ("p", "Proxy"), ("s", "Secret")];

/// The kind that is meant.
pub(crate) fn named(word: &str) -> Result<&'static Kind, String> {
    let lower = word.to_ascii_lowercase();
    let (name, group) = lower.split_once('.').unwrap_or((&lower, ""));
    let found = KINDS.iter().copied().find(|kind| {
        let short = kind.short_names.iter().chain(kind.alias_short_names);
        let ours = SHORT.iter().filter(|(_, of)| *of == kind.name).map(|(short, _)| short);
        let mut names = [kind.plural, kind.singular].into_iter().chain(short.chain(ours).copied());
        let is_served_there = || kind.group_versions().any(|served| served.group == group);
        names.any(|known| known == name) && (group.is_empty() || is_served_there())
    });
    found.ok_or_else(|| format!("there is no such kind; there are {}", known()))
}

/// All kinds, with the shortest name that each has.
pub(crate) fn known() -> String {
    let one = |kind: &&Kind| match kind.short_names.first() {
        Some(short) => format!("{} ({short})", kind.singular),
        None => kind.singular.to_owned(),
    };
    KINDS.iter().map(one).collect::<Vec<_>>().join(", ")
}

/// Several objects of a kind, in words: `virtual services`.
pub(crate) fn several(kind: &Kind) -> String {
    let mut words = String::new();
    for char in kind.name.chars() {
        if char.is_ascii_uppercase() && !words.is_empty() {
            words.push(' ');
        }
        words.push(char.to_ascii_lowercase());
    }
    // The plural of the one word is that of the last of several.
    match kind.plural.strip_prefix(kind.singular) {
        Some(ending) => words + ending,
        None if kind.plural.ends_with("ies") => words.trim_end_matches('y').to_owned() + "ies",
        None => kind.plural.to_owned(),
    }
}
