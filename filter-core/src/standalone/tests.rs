use std::collections::BTreeMap;
use std::path::Path as FilePath;

use serde_json::{Value, json};

use sha2::{Digest as _, Sha256};

use super::*;
use crate::decide::{Denial, Facts, Forbidden, Verdict, decide};
use crate::key;
use crate::time;

mod parity;

/// A request: its headers, and the time.
struct Request<'a> {
    headers: &'a [(&'a str, &'a str)],
    now: u64,
}

impl Facts for Request<'_> {
    fn values(&mut self, header: &str) -> Vec<Vec<u8>> {
        let named = self.headers.iter().filter(|(name, _)| *name == header);
        named.map(|(_, value)| value.as_bytes().to_vec()).collect()
    }

    fn now(&mut self) -> Option<u64> {
        Some(self.now)
    }
}

fn sha256(key: &str) -> String {
    Sha256::digest(key.as_bytes()).iter().map(|byte| format!("{byte:02x}")).collect()
}

fn whole() -> Value {
    json!({
        "apiVersion": API_VERSION,
        "policies": {
            "partners": { "headersFromMetadata": { "X-Team": { "name": "team" } } },
            "staff": {
                "keySource": {
                    "headers": [{ "header": "Authorization", "prefix": "Bearer" }, { "header": "x-staff-key" }],
                    "queryParams": ["key"],
                    "cookies": ["key"],
                },
                "forwardKey": true,
            },
        },
        "defaultPolicy": "partners",
        "routes": [
            { "name": "health", "open": true },
            { "prefix": "admin/", "policy": "staff" },
            { "prefix": "admin", "open": true },
        ],
        "keys": [
            { "sha256": sha256("ann-key"), "identity": "ann", "metadata": { "team": "blue" } },
            { "sha256": sha256("bob-key").to_uppercase(), "identity": "bob", "policies": ["staff"] },
            { "sha256": sha256("eve-key"), "identity": "eve", "disabled": true },
            {
                "sha256": sha256("may-key"),
                "identity": "may",
                "notBefore": "2026-01-01T00:00:00Z",
                "expiresAt": "2027-01-01T00:00:00+01:00",
            },
        ],
    })
}

fn read(config: &Value) -> FilterConfig {
    from_json(config.to_string().as_bytes()).unwrap_or_else(|problems| panic!("{problems}"))
}

/// Who passes, or why nobody does.
fn ask(config: &FilterConfig, route: &str, headers: &[(&str, &str)], now: &str) -> Result<String, String> {
    let replica = Replica::new();
    let seen = Seen::new(&replica, config);
    let mut request = Request { headers, now: time::milliseconds(now).unwrap() };
    match decide(config, &seen, Some(route.as_bytes()), &mut request) {
        Verdict::Allow(permit) => {
            Ok(permit.identity().map_or("nobody".into(), |identity| String::from_utf8_lossy(identity).into()))
        }
        Verdict::Open(_) => Ok("open".into()),
        Verdict::Deny(why) => Err(why.word().into()),
        Verdict::Forbid(why) => Err(format!("{why:?}")),
        Verdict::Wait => Err("wait".into()),
    }
}

const NOW: &str = "2026-06-01T00:00:00Z";

#[test]
fn the_route_says_which_policy_and_the_policy_which_keys() {
    let config = read(&whole());
    let missing = || Err(Denial::Missing.word().to_owned());
    let unknown = || Err(Denial::Unknown.word().to_owned());
    for (route, headers, expected) in [
        ("any", [("api-key", "ann-key")].as_slice(), Ok("ann".into())),
        ("", &[("api-key", "ann-key")], Ok("ann".into())),
        ("any", &[], missing()),
        ("any", &[("api-key", "nobodys")], unknown()),
        // Of the other policy alone.
        ("any", &[("api-key", "bob-key")], unknown()),
        ("admin/users", &[("authorization", "bearer bob-key")], Ok("bob".into())),
        ("admin/users", &[("x-staff-key", "ann-key")], Ok("ann".into())),
        ("admin/users", &[(":path", "/x?key=bob-key")], Ok("bob".into())),
        ("admin/users", &[("cookie", "a=b; key=bob-key")], Ok("bob".into())),
        ("admin/users", &[("api-key", "bob-key")], missing()),
        ("admin", &[], Ok("open".into())),
        ("health", &[("api-key", "nobodys")], Ok("open".into())),
        ("health/", &[], missing()),
    ] {
        assert_eq!(ask(&config, route, headers, NOW), expected, "{route} {headers:?}");
    }
}

#[test]
fn a_key_is_valid_in_its_time_and_unless_disabled() {
    let config = read(&whole());
    for (key, now, expected) in [
        ("may-key", "2025-12-31T23:59:59.999Z", Err("not-yet-valid")),
        ("may-key", "2026-01-01T00:00:00Z", Ok("may")),
        ("may-key", "2026-12-31T22:59:59.999Z", Ok("may")),
        ("may-key", "2026-12-31T23:00:00Z", Err("expired")),
        ("eve-key", NOW, Err("disabled")),
    ] {
        let answer = ask(&config, "any", &[("api-key", key)], now);
        assert_eq!(answer.as_deref().map_err(String::as_str), expected, "{key} {now}");
    }
}

#[test]
fn a_route_of_which_nothing_is_said_is_closed() {
    let mut open = whole();
    open.as_object_mut().unwrap().remove("defaultPolicy");
    let config = read(&open);
    let refused = Err(format!("{:?}", Forbidden::NoPolicyNamed));
    assert_eq!(ask(&config, "any", &[("api-key", "ann-key")], NOW), refused);
    assert_eq!(ask(&config, "health", &[], NOW), Ok("open".into()));
}

#[test]
fn keys_that_are_confined_make_a_table_for_each_policy() {
    let config = read(&whole());
    let standalone = config.standalone.as_deref().unwrap();
    let holds = |policy: &str, key: &str| {
        standalone.table(policy).unwrap().get(&key::digest(key.as_bytes())).is_some()
    };
    assert!(holds("partners", "ann-key") && holds("staff", "ann-key"));
    assert!(holds("staff", "bob-key") && !holds("partners", "bob-key"));
    let mut same = whole();
    same["keys"].as_array_mut().unwrap().remove(1);
    let config = read(&same);
    assert!(matches!(config.standalone.unwrap().tables, Written::Once(_)));
}

#[test]
fn what_is_told_is_taken_off_in_all_spellings() {
    let config = read(&whole());
    let own: Vec<&str> = config.standalone.as_ref().unwrap().own_headers().collect();
    assert_eq!(own, ["x-user-id", "x-user_id", "x_user-id", "x_user_id", "x-team", "x_team"]);
}

#[test]
fn anonymous_is_said_and_lets_requests_without_a_key_pass() {
    let mut anonymous = whole();
    anonymous["policies"]["partners"]["anonymous"] = true.into();
    let config = read(&anonymous);
    assert_eq!(ask(&config, "any", &[], NOW), Ok("nobody".into()));
    assert_eq!(ask(&config, "any", &[("api-key", "nobodys")], NOW), Err("unknown".into()));
    assert_eq!(ask(&config, "admin/x", &[], NOW), Err("missing".into()));
}

#[test]
fn numbers_and_nulls_are_read_as_a_struct_writes_them() {
    let text = whole().to_string().replace(
        "\"apiVersion\"",
        "\"identityHeader\": null, \"keyStream\": {\"cluster\": \"c\", \"role\": \"r\", \"waitForKeysMs\": 2.5e3}, \"apiVersion\"",
    );
    let config = from_json(text.as_bytes()).unwrap();
    assert_eq!((config.wait_for_keys_ms, config.control_cluster.as_str()), (2_500, "c"));
    assert_eq!(config.identity_header, "x-user-id");
}

#[test]
fn a_version_names_the_content() {
    let (one, other) = (read(&whole()), read(&whole()));
    assert_eq!(one, other);
    let mut changed = whole();
    changed["keys"].as_array_mut().unwrap().pop();
    let changed = read(&changed);
    assert_ne!(one.version, changed.version);
    assert_ne!(one, changed);
    assert!(one.version < 1 << 53);
}

#[test]
fn every_mistake_is_told_with_its_place_and_without_its_value() {
    let mut wrong = whole();
    wrong["keys"][0]["sha256"] = "not-a-digest-0123".into();
    wrong["keys"][1]["expiresAt"] = "soon-0123".into();
    wrong["keys"][2]["disabled"] = "yes".into();
    wrong["keys"][3]["secret-field-0123"] = 1.into();
    wrong["policies"]["team/x"] = json!({ "headerName": "host" });
    let problems = from_json(wrong.to_string().as_bytes()).unwrap_err();
    assert_eq!(
        problems.told,
        [
            "/keys/0/sha256: must be 64 hexadecimal digits",
            "/keys/1/expiresAt: must be a time as in RFC 3339, such as 2030-01-31T12:00:00Z",
            "/keys/2/disabled: must be true or false",
            "/keys/3: has a field that is none of sha256, identity, notBefore, expiresAt, disabled, metadata, policies",
            "/policies/team~1x/headerName: is a header that proxies act on and cannot carry a key: name one \
             of your own, such as api-key or x-api-key",
        ]
    );
    assert!(!problems.to_string().contains("0123"));
}

#[test]
fn a_broken_text_is_refused_with_its_place() {
    for (text, expected) in [
        ("", "the configuration: is not JSON at line 1 column 0"),
        ("{\n \"keys\": [}", "the configuration: is not JSON at line 2 column 11"),
        ("[]", "the configuration: must be an object"),
        ("{\"keys\": {}}", "/keys: must be a list, once"),
        ("{\"keys\": null}", "/keys: must be a list, once"),
        ("{\"keys\": [], \"keys\": []}", "/keys: must be a list, once"),
        ("{} {}", "the configuration: is not JSON at line 1 column 4"),
    ] {
        assert_eq!(from_json(text.as_bytes()).unwrap_err().to_string(), expected, "{text}");
    }
}

#[test]
fn more_mistakes_than_a_log_should_hold_are_counted() {
    let mut wrong = whole();
    wrong["keys"] = (0..25).map(|_| json!({})).collect();
    let problems = from_json(wrong.to_string().as_bytes()).unwrap_err();
    assert_eq!((problems.told.len(), problems.untold), (10, 40));
    assert!(problems.to_string().ends_with("; and 40 more"), "{problems}");
}

#[test]
fn there_is_a_most_of_keys() {
    let key = |at: usize| json!({ "sha256": sha256(&at.to_string()), "identity": "x" });
    let mut many = whole();
    many["keys"] = (0..=MAX_KEYS).map(key).collect();
    let problems = from_json(many.to_string().as_bytes()).unwrap_err();
    assert_eq!(problems.told, ["/keys: has more than 100000 keys: a key stream takes more"]);
    many["keys"].as_array_mut().unwrap().pop();
    let config = read(&many);
    assert_eq!(ask(&config, "any", &[("api-key", "99999")], NOW), Ok("x".into()));
}

#[test]
fn debug_tells_no_digest() {
    let shown = format!("{:?}", read(&whole()));
    assert!(shown.contains("partners") && !shown.contains("tables: Written"), "{shown}");
    assert!(!shown.contains(&sha256("ann-key")[..8]), "{shown}");
}

/// The cases: what is said of each file in `testdata/filter-config`.
#[test]
fn cases() {
    let folder = FilePath::new(env!("CARGO_MANIFEST_DIR")).join("../testdata/filter-config");
    let mut said = BTreeMap::new();
    for entry in std::fs::read_dir(&folder).expect("the cases") {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        let Some(name) = name.strip_suffix(".json") else { continue };
        let answer = match from_json(&std::fs::read(&path).unwrap()) {
            Ok(_) => "is taken".to_owned(),
            Err(problems) => {
                assert!(problems.untold == 0 && !problems.is_empty(), "{name}");
                problems.told.join("\n  ")
            }
        };
        said.insert(name.to_owned(), answer);
    }
    assert!(said.len() > 10, "hardly any cases: {said:?}");
    let said: String = said.iter().map(|(name, answer)| format!("{name}\n  {answer}\n")).collect();
    let golden = folder.join("said.txt");
    if std::env::var_os("UPDATE_GOLDENS").is_some() {
        std::fs::write(&golden, &said).unwrap();
    }
    assert_eq!(said, std::fs::read_to_string(&golden).unwrap_or_default(), "UPDATE_GOLDENS=1 writes it anew");
}
