use keyward_filter_core::life::Life;
use keyward_filter_core::record;
use keyward_filter_core::wire::Version;
use keyward_resource::kinds::auth_config::{ApiKeyAuth, AuthStep, MetadataEntry};
use keyward_resource::kinds::secret::{KeyLife, KeyProblem};
use keyward_resource::{ObjectKey, Report, State};

use super::report::{AUTH_CONFIG, SECRET};
use super::*;
use crate::Table;
use crate::fixtures::{
    Entries, broken, config, delete, delete_config, digest, entries, id, put, put_config, rotated, secret,
    watch,
};

mod lists;
mod model;
mod records;
mod reports;
mod tenure;

/// An index after some batches, of revision 1, 2 and so on.
fn index<const N: usize>(batches: [Vec<Change>; N]) -> KeyIndex {
    let mut index = KeyIndex::new();
    for (revision, batch) in (1..).zip(batches) {
        index.apply(revision, batch);
    }
    index
}

/// The keys of a table and whose they are.
fn table(index: &KeyIndex, name: &str) -> Option<Vec<(u8, String)>> {
    let view = index.view(Wanted::new());
    let entries: Entries = entries(view.table(name)?);
    Some(entries.into_iter().map(|(digest, identity)| (digest[0], identity)).collect())
}

fn keys(of: &[(u8, &str)]) -> Option<Vec<(u8, String)>> {
    Some(of.iter().map(|(key, identity)| (*key, String::from(*identity))).collect())
}

fn version(index: &KeyIndex, name: &str) -> keyward_filter_core::wire::Version {
    index.view(Wanted::new()).table(name).expect("the table exists").version()
}

/// The report on an object, which must be the same alone and among all.
fn report(index: &KeyIndex, kind: &'static str, name: &str) -> Report {
    let id = id(name);
    let object = ObjectKey::new(kind, &id.namespace, &id.name);
    let report = index.report(&object).expect("the object is known");
    assert_eq!(index.reports().get(&object), Some(&report));
    report
}

fn warnings(index: &KeyIndex, kind: &'static str, name: &str) -> Vec<String> {
    let report = report(index, kind, name);
    let state = if report.reasons.is_empty() { State::Accepted } else { State::Warning };
    assert_eq!(report.state, state);
    report.reasons
}

fn with_header(name: &str, labels: &str) -> AuthConfig {
    let mut config = config(name, labels, &[]);
    config.steps[0].api_key_auth.header_name = "x-key".to_owned();
    config.steps[0].api_key_auth.forward_key = true;
    config
}

#[test]
fn a_selector_selects_all_secrets_with_its_labels_in_every_namespace() {
    let index = index([vec![
        put("a/ann", "team=x", 1),
        put("b/bob", "team=x,tier=gold", 2),
        put("a/cat", "team=y", 3),
        put("a/dan", "tier=gold", 4),
        put("a/eve", "", 5),
        put_config("a/one", "team=x", &[]),
        put_config("a/two", "team=x,tier=gold", &[]),
    ]]);
    assert_eq!(table(&index, "a/one"), keys(&[(1, "ann"), (2, "bob")]));
    assert_eq!(table(&index, "a/two"), keys(&[(2, "bob")]));
    for name in ["a/one", "a/two"] {
        assert_eq!(warnings(&index, AUTH_CONFIG, name), [""; 0]);
    }
}

#[test]
fn selector_and_names_together_select_what_either_does() {
    let index = index([vec![
        put("a/ann", "team=x", 1),
        put("a/bob", "", 2),
        put("b/bob", "", 3),
        put_config("a/one", "team=x", &["a/ann", "a/bob"]),
        put_config("a/two", "", &["b/bob"]),
    ]]);
    assert_eq!(table(&index, "a/one"), keys(&[(1, "ann"), (2, "bob")]));
    assert_eq!(table(&index, "a/two"), keys(&[(3, "bob")]));
}

#[test]
fn a_change_of_labels_moves_a_key() {
    let mut index = index([vec![
        put("a/ann", "team=x", 1),
        put_config("a/one", "team=x", &[]),
        put_config("a/two", "team=y", &[]),
    ]]);
    index.apply(2, [put("a/ann", "team=y", 1)]);
    assert_eq!(table(&index, "a/one"), keys(&[]));
    assert_eq!(table(&index, "a/two"), keys(&[(1, "ann")]));
    index.apply(3, [put("a/ann", "", 1)]);
    assert_eq!(table(&index, "a/two"), keys(&[]));
}

#[test]
fn a_new_key_takes_the_place_of_the_old_one() {
    let mut index = index([vec![put("a/ann", "team=x", 1), put_config("a/one", "team=x", &[])]]);
    index.apply(2, [put("a/ann", "team=x", 2)]);
    assert_eq!(table(&index, "a/one"), keys(&[(2, "ann")]));
    index.apply(3, [delete("a/ann")]);
    assert_eq!(table(&index, "a/one"), keys(&[]));
}

#[test]
fn while_a_key_is_rotated_both_are_the_same_identity_and_the_old_one_ends_by_itself() {
    let mut index = index([vec![put("a/ann", "team=x", 1), put_config("a/one", "team=x", &[])]]);
    let record = |index: &KeyIndex, key| {
        let view = index.view(Wanted::new());
        view.table("a/one").expect("a table").get(&digest(key)).map(<[u8]>::to_vec)
    };
    let ends = |at| Some(record::pack(Life { expires_at: Some(at), ..Life::default() }, "ann", []));
    index.apply(2, [Change::PutSecret(rotated("a/ann", "team=x", 2, 1, 7_000))]);
    assert_eq!(record(&index, 2).as_deref(), Some(&b"ann"[..]));
    assert_eq!(record(&index, 1), ends(7_000));
    assert!(warnings(&index, AUTH_CONFIG, "a/one").is_empty());

    // A second one: the oldest key is gone at once.
    index.apply(3, [Change::PutSecret(rotated("a/ann", "team=x", 3, 2, 9_000))]);
    assert_eq!((record(&index, 1), record(&index, 2)), (None, ends(9_000)));

    // What is said of the present key is not said of the one before, but that it is refused for now.
    let life = KeyLife { not_before: Some(5), expires_at: Some(8_000), disabled: true };
    let disabled = ApiKeySecret { life, ..rotated("a/ann", "team=x", 3, 2, 9_000) };
    index.apply(4, [Change::PutSecret(disabled)]);
    let previous = Life { expires_at: Some(9_000), disabled: true, ..Life::default() };
    assert_eq!(record(&index, 2), Some(record::pack(previous, "ann", [])));

    index.apply(5, [put("a/ann", "team=x", 3)]);
    assert_eq!(table(&index, "a/one"), keys(&[(3, "ann")]));
    index.apply(6, [Change::PutSecret(rotated("a/ann", "team=x", 4, 3, 9_000)), delete("a/ann")]);
    assert_eq!(table(&index, "a/one"), keys(&[]));
}

#[test]
fn whose_a_key_is_is_known_by_its_digest() {
    let limited = KeyLife { not_before: None, expires_at: Some(7), disabled: true };
    let index = index([vec![
        Change::PutSecret(ApiKeySecret { life: limited, ..rotated("a/ann", "team=x", 2, 1, 9) }),
        put("b/bob", "team=x,tier=gold", 1),
        put_config("a/one", "team=x", &[]),
        put_config("a/two", "tier=gold", &[]),
    ]]);
    let life = |expires_at| Life { expires_at: Some(expires_at), disabled: true, ..Life::default() };
    let holder = |name, is_previous, life, accepted_by: &[&str]| Holder {
        id: id(name),
        is_previous,
        life,
        accepted_by: accepted_by.iter().map(|name| id(name)).collect(),
    };
    assert_eq!(index.holders(&[2; 32]), [holder("a/ann", false, life(7), &["a/one"])]);
    let both =
        [holder("a/ann", true, life(9), &["a/one"]), holder("b/bob", false, Life::default(), &["a/two"])];
    assert_eq!(index.holders(&[1; 32]), both);
    assert_eq!(index.holders(&[3; 32]), []);
}

#[test]
fn an_auth_config_with_another_selection_has_another_table() {
    let mut index = index([vec![
        put("a/ann", "team=x", 1),
        put("a/bob", "team=y", 2),
        put_config("a/one", "team=x", &[]),
    ]]);
    index.apply(2, [put_config("a/one", "team=y", &[])]);
    assert_eq!(table(&index, "a/one"), keys(&[(2, "bob")]));
    index.apply(3, [delete_config("a/one")]);
    assert_eq!(table(&index, "a/one"), None);
    let object = ObjectKey::new(AUTH_CONFIG, "a", "one");
    assert_eq!(index.report(&object), None);
}

#[test]
fn keys_of_namespaces_that_are_not_watched_are_kept_and_do_not_count() {
    let mut index = index([vec![
        put("a/ann", "team=x", 1),
        put("b/bob", "team=x", 2),
        put_config("a/one", "team=x", &["b/bob"]),
        put_config("b/two", "team=x", &[]),
    ]]);
    index.apply(2, [watch(&["a"])]);
    assert_eq!(table(&index, "a/one"), keys(&[(1, "ann")]));
    assert_eq!(
        warnings(&index, SECRET, "b/bob"),
        ["its namespace is not watched (Settings, spec.watchNamespaces): the key is not valid"]
    );
    assert_eq!(
        warnings(&index, AUTH_CONFIG, "a/one"),
        ["apiKeySecretRefs names Secret b/bob, whose namespace is not watched"]
    );
    assert_eq!(index.report(&ObjectKey::new(AUTH_CONFIG, "b", "two")), None);

    // What happens there in the meantime is not missed, and has no effect either.
    index.apply(3, [put("b/bob", "team=x", 3), put("b/cat", "team=x", 1)]);
    assert_eq!(table(&index, "a/one"), keys(&[(1, "ann")]));
    let before = version(&index, "a/one");
    index.apply(4, [watch(&["a"])]);
    assert_eq!(version(&index, "a/one"), before);

    index.apply(5, [delete("b/cat"), Change::Watch(None)]);
    assert_eq!(table(&index, "a/one"), keys(&[(1, "ann"), (3, "bob")]));
    assert_eq!(warnings(&index, AUTH_CONFIG, "a/one"), [""; 0]);
    assert_eq!(warnings(&index, AUTH_CONFIG, "b/two"), [""; 0]);
}

#[test]
fn watching_no_namespace_leaves_no_key() {
    let mut index = index([vec![put("a/ann", "team=x", 1), put_config("a/one", "team=x", &[])]]);
    index.apply(2, [watch(&[])]);
    assert_eq!(table(&index, "a/one"), keys(&[]));
}

#[test]
fn a_view_stays_as_it_is() {
    let mut index = index([vec![put("a/ann", "team=x", 1), put_config("a/one", "team=x", &[])]]);
    let before = index.view(Wanted::new());
    index.apply(2, [put("a/ann", "team=x", 2), delete_config("a/one")]);
    assert_eq!(before.revision(), 1);
    assert_eq!(before.tables().map(|(name, _)| name).collect::<Vec<_>>(), ["a/one"]);
    assert_eq!(before.table("a/one").and_then(|table| table.get(&digest(1))), Some(&b"ann"[..]));
    assert_eq!(index.view(Wanted::new()).tables().count(), 0);
}

#[test]
fn only_a_change_of_content_makes_a_version() {
    let mut index = index([vec![put("a/ann", "team=x", 1), put_config("a/one", "team=x", &[])]]);
    let first = version(&index, "a/one");
    assert_eq!(first.revision, 1);
    let elsewhere = [
        vec![put("a/ann", "team=x", 1)],
        vec![put("a/ann", "team=x,tier=gold", 1)],
        vec![put("a/bob", "team=y", 2), put_config("b/one", "team=y", &[])],
        vec![Change::PutSecret(broken("a/cat", "team=x", KeyProblem::Empty))],
        vec![put("b/ann", "team=x", 1)],
        vec![put("a/ann", "team=x", 9), put("a/ann", "team=x", 1)],
        vec![put("a/dan", "team=x", 9), delete("a/dan")],
        vec![Change::PutAuthConfig(with_header("a/one", "team=x"))],
        vec![put_config("a/one", "team=x", &["a/ann"])],
        vec![put_config("a/one", "team=x", &["b/none"])],
        vec![delete("a/none"), delete_config("a/none")],
    ];
    let mut revision = 1;
    for batch in elsewhere {
        revision += 1;
        index.apply(revision, batch);
        assert_eq!(version(&index, "a/one"), first);
        assert_eq!(index.view(Wanted::new()).revision(), revision);
    }
    index.apply(revision + 1, [put("a/eve", "team=x", 3)]);
    assert_eq!(version(&index, "a/one").revision, revision + 1);
    assert_ne!(version(&index, "a/one").checksum, first.checksum);
}

/// An `AuthConfig` with a step for each of these labels.
fn several(name: &str, labels: &[&str]) -> Change {
    let mut several = config(name, "", &[]);
    several.steps = labels
        .iter()
        .enumerate()
        .map(|(at, labels)| AuthStep {
            name: format!("step-{at}"),
            ..config(name, labels, &[]).steps.remove(0)
        })
        .collect();
    Change::PutAuthConfig(several)
}

#[test]
fn every_step_of_an_auth_config_has_its_table() {
    let mut index = index([vec![
        put("a/ann", "team=x", 1),
        put("a/bob", "team=y", 2),
        several("a/one", &["team=x", "team=y", "team=z"]),
    ]]);
    assert_eq!(table(&index, "a/one"), keys(&[(1, "ann")]));
    assert_eq!(table(&index, "a/one#1"), keys(&[(2, "bob")]));
    assert_eq!(table(&index, "a/one#2"), keys(&[]));
    let nobody = ["config step-2: no Secret is selected: all requests are denied"];
    assert_eq!(warnings(&index, AUTH_CONFIG, "a/one"), nobody);

    let first = version(&index, "a/one");
    index.apply(2, [several("a/one", &["team=x", "team=z"]), put("a/cat", "team=z", 3)]);
    assert_eq!(version(&index, "a/one"), first, "a step that stays the same keeps its table");
    assert_eq!(table(&index, "a/one#1"), keys(&[(3, "cat")]));
    assert_eq!(table(&index, "a/one#2"), None);
    index.apply(3, [delete_config("a/one")]);
    assert_eq!(index.view(Wanted::new()).tables().count(), 0);
}

/// The index panicked: the Secret was taken from a count in which it never was.
#[test]
fn regression_an_auth_config_replaced_and_a_secret_that_it_selects_deleted_in_one_batch() {
    let replaced = || put_config("a/one", "team=y", &["a/bob", "a/cat"]);
    let deleted = || [delete("a/ann"), delete("a/bob")];
    let orders = [
        [vec![replaced()], deleted().into()].concat(),
        [deleted().into(), vec![replaced()]].concat(),
        [vec![delete_config("a/one"), replaced()], deleted().into()].concat(),
        vec![delete("a/ann"), replaced(), put("a/cat", "", 5), delete("a/cat"), delete("a/bob")],
    ];
    for batch in orders {
        let mut index = index([vec![
            put("a/ann", "team=y", 1),
            put("a/bob", "", 2),
            put("a/dan", "team=y", 4),
            put_config("a/one", "team=x", &[]),
        ]]);
        index.apply(2, batch);
        assert_eq!(table(&index, "a/one"), keys(&[(4, "dan")]));
        let said = warnings(&index, AUTH_CONFIG, "a/one");
        assert_eq!(said.len(), 2, "{said:?}");
        assert!(said[0].contains("a/bob") && said[1].contains("a/cat"), "{said:?}");
        // The count and what is missing must go on from there.
        index.apply(3, [put("a/bob", "", 2), put("a/cat", "", 3), delete("a/dan")]);
        assert_eq!(warnings(&index, AUTH_CONFIG, "a/one"), [""; 0]);
        index.apply(4, [delete("a/bob"), put("a/cat", "team=x", 3), put_config("a/one", "team=y", &[])]);
        let nobody = ["no Secret is selected: all requests are denied"];
        assert_eq!(warnings(&index, AUTH_CONFIG, "a/one"), nobody);
    }
}
