//! Random batches against an index that is worked out anew, the slow way, after each.

use proptest::collection::vec;
use proptest::prelude::*;

use super::*;
use crate::fixtures::{Facts, Objects, batch};

/// What the logs of all tables take, each counted once.
fn log_bytes(view: &KeyView) -> u64 {
    let tables: BTreeMap<*const Table, u64> =
        view.tables().map(|(_, table)| (std::ptr::from_ref(table), table.log_bytes())).collect();
    tables.values().sum()
}

/// How many different ones there are: who shares two keys with somebody is told once.
fn distinct<'a>(holders: impl Iterator<Item = &'a Vec<ObjectRef>>) -> usize {
    holders.collect::<BTreeSet<_>>().len()
}

/// What the reports must say, found out without the index.
fn check_reports(index: &KeyIndex, objects: &Objects) {
    let mut known = 0;
    for (id, config) in objects.configs() {
        if !objects.watches(id) {
            assert_eq!(index.report(&ObjectKey::new(AUTH_CONFIG, &id.namespace, &id.name)), None);
            continue;
        }
        known += 1;
        let report = report(index, AUTH_CONFIG, &id.to_string());
        if config.steps[0].api_key_auth.selects_nothing() {
            assert_eq!(report.state, State::Rejected);
            continue;
        }
        let facts = objects.facts(config);
        let count = |part: &str| report.reasons.iter().filter(|reason| reason.contains(part)).count();
        assert_eq!(count("no Secret is selected"), usize::from(facts.selected == 0));
        assert_eq!(count("apiKeySecretRefs names Secret"), facts.missing.len());
        for missing in &facts.missing {
            assert_eq!(count(&format!("names Secret {missing},")), 1);
        }
        assert_eq!(count("the key of Secret"), facts.unreadable.len());
        for unreadable in &facts.unreadable {
            assert_eq!(count(&format!("the key of Secret {unreadable} is not valid: data.")), 1);
        }
        assert_eq!(count("hold the same key"), distinct(facts.shared.values()));
        for holders in facts.shared.values() {
            let names: Vec<String> = holders.iter().map(ToString::to_string).collect();
            let sentence = format!("the Secrets {} hold the same key: {} is", names.join(", "), names[0]);
            assert_eq!(count(&sentence), 1);
            for name in names {
                let said = super::report(index, SECRET, &name).reasons;
                let sentence = format!("selected by AuthConfig {id}: {sentence}");
                assert_eq!(said.iter().filter(|reason| reason.starts_with(&sentence)).count(), 1);
            }
        }
        let warned = !report.reasons.is_empty();
        assert_eq!(report.state, if warned { State::Warning } else { State::Accepted });
    }
    for secret in objects.secrets() {
        known += 1;
        let said = report(index, SECRET, &secret.meta.object_ref().to_string()).reasons;
        if !objects.watches(&secret.meta.object_ref()) {
            assert_eq!(said.len(), 1);
            assert!(said[0].contains("its namespace is not watched"), "{said:?}");
            continue;
        }
        let watched = objects.configs().filter(|(id, _)| objects.watches(id));
        let facts = watched.map(|(_, config)| objects.facts(config));
        let of_it = |facts: Facts| {
            distinct(facts.shared.values().filter(|holders| holders.contains(&secret.meta.object_ref())))
        };
        let shared: usize = facts.map(of_it).sum();
        assert_eq!(said.len(), shared + usize::from(secret.key.is_err()));
    }
    assert_eq!(index.reports().iter().count(), known);
}

/// What a server that starts with these objects makes of them is what this index has come to.
fn check_afresh(index: &KeyIndex, objects: &Objects) {
    let mut fresh = KeyIndex::new();
    fresh.apply(1, objects.all());
    assert_eq!(fresh.reports(), index.reports());
}

/// Little enough that most runs forget something, by the one limit or the other.
const LOG: LogLimits = LogLimits { changes: 8, bytes: 1_000 };

proptest! {
    #![proptest_config(ProptestConfig { cases: 512, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn whatever_comes_in_one_batch_the_index_is_what_the_objects_make_it(batches in vec(batch(), 1..12)) {
        let mut index = KeyIndex::with_log_limits(LOG);
        let mut objects = Objects::default();
        for (revision, batch) in (1..).zip(batches) {
            let before = index.view(Wanted::new());
            let contents_before: BTreeMap<String, Entries> =
                before.tables().map(|(name, table)| (name.to_owned(), entries(table))).collect();
            let deleted = |name: &str| {
                let (auth_config, list) = name.split_once('@').unwrap_or((name, ""));
                batch.iter().any(|change| match change {
                    Change::DeleteAuthConfig(id) => id.to_string() == auth_config,
                    // It may have gone and come back.
                    Change::Allow(_) => !list.is_empty(),
                    // Another selection is another step, and brings its lists along.
                    _ => false,
                })
            };
            let recreated: BTreeSet<String> =
                contents_before.keys().filter(|name| deleted(name)).cloned().collect();

            let batch_puts: BTreeSet<String> = batch
                .iter()
                .filter_map(|change| match change {
                    Change::PutAuthConfig(config) => Some(config.meta.object_ref().to_string()),
                    _ => None,
                })
                .collect();
            batch.iter().cloned().for_each(|change| objects.apply(change));
            index.apply(revision, batch);

            let after = index.view(Wanted::new());
            let contents: BTreeMap<String, Entries> =
                after.tables().map(|(name, table)| (name.to_owned(), entries(table))).collect();
            prop_assert_eq!(&contents, &objects.tables());
            prop_assert!(log_bytes(&after) <= LOG.bytes);
            for (name, table) in after.tables() {
                // Who selects the same as others has their table, as they have it.
                let of_others = || {
                    let auth_config = name.split_once('@').map_or(name, |(auth_config, _)| auth_config);
                    batch_puts.contains(auth_config) || before.table(name).is_none()
                };
                let same = contents_before.get(name) == contents.get(name) && !recreated.contains(name);
                let was = before.table(name).map(Table::version);
                if same {
                    prop_assert!(was == Some(table.version()) || of_others());
                } else if !recreated.contains(name) || was.is_none() {
                    prop_assert!(table.version().revision == revision || of_others());
                }
            }
            for (name, table) in before.tables() {
                prop_assert_eq!(&entries(table), &contents_before[name]);
            }
            check_reports(&index, &objects);
            check_afresh(&index, &objects);
        }
    }
}
