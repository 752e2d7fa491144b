//! Lists of who is allowed.

use super::*;
use crate::fixtures::{allow, list, text};

/// The owners of the keys of a table.
fn owners(index: &KeyIndex, table: &str) -> Option<Vec<String>> {
    let view = index.view(Wanted::new());
    view.table(table).map(|table| table.iter().map(|(_, record)| text(record)).collect())
}

fn start() -> KeyIndex {
    index([vec![
        put("a/ann", "team=x", 1),
        put("a/bob", "team=x,gold=1", 2),
        put("b/cat", "gold=1", 3),
        put_config("a/one", "team=x", &[]),
        put_config("a/two", "gold=1", &[]),
    ]])
}

#[test]
fn a_list_holds_those_keys_of_its_auth_config_whose_owners_it_allows() {
    let mut index = start();
    let lists =
        [list("a/one", "x/ann", ""), list("a/one", "x/zoe", "gold=1"), list("a/two", "x/ann", "team=x")];
    index.apply(2, [allow(lists)]);
    assert_eq!(owners(&index, "a/one@x/ann+"), Some(vec!["ann".to_owned()]));
    assert_eq!(owners(&index, "a/one@x/zoe+gold=1"), Some(vec!["bob".to_owned()]));
    // cat is not among the keys of the first, ann not among those of the second.
    assert_eq!(owners(&index, "a/two@x/ann+team=x"), Some(vec!["bob".to_owned()]));
    assert_eq!(owners(&index, "a/one"), Some(vec!["ann".to_owned(), "bob".to_owned()]));
    index.apply(3, [allow([])]);
    assert_eq!(owners(&index, "a/one@x/ann+"), None);
    assert_eq!(owners(&index, "a/one"), Some(vec!["ann".to_owned(), "bob".to_owned()]));
}

#[test]
fn a_change_of_a_label_moves_a_key_on_and_off_a_list_and_touches_no_other_table() {
    let mut index = start();
    index.apply(2, [allow([list("a/one", "x/zoe", "gold=1")])]);
    let before = index.view(Wanted::new());
    index.apply(3, [put("a/ann", "team=x,gold=1", 1)]);
    assert_eq!(owners(&index, "a/one@x/zoe+gold=1"), Some(vec!["ann".to_owned(), "bob".to_owned()]));
    let after = index.view(Wanted::new());
    let version = |view: &KeyView, table: &str| view.table(table).map(Table::version);
    assert_eq!(version(&before, "a/one"), version(&after, "a/one"));
    assert_ne!(version(&before, "a/one@x/zoe+gold=1"), version(&after, "a/one@x/zoe+gold=1"));
    index.apply(4, [put("a/ann", "team=x", 1), put("a/bob", "team=x", 2)]);
    assert_eq!(owners(&index, "a/one@x/zoe+gold=1"), Some(Vec::new()));
}

#[test]
fn of_several_holders_of_a_key_the_first_counts_on_lists_too() {
    let mut index = start();
    index.apply(2, [allow([list("a/one", "x/bob", "")])]);
    index.apply(3, [put("a/aaa", "team=x", 2)]);
    assert_eq!(owners(&index, "a/one@x/bob+"), Some(Vec::new()));
    index.apply(4, [delete("a/aaa")]);
    assert_eq!(owners(&index, "a/one@x/bob+"), Some(vec!["bob".to_owned()]));
}

#[test]
fn each_step_has_its_own_list_and_lists_outlive_a_change_of_what_is_selected() {
    let mut index = start();
    let mut two_steps = config("a/one", "team=x", &[]);
    let mut second = config("a/one", "gold=1", &[]).steps.remove(0);
    second.name = "second".to_owned();
    two_steps.steps.push(second);
    index.apply(2, [allow([list("a/one", "x/cat", "team=x")]), Change::PutAuthConfig(two_steps)]);
    let both = Some(vec!["ann".to_owned(), "bob".to_owned()]);
    assert_eq!(owners(&index, "a/one@x/cat+team=x"), both);
    assert_eq!(owners(&index, "a/one@x/cat+team=x#1"), Some(vec!["bob".to_owned(), "cat".to_owned()]));
    index.apply(3, [put_config("a/one", "gold=1", &[])]);
    assert_eq!(owners(&index, "a/one@x/cat+team=x"), Some(vec!["bob".to_owned(), "cat".to_owned()]));
    assert_eq!(owners(&index, "a/one@x/cat+team=x#1"), None);
    index.apply(4, [delete_config("a/one")]);
    assert_eq!(owners(&index, "a/one@x/cat+team=x"), None);
    // What a route asks for may come back.
    index.apply(5, [put_config("a/one", "gold=1", &[])]);
    assert_eq!(owners(&index, "a/one@x/cat+team=x"), Some(vec!["bob".to_owned(), "cat".to_owned()]));
}

#[test]
fn a_list_that_allows_none_of_the_keys_is_a_warning() {
    let mut index = start();
    index.apply(2, [allow([list("a/one", "x/zoe", "plan=none"), list("a/one", "x/ann", "")])]);
    let said = warnings(&index, AUTH_CONFIG, "a/one");
    let expected = "none of its keys is of anybody whom extauth.allowed of a route names (zoe, label plan=none): \
                    every valid key is denied there with 403";
    assert_eq!(said, [expected]);
}
