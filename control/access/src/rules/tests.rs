use std::net::{Ipv4Addr, Ipv6Addr};

use keyward_resource::{KINDS, kind};
use proptest::prelude::*;
use proptest::sample::select;

use super::*;
use crate::book::TokenRecord;

const NOW: i64 = 1_000_000;
const LOCAL: IpAddr = IpAddr::V4(Ipv4Addr::LOCALHOST);
const REMOTE: IpAddr = IpAddr::V4(Ipv4Addr::new(10, 0, 0, 7));

fn at(second: i64) -> Timestamp {
    Timestamp::from_second(second).unwrap()
}

fn token(seed: u8) -> Token {
    Token::new(&[seed; 32])
}

/// `admin`, `editor` and `viewer` are for everywhere, `team` is an editor of two namespaces, and
/// `old` has expired.
fn book() -> TokenBook {
    let mut book = TokenBook::default();
    for (seed, name, role, namespaces, expires) in [
        (1, "admin", Role::Admin, &[][..], None),
        (2, "editor", Role::Editor, &[], Some(at(NOW + 1))),
        (3, "viewer", Role::Viewer, &[], None),
        (4, "team", Role::Editor, &["team-a", "team-b"], None),
        (5, "old", Role::Admin, &[], Some(at(NOW))),
    ] {
        let namespaces = namespaces.iter().map(|namespace| (*namespace).to_owned()).collect();
        let (name, digest) = (TokenName::new(name).unwrap(), token(seed).digest());
        book.add(TokenRecord { name, role, namespaces, digest, created: at(0), expires }).unwrap();
    }
    book
}

fn caller(peer: IpAddr, credential: Credential<'_>) -> Caller<'_> {
    Caller { peer, by_local_name: true, through: Through::Nobody, credential }
}

fn who(rules: Rules, caller: &Caller<'_>) -> Result<String, String> {
    who_of(rules, &book(), caller)
}

fn who_of(rules: Rules, book: &TokenBook, caller: &Caller<'_>) -> Result<String, String> {
    authenticate(rules, book, caller, at(NOW))
        .map(|identity| identity.to_string())
        .map_err(|status| format!("{} {}", status.code, status.message))
}

fn tried(
    seed: u8,
    verb: Verb,
    kind: &str,
    namespace: Option<&str>,
    name: Option<&str>,
) -> Result<(), String> {
    let token = token(seed);
    let caller = caller(REMOTE, Credential::Bearer(token.reveal()));
    let identity = authenticate(Rules::Everybody, &book(), &caller, at(NOW)).unwrap();
    let kind = kind::by_name(kind).unwrap();
    let action = Action::Objects { verb, kind, namespace, name };
    authorize(identity, &action).map(|_| ()).map_err(|status| format!("{} {}", status.code, status.message))
}

#[test]
fn without_a_token_it_depends_on_where_from() {
    let mapped = IpAddr::V6(Ipv4Addr::LOCALHOST.to_ipv6_mapped());
    let six = IpAddr::V6(Ipv6Addr::LOCALHOST);
    for (rules, peer, expected) in [
        (Rules::OffLoopback, LOCAL, Ok("loopback")),
        (Rules::OffLoopback, mapped, Ok("loopback")),
        (Rules::OffLoopback, six, Ok("loopback")),
        (Rules::OffLoopback, REMOTE, Err("401 a token is needed from another machine: send")),
        (Rules::Everybody, LOCAL, Err("401 a token is needed: send `Authorization: Bearer <token>`")),
        (Rules::Everybody, REMOTE, Err("401 a token is needed: send")),
        (Rules::Nobody, LOCAL, Ok("loopback")),
        (Rules::Nobody, REMOTE, Ok("anonymous")),
    ] {
        let got = who_of(rules, &TokenBook::default(), &caller(peer, Credential::None));
        match (&got, expected) {
            (Ok(got), Ok(expected)) => assert_eq!(got, expected, "{rules:?} {peer}"),
            (Err(got), Err(expected)) => assert!(got.starts_with(expected), "{rules:?} {peer}: {got}"),
            _ => panic!("{rules:?} {peer}: {got:?}"),
        }
    }
    let rebound = Caller { by_local_name: false, ..caller(LOCAL, Credential::None) };
    let got = who_of(Rules::OffLoopback, &TokenBook::default(), &rebound).unwrap_err();
    assert!(got.starts_with("401 a token is needed when this server is not called 127.0.0.1"), "{got}");
}

#[test]
fn where_there_are_tokens_being_on_this_machine_is_not_enough() {
    let got = who(Rules::OffLoopback, &caller(LOCAL, Credential::None)).unwrap_err();
    assert!(got.starts_with("401 a token is needed, also on this machine, as there are tokens: "), "{got}");
}

#[test]
fn whoever_is_behind_a_proxy_is_not_on_this_machine() {
    for (rules, through, expected) in [
        (Rules::OffLoopback, Through::Proxy, Err("401 a token is needed when a proxy passes the request on")),
        (Rules::OffLoopback, Through::Gateway, Err("401 a token is needed through a gateway")),
        (Rules::Everybody, Through::Gateway, Err("401 a token is needed through a gateway")),
        (Rules::Nobody, Through::Proxy, Ok("anonymous")),
        (Rules::Nobody, Through::Gateway, Err("401 a token is needed through a gateway")),
    ] {
        for book in [book(), TokenBook::default()] {
            let sent_on = Caller { through, ..caller(LOCAL, Credential::None) };
            let got = who_of(rules, &book, &sent_on);
            match (&got, expected) {
                (Ok(got), Ok(expected)) => assert_eq!(got, expected, "{rules:?} {through:?}"),
                (Err(got), Err(expected)) => {
                    assert!(got.starts_with(expected), "{rules:?} {through:?}: {got}")
                }
                _ => panic!("{rules:?} {through:?}: {got:?}"),
            }
        }
    }
    let token = token(1);
    let with_token =
        Caller { through: Through::Gateway, ..caller(LOCAL, Credential::Bearer(token.reveal())) };
    assert_eq!(who(Rules::OffLoopback, &with_token).unwrap(), "token:admin");
}

#[test]
fn a_token_that_is_sent_counts_wherever_it_comes_from() {
    let (right, old, unknown) = (token(1), token(5), token(99));
    let cut = &right.reveal()[..30];
    for (credential, expected) in [
        (Credential::Bearer(right.reveal()), Ok("token:admin")),
        (Credential::Bearer(old.reveal()), Err("401 the token \"old\" has expired")),
        (Credential::Bearer(unknown.reveal()), Err("401 the token is unknown: it was deleted,")),
        (Credential::Bearer(cut), Err("401 the token is refused: it was not copied whole")),
        (Credential::Bearer(""), Err("401 the token is refused: it is not a token of Keyward")),
        (Credential::Other, Err("401 the Authorization header must be `Bearer`")),
    ] {
        for rules in [Rules::OffLoopback, Rules::Everybody, Rules::Nobody] {
            for peer in [LOCAL, REMOTE] {
                let got = who(rules, &caller(peer, credential));
                match (&got, expected) {
                    (Ok(got), Ok(expected)) => assert_eq!(got, expected),
                    (Err(got), Err(expected)) => assert!(got.starts_with(expected), "{got}"),
                    _ => panic!("{credential:?} {rules:?} {peer}: {got:?}"),
                }
            }
        }
    }
}

#[test]
fn the_header_is_read_as_clients_write_it() {
    let bearer = |value: Option<&'static [u8]>| match Credential::of_header(value) {
        Credential::None => "none".to_owned(),
        Credential::Bearer(token) => format!("bearer {token}"),
        Credential::Other => "other".to_owned(),
    };
    for (value, expected) in [
        (None, "none"),
        (Some(&b"Bearer abc"[..]), "bearer abc"),
        (Some(b"bearer  abc "), "bearer abc"),
        (Some(b"Bearer"), "other"),
        (Some(b""), "other"),
        (Some(b"Basic YWJj"), "other"),
        (Some(b"Bearer \xff"), "other"),
    ] {
        assert_eq!(bearer(value), expected, "{value:?}");
    }
    assert_eq!(format!("{:?}", Credential::Bearer("kwt_secret")), "Bearer([redacted])");
}

#[test]
fn a_refusal_says_what_is_missing() {
    for (seed, verb, kind, namespace, name, message) in [
        (
            3,
            Verb::Delete,
            "VirtualService",
            Some("team-a"),
            Some("site"),
            "403 virtualservices.gateway.keyward.io \"site\" is forbidden: the token viewer cannot delete \
             virtualservices.gateway.keyward.io in the namespace \"team-a\": its role is viewer, and changes \
             need the role editor or admin",
        ),
        (
            2,
            Verb::List,
            "Secret",
            None,
            None,
            "403 secrets is forbidden: the token editor cannot list secrets: its role is editor, and Secrets \
             need the role admin",
        ),
        (
            4,
            Verb::List,
            "Upstream",
            None,
            None,
            "403 upstreams.service.keyward.io is forbidden: the token team cannot list \
             upstreams.service.keyward.io: it is for these namespaces only: team-a, team-b",
        ),
    ] {
        assert_eq!(tried(seed, verb, kind, namespace, name).unwrap_err(), message);
    }
}

#[test]
fn the_server_is_operated_by_admins_of_everything() {
    let operate = |role: Role, namespaces: &[&str]| {
        let namespaces = namespaces.iter().map(|namespace| (*namespace).to_owned()).collect();
        let identity = Identity::Token { name: TokenName::new("some").unwrap(), role, namespaces };
        authorize(identity, &Action::Operate).map(|_| ()).map_err(|status| (status.code, status.message))
    };
    assert_eq!(operate(Role::Admin, &[]), Ok(()));
    for (role, namespaces, missing) in [
        (Role::Editor, &[][..], "its role is editor, and this needs the role admin"),
        (Role::Viewer, &[], "its role is viewer, and this needs the role admin"),
        (Role::Admin, &["a", "b"], "it is for these namespaces only, and this is about all of them: a, b"),
    ] {
        let message = format!("the token some cannot do this: {missing}");
        assert_eq!(operate(role, namespaces), Err((403, message)));
    }
    for identity in [Identity::Loopback, Identity::Anonymous] {
        assert!(authorize(identity, &Action::Operate).is_ok());
    }
}

#[test]
fn anybody_who_is_somebody_may_discover() {
    for seed in [1, 3, 4] {
        let token = token(seed);
        let caller = caller(REMOTE, Credential::Bearer(token.reveal()));
        let identity = authenticate(Rules::Everybody, &book(), &caller, at(NOW)).unwrap();
        assert_eq!(authorize(identity.clone(), &Action::Discover).unwrap().identity(), &identity);
    }
}

proptest! {
    /// The whole matrix: role by verb by kind by namespace.
    #[test]
    fn roles_and_namespaces_are_as_said(
        seed in 1_u8..5,
        verb in select(&Verb::ALL),
        kind in select(KINDS),
        namespace in proptest::option::of(select(&["team-a", "team-b", "team-c", ""])),
    ) {
        let got = tried(seed, verb, kind.name, namespace, Some("x"));
        let role_allows = match seed {
            1 => true,
            2 | 4 => kind.name != "Secret",
            _ => kind.name != "Secret" && !verb.changes(),
        };
        let place_allows = seed != 4 || matches!(namespace, Some("team-a" | "team-b"));
        prop_assert_eq!(got.is_ok(), role_allows && place_allows, "{:?}", got);
        prop_assert!(got.is_ok() || got.unwrap_err().starts_with("403 "));
    }

    /// Whatever is sent, nobody off this machine is let in without a token of the list.
    #[test]
    fn nothing_but_a_token_lets_a_stranger_in(value: Option<Vec<u8>>, text in "(Bearer )?kwt_[a-zA-Z0-9_]{0,60}") {
        let values = [value.as_deref(), Some(text.as_bytes())];
        for credential in values.map(Credential::of_header) {
            let status = authenticate(Rules::OffLoopback, &book(), &caller(REMOTE, credential), at(NOW));
            let status = status.unwrap_err();
            prop_assert_eq!(status.code, 401);
            prop_assert!(!status.message.contains("kwt_"), "{}", status.message);
        }
    }
}
