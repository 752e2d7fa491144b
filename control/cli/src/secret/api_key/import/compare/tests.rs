use super::super::check::read;
use super::*;
use crate::sheet::{Form, Sheet};

fn said(row: &str) -> (Value, ApiKeySecret) {
    let headings = "name,api-key,api-key-sha256,labels,expires-at,disabled,previous-api-key-sha256,\
                    previous-expires-at,plan,tier";
    let sheet = Sheet::new(format!("{headings}\nann,{row}\n").into_bytes(), Form::Csv);
    let row = sheet.rows().next().unwrap().right().unwrap();
    read(&row, "team").unwrap_or_else(|mistakes| panic!("{mistakes:?}"))
}

const DIGEST: &str = "f7e7c36e458e80e6b6a2c67d0a9ec09bd718dadd7bfa8d6bf6e7ad526e46c2f7";
const OLD: &str = "abababababababababababababababababababababababababababababababab";
const LATER: &str = "2030-01-01T00:00:00Z";

#[test]
fn what_differs_is_named_by_its_column() {
    let base = "secret-1,,a=b,,,,,gold,";
    for (other, expected) in [
        (base.to_owned(), vec![]),
        (format!(",{DIGEST},a=b,,,,,gold,"), vec![]),
        ("secret-1,,a=b,,false,,,gold,".to_owned(), vec![]),
        ("secret-2,,a=c,,,,,gold,".to_owned(), vec!["api-key", "labels"]),
        (format!("secret-1,,a=b,{LATER},true,,,gold,"), vec!["expires-at", "disabled"]),
        (format!("secret-1,,a=b,,,{OLD},{LATER},gold,"), vec!["previous-api-key", "previous-expires-at"]),
        ("secret-1,,a=b,,,,,silver,1".to_owned(), vec!["plan", "tier"]),
    ] {
        let (have, want) = (said(base).1, said(&other).1);
        assert_eq!(differences(&have, &want), expected, "{other}");
        assert_eq!(differences(&want, &have), expected, "{other}, the other way round");
    }
    let same_moment = said("secret-1,,a=b,2030-01-01T02:00:00+02:00,,,,gold,").1;
    assert_eq!(differences(&same_moment, &said(&format!("secret-1,,a=b,{LATER},,,,gold,")).1), [""; 0]);
}

#[test]
fn a_patch_makes_labels_and_data_what_is_wanted_and_removes_the_rest() {
    let now: Timestamp = "2026-01-01T00:00:00Z".parse().unwrap();
    let (mut object, _) = said(&format!("secret-1,,a=b,{LATER},,,,gold,"));
    object["metadata"]["resourceVersion"] = "7".into();
    let (wanted, _) = said("secret-2,,c=d,,,,,silver,");
    let patch = patch(&object, &wanted, true, now);
    assert_eq!(patch["metadata"]["resourceVersion"], "7");
    assert_eq!(patch["metadata"]["labels"], json!({ "a": null, "c": "d" }));
    assert_eq!(patch["metadata"]["annotations"][KEY_CREATED], "2026-01-01T00:00:00Z");
    let data = json!({ "api-key": wanted["data"]["api-key"], "expires-at": null, "plan": "c2lsdmVy" });
    assert_eq!(patch["data"], data);
}

#[test]
fn a_digest_does_not_take_the_place_of_its_own_key() {
    let (object, have) = said("secret-1,,,,,,,gold,");
    let (mut wanted, want) = said(&format!(",{DIGEST},a=b,,,,,gold,"));
    keep_same_keys(&object, &have, &mut wanted, &want);
    assert_eq!(wanted["data"], object["data"]);
    let (mut other, want) = said(&format!(",{OLD},a=b,,,,,gold,"));
    let before = other.clone();
    keep_same_keys(&object, &have, &mut other, &want);
    assert_eq!(other, before);
}
