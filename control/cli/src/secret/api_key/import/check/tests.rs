use super::*;
use crate::sheet::Form;

/// The SHA-256 of `secret-1`.
const DIGEST: &str = "f7e7c36e458e80e6b6a2c67d0a9ec09bd718dadd7bfa8d6bf6e7ad526e46c2f7";

fn checked(text: &str, may_share_keys: bool) -> Vec<String> {
    let sheet = Sheet::new(text.as_bytes().to_vec(), Form::Csv);
    check(&sheet, "team", may_share_keys).mistakes.iter().map(ToString::to_string).collect()
}

#[test]
fn every_mistake_is_found_in_one_pass_and_none_repeats_what_stands_there() {
    let text = "name,namespace,api-key,api-key-sha256,labels,expires-at,not-before,disabled,previous-api-key,plan\n\
                ann,,secret-1,,,,,,,gold\n\
                Secret-2,,,,,,,,,\n\
                ann,team,secret-3,,,tomorrow,,,,\n\
                ann,apps,secret-4,,,2030-01-01T00:00:00Z,2031-01-01T00:00:00Z,maybe,,\n\
                bob,,,abc,secret-5!=x,,,,,\n\
                cat,,secret-1,,,,,,,\n\
                dan,,secret-6,abababababababababababababababababababababababababababababababab,,,,,,\n\
                eve,Team!,secret-7,,,,,,secret-8,\n\
                ,,secret-9,,,,,,,\n\
                fay,,,zz,secret-10,never,,,,\n";
    let mistakes = checked(text, false);
    let told: Vec<_> = mistakes
        .iter()
        .map(|mistake| mistake.splitn(3, ": ").take(2).collect::<Vec<_>>().join(": "))
        .collect();
    assert_eq!(
        told,
        [
            "3: name",
            "4: name",
            "4: expires-at",
            "5: expires-at",
            "5: disabled",
            "6: labels",
            "6: api-key-sha256",
            "7: api-key",
            "8: api-key-sha256",
            "9: namespace",
            "9: previous-expires-at",
            "10: name",
            "11: labels",
            "11: api-key-sha256",
            "11: expires-at",
        ],
        "{mistakes:#?}"
    );
    for mistake in &mistakes {
        assert!(!mistake.to_lowercase().contains("secret-"), "{mistake}");
    }
    assert!(mistakes.contains(&"4: name: the same name stands in line 2".to_owned()), "{mistakes:#?}");
    assert!(mistakes.contains(&"7: api-key: the same key stands in line 2".to_owned()), "{mistakes:#?}");
}

#[test]
fn a_key_and_its_digest_are_the_same_key() {
    let text = format!("name,api-key,api-key-sha256\nann,secret-1,\nbob,,{}\n", DIGEST.to_uppercase());
    assert_eq!(checked(&text, false), ["3: api-key: the same key stands in line 2"]);
    assert_eq!(checked(&text, true), Vec::<String>::new());
}

#[test]
fn a_row_without_a_usable_key_is_a_mistake() {
    let long = "k".repeat(4097);
    let text = format!("name,api-key,plan\nann,,gold\nbob,{long},\n");
    assert_eq!(
        checked(&text, false),
        [
            "2: api-key: there is no key: api-key or api-key-sha256 must say which it is",
            "3: api-key: must have at most 4096 bytes",
        ]
    );
}
