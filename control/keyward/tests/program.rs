//! The program as it is built: it starts, says what it is, and refuses what it does not know.

use std::process::{Command, Output};

fn keyward(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_keyward")).args(arguments).output().expect("the program starts")
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).expect("text")
}

#[test]
fn it_says_its_version_on_standard_output_and_nothing_else() {
    let said = keyward(&["--version"]);
    assert!(said.status.success());
    assert_eq!(text(&said.stdout), format!("keyward {}\n", env!("CARGO_PKG_VERSION")));
    assert_eq!(text(&said.stderr), "");
}

#[test]
fn a_key_in_the_wrong_place_is_not_told() {
    for (key, words) in
        ["kw_0000000000000000000000_0lgXbD", "c2VjcmV0LXNlY3JldC1zZWNyZXQ="].into_iter().flat_map(|key| {
            [
                (key, vec!["secret", "apikey", "rotate", "alice", key]),
                (key, vec!["create", "secret", "apikey", "a", "--apikey-sha256", key]),
                (key, vec!["secret", "apikey", "list", "-o", key]),
            ]
        })
    {
        let said = keyward(&words);
        assert_eq!(said.status.code(), Some(2), "{words:?}");
        let told = text(&said.stderr);
        assert!(!told.contains(key) && !text(&said.stdout).contains(key), "{told}");
        assert!(told.starts_with("error: "), "{told}");
    }
}

#[test]
fn an_unknown_command_is_told_on_standard_error_with_code_2() {
    let said = keyward(&["serv"]);
    assert_eq!(said.status.code(), Some(2));
    assert_eq!(text(&said.stdout), "");
    let told = text(&said.stderr);
    assert!(told.contains("'serv'") && told.contains("serve") && told.contains("--help"), "{told}");
}
