//! The filter by itself, on a real Envoy: the bootstrap file of `examples/`, as people run it.

mod kit;
mod stream;

use keyward_integration::headers::Headers;
use keyward_integration::paths;
use keyward_integration::stack::wait;

use crate::kit::{Alone, EXAMPLE, SOON, with_key};

/// The digests of the example.
const FIRST: &str = "77bec718f94d92fae8721a66ec076661d8a9355a1d42ffe995c5f5baadb06d15";

#[test]
fn the_example_asks_for_keys_and_says_whose_they_are() {
    let alone = Alone::start(&[]);
    let (denied, arrived) = alone.send("/orders", &Headers::new(), &Headers::new());
    assert!(arrived.is_none());
    assert_eq!(denied.status, 401);
    assert_eq!(denied.headers.all("www-authenticate"), [b"API key is missing or invalid"]);
    for (path, headers, expected) in [
        ("/orders", with_key("my-first-key"), Ok("alice")),
        ("/", with_key("my-first-key"), Ok("alice")),
        ("/orders", with_key("my-third-key"), Err(401)),
        ("/orders", with_key(FIRST), Err(401)),
        // Its time is over.
        ("/orders", with_key("my-old-key"), Err(401)),
        // Of the other policy.
        ("/orders", with_key("my-staff-key"), Err(401)),
        ("/admin/users", with_key("my-first-key"), Err(401)),
        ("/admin/users", Headers::new().with("authorization", "Bearer my-staff-key"), Ok("carol")),
        ("/admin", Headers::new().with("authorization", "Bearer my-first-key"), Err(401)),
        ("/health", Headers::new(), Ok("")),
        ("/health/more", Headers::new(), Err(401)),
    ] {
        assert_eq!(
            alone.ask(path, &headers).as_deref().map_err(|status| *status),
            expected,
            "{path} {headers:?}"
        );
    }
    let (_, arrived) = alone.send("/orders", &with_key("my-first-key"), &Headers::new());
    let arrived = arrived.expect("the upstream is asked").headers;
    assert_eq!(arrived.all("x-team"), [b"blue"]);
    assert!(arrived.first("api-key").is_none(), "the key goes no further");
    // A worker tells its numbers when it has time.
    let counted = wait::until(SOON, "the denial to be counted", || {
        let count = alone.proxy.stat("wasmcustom.keyward.denied.expired")?;
        anyhow::ensure!(count == 1, "{count}");
        Ok(())
    });
    counted.unwrap();
}

#[test]
fn nobody_brings_an_identity_along_and_no_upstream_sends_one_out() {
    let alone = Alone::start(&[]);
    let spoofed = |headers: Headers| {
        ["x-user-id", "X-User-Id", "x_user_id", "x-user_id", "x_user-id", "x-team", "x_team"]
            .into_iter()
            .fold(headers, |headers, name| headers.with(name, "root"))
    };
    for (path, headers, expected) in [
        ("/health", Headers::new(), Ok("")),
        ("/orders", Headers::new(), Err(401)),
        ("/orders", with_key("my-first-key"), Ok("alice")),
        ("/admin/x", Headers::new().with("authorization", "bearer my-staff-key"), Ok("carol")),
    ] {
        let headers = spoofed(headers);
        assert_eq!(alone.ask(path, &headers).as_deref().map_err(|status| *status), expected, "{path}");
        let leaks = Headers::new().with("x-user-id", "alice").with("x-other", "stays");
        let (response, arrived) = alone.send(path, &headers, &leaks);
        assert!(response.headers.first("x-user-id").is_none(), "{path}: {:?}", response.headers);
        if let Some(arrived) = arrived {
            assert!(
                arrived.headers.iter().all(|(_, value)| value != b"root"),
                "{path}: {:?}",
                arrived.headers
            );
            assert_eq!(response.headers.all("x-other"), [b"stays"]);
        }
    }
}

#[test]
fn no_spelling_of_a_path_leads_round_the_key() {
    let alone = Alone::start(&[]);
    for path in
        ["/health/../orders", "/health/%2e%2e/orders", "//orders", "/health%2f..%2forders", "/health/"]
    {
        let (response, arrived) = alone.send(path, &Headers::new(), &Headers::new());
        assert!(arrived.is_none(), "{path}: {arrived:?}");
        assert!(matches!(response.status, 401 | 307), "{path}: {}", response.status);
    }
}

#[test]
fn a_misspelled_name_on_an_open_route_leaves_it_closed() {
    let alone = Alone::start(&[(
        "                            keyward.api_key:",
        "                            keyward.api-key:",
    )]);
    assert_eq!(alone.ask("/health", &Headers::new()), Err(401));
    assert_eq!(alone.ask_with("my-first-key"), Ok("alice".into()));
}

#[test]
fn the_guard_denies_where_the_filter_was_bypassed_or_is_dead() {
    let faulty = paths::faulty_filter_wasm().unwrap().display().to_string();
    let alone = Alone::start(&[("filename: keyward_filter.wasm }", &format!("filename: {faulty} }}"))]);
    assert_eq!(alone.ask_with("my-first-key"), Ok("alice".into()));
    let bypass = Headers::new().with("x-keyward-fault", "bypass").with("x-user-id", "alice");
    assert_eq!(alone.ask("/orders", &bypass), Err(403));
    let trap = with_key("my-first-key").with("x-keyward-fault", "trap");
    assert_eq!(alone.ask("/orders", &trap), Err(503));
}

#[test]
fn envoy_does_not_start_with_mistakes_in_the_configuration_and_says_where() {
    for (word, other, place) in [
        (FIRST, &FIRST[1..], "/keys/0/sha256: must be 64 hexadecimal digits"),
        ("2020-01-01T00:00:00Z", "2020-01-01", "/keys/1/expiresAt: must be a time as in RFC 3339"),
        ("\"defaultPolicy\": \"customers\"", "\"defaultPolicy\": \"none\"", "defaultPolicy: names no policy"),
        ("\"identity\": \"carol\"", "\"user\": \"carol\"", "/keys/2/identity: is missing"),
        ("\"apiVersion\"", "apiVersion", "is not valid at line 2"),
    ] {
        let said = Alone::launch(&[(word, other)]).gives_up();
        assert!(said.contains(place), "{EXAMPLE} with {other}: {said}");
        assert!(!said.contains(&FIRST[1..20]), "a digest is in the log: {said}");
    }
}
