//! Tokens over real HTTP.

use std::os::unix::fs::PermissionsExt as _;

use serde_json::{Value, json};

use crate::kit::{Server, secret, upstream};

const UPSTREAMS: &str = "/apis/service.keyward.io/v1/namespaces/team/upstreams";
const SECRETS: &str = "/api/v1/namespaces/team/secrets";
const SERVED: &str = "/keyward/v1/served?role=keyward-system~gateway-proxy";
const RECORDS: &str = "/keyward/v1/explain/records";

/// Asks for what is known of no key.
fn lookup() -> Value {
    json!({ "role": "keyward-system~gateway-proxy", "tables": {} })
}

#[test]
fn each_role_may_what_it_is_for_and_tokens_come_and_go_meanwhile() {
    let mut server = Server::new();
    // Made before the server ever ran.
    let admin = server.token("--role admin --name root");
    server.start("--require-token --log-level debug");
    // And while it runs.
    let editor = server.token("--role editor --name ed --expires 1h");
    let viewer = server.token("--role viewer");
    let scoped = server.token("--role editor --namespace other --name scoped");
    let (one, key) = (format!("{UPSTREAMS}/a"), "a-key-that-nobody-may-see");
    for (who, token, method, path, body, expected) in [
        ("nobody", None, "GET", UPSTREAMS, None, 401),
        ("nobody", None, "GET", "/version", None, 401),
        ("nobody", None, "GET", "/healthz", None, 200),
        ("nobody", None, "POST", UPSTREAMS, Some(upstream("a")), 401),
        ("viewer", Some(&viewer), "POST", UPSTREAMS, Some(upstream("a")), 403),
        ("scoped", Some(&scoped), "POST", UPSTREAMS, Some(upstream("a")), 403),
        ("editor", Some(&editor), "POST", UPSTREAMS, Some(upstream("a")), 201),
        ("viewer", Some(&viewer), "GET", &one, None, 200),
        ("viewer", Some(&viewer), "GET", SECRETS, None, 403),
        ("editor", Some(&editor), "POST", SECRETS, Some(secret("alice", key)), 403),
        ("admin", Some(&admin), "POST", SECRETS, Some(secret("alice", key)), 201),
        ("editor", Some(&editor), "GET", SECRETS, None, 403),
        ("admin", Some(&admin), "GET", SECRETS, None, 200),
        ("editor", Some(&editor), "DELETE", &one, None, 200),
        ("nobody", None, "GET", SERVED, None, 401),
        ("editor", Some(&editor), "GET", SERVED, None, 403),
        ("nobody", None, "GET", "/keyward/v1/sync", None, 401),
        ("scoped", Some(&scoped), "GET", "/keyward/v1/sync", None, 200),
        ("nobody", None, "GET", "/keyward/v1/proxies", None, 401),
        ("scoped", Some(&scoped), "GET", "/keyward/v1/proxies", None, 200),
        ("nobody", None, "POST", RECORDS, Some(lookup()), 401),
        ("viewer", Some(&viewer), "POST", RECORDS, Some(lookup()), 403),
        ("scoped", Some(&scoped), "POST", RECORDS, Some(lookup()), 403),
        ("admin", Some(&admin), "POST", RECORDS, Some(lookup()), 200),
    ] {
        let (code, answer) = server.ask(token.map(String::as_str), method, path, body.as_ref());
        assert_eq!(code, expected, "{who} {method} {path}: {answer}");
        assert!(code < 400 || answer["kind"] == "Status", "{answer}");
    }
    let (_, answer) = server.ask(Some(&viewer), "DELETE", &one, None);
    assert_eq!(
        answer["message"],
        "upstreams.service.keyward.io \"a\" is forbidden: the token viewer-1 cannot delete \
         upstreams.service.keyward.io in the namespace \"team\": its role is viewer, and changes need the role \
         editor or admin"
    );
    assert_eq!(server.keyward("token delete ed").code, Some(0));
    assert_eq!(server.ask(Some(&editor), "GET", UPSTREAMS, None).0, 401);
    assert_eq!(server.ask(Some(&viewer), "GET", UPSTREAMS, None).0, 200);

    server.says(&[
        "keyward::audit",
        "changed who=\"token:ed\"",
        "verb=\"create\"",
        "kind=\"Upstream\"",
        "name=\"a\"",
    ]);
    server.says(&["keyward::audit", "changed who=\"token:root\"", "kind=\"Secret\"", "name=\"alice\""]);
    server.says(&["keyward::audit", "not changed who=\"unknown\"", "code=401"]);
    server.says(&["keyward::audit", "not changed who=\"token:viewer-1\"", "method=\"DELETE\"", "code=403"]);
    let log = server.log();
    for hidden in [&admin, &editor, &viewer, &scoped, key] {
        assert!(!log.contains(hidden), "the log has it");
    }
}

#[test]
fn once_there_is_a_token_being_on_this_machine_is_not_enough() {
    let mut server = Server::new();
    server.start("");
    assert_eq!(server.ask(None, "POST", SECRETS, Some(&secret("alice", "alice-key"))).0, 201);
    let editor = server.token("--role editor --name ed");
    let (code, answer) = server.ask(None, "GET", SECRETS, None);
    assert_eq!(code, 401, "{answer}");
    assert!(
        answer["message"].as_str().unwrap().contains("also on this machine, as there are tokens"),
        "{answer}"
    );
    assert_eq!(server.ask(Some(&editor), "GET", UPSTREAMS, None).0, 200);
    // Nor by way of its namespace.
    let (code, answer) = server.ask(Some(&editor), "DELETE", "/api/v1/namespaces/team", None);
    assert_eq!(code, 403, "{answer}");
    assert!(answer["message"].as_str().unwrap().contains("it holds Secrets"), "{answer}");
    assert_eq!(server.keyward("token delete ed").code, Some(0));
    assert_eq!(server.ask(None, "GET", SECRETS, None).0, 200);
}

#[test]
fn the_audit_log_is_there_also_when_little_is_logged() {
    let mut server = Server::new();
    server.start("--log-level error --log-format json");
    assert_eq!(server.ask(None, "POST", UPSTREAMS, Some(&upstream("a"))).0, 201);
    server.says(&[
        "\"target\":\"keyward::audit\"",
        "\"who\":\"loopback\"",
        "\"verb\":\"create\"",
        "\"name\":\"a\"",
    ]);
    let log = server.log();
    assert!(log.lines().all(|line| line.contains("keyward::audit")), "{log}");
}

#[test]
fn the_commands_say_what_they_do_and_show_a_token_once() {
    let server = Server::new();
    let said = server.keyward("token list");
    assert_eq!((said.code, said.out.as_str()), (Some(0), ""), "{said:?}");
    let made = server.keyward("token create --role admin --name root --expires 90d");
    assert!(made.out.starts_with("kwt_") && made.out.len() == 54, "{made:?}");
    assert!(made.err.starts_with("token root, role admin, until 2"), "{made:?}");
    server.token("--role viewer -n team -n other");
    let again = server.keyward("token create --role viewer --name root");
    assert_eq!(again.code, Some(1));
    assert!(again.err.starts_with("error: there is a token \"root\" already\nhint: "), "{again:?}");
    let listed = server.keyward("token list");
    let rows: Vec<Vec<&str>> = listed.out.lines().map(|line| line.split_whitespace().collect()).collect();
    assert_eq!(rows[0], ["NAME", "ROLE", "NAMESPACES", "CREATED", "EXPIRES"]);
    assert_eq!(
        (rows[1][..3].to_vec(), rows[2][..3].to_vec(), rows[2][4]),
        (vec!["root", "admin", "all"], vec!["viewer-1", "viewer", "team,other"], "never",)
    );
    let json: serde_json::Value = serde_json::from_str(&server.keyward("token list -o json").out).unwrap();
    assert_eq!((&json[0]["name"], &json[1]["role"]), (&"root".into(), &"viewer".into()));
    let file = server.data().join("data/tokens.json");
    assert_eq!(std::fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o600);
    for text in [std::fs::read_to_string(file).unwrap(), listed.out.clone(), json.to_string()] {
        assert!(!text.contains(made.out.get(4..40).unwrap()), "{text}");
    }
    assert_eq!(server.keyward("token delete root").code, Some(0));
    let gone = server.keyward("token delete root");
    assert!(
        gone.code == Some(1) && gone.err.contains("error: there is no token \"root\"\nhint: "),
        "{gone:?}"
    );
    for wrong in ["--role owner", "--role admin --expires 0d", "--role admin --name A!", ""] {
        assert_eq!(server.keyward(&format!("token create {wrong}")).code, Some(2), "{wrong}");
    }
}
