//! Source files are small. Those that are not yet may only become smaller.

use crate::{files, named, read};

/// Longer ones are split.
const MOST: usize = 400;
/// How long those are that were longer when this was written: a number here is made smaller and never larger,
/// and nothing is added.
const LONGER: &[(&str, usize)] = &[
    ("control/explain/src/explain.rs", 418),
    ("control/keys/src/index.rs", 412),
    ("control/keys/src/session/tests.rs", 467),
    ("control/keys/src/session/tests/model.rs", 471),
    ("control/keys/src/workers/tests.rs", 506),
    ("control/resource/src/kinds/options.rs", 447),
    ("control/server/src/access/tests.rs", 519),
    ("control/server/src/control/tests.rs", 444),
    ("control/server/src/serve.rs", 428),
    ("control/translate/tests/translate/properties.rs", 414),
    ("filter-core/src/request/tests.rs", 509),
    ("filter-core/src/table.rs", 458),
    ("filter-core/src/wire.rs", 450),
    ("filter-core/src/worker.rs", 432),
    ("filter-core/src/worker/tests.rs", 452),
    ("integration/tests/envoy/observability.rs", 453),
    ("xds/src/sotw/tests.rs", 412),
    ("xds/src/tests/delta_model.rs", 450),
    ("xds/src/tests/sotw_model.rs", 503),
];

#[test]
fn no_source_file_is_long() {
    let mut wrong = Vec::new();
    let mut left: Vec<&str> = LONGER.iter().map(|(path, _)| *path).collect();
    for path in files("rs") {
        let (name, lines) = (named(&path), read(&path).lines().count());
        let exception = LONGER.iter().find(|(path, _)| *path == name);
        left.retain(|path| *path != name);
        match exception {
            None if lines > MOST => wrong.push(format!("{name} has {lines} lines: split it")),
            Some((_, most)) if lines > *most => {
                wrong.push(format!("{name} has {lines} lines, more than the {most} that it had: split it"));
            }
            Some(_) if lines <= MOST => wrong.push(format!("{name} is short now: take it off the list")),
            _ => {}
        }
    }
    wrong.extend(left.into_iter().map(|path| format!("{path} is gone: take it off the list")));
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(LONGER.is_sorted(), "the list is in order");
}
