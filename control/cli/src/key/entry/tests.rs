use super::*;
use crate::key::fixture::secret;

#[test]
fn a_key_is_in_the_state_in_which_the_filter_has_it() {
    let now: Timestamp = "2026-06-01T00:00:00Z".parse().unwrap();
    let (before, after) = ("2026-05-31T23:59:59Z", "2026-06-01T00:00:01Z");
    for (entries, state) in [
        (&[][..], KeyState::Active),
        (&[("expires-at", after), ("not-before", before)], KeyState::Active),
        (&[("expires-at", "2026-06-01T00:00:00Z")], KeyState::Expired),
        (&[("not-before", after)], KeyState::NotYetValid),
        (&[("not-before", "2026-06-01T00:00:00Z")], KeyState::Active),
        (&[("disabled", "true"), ("expires-at", before)], KeyState::Disabled),
        (&[("disabled", "perhaps")], KeyState::Unusable),
    ] {
        let all = [&[("api-key", "secret-one")], entries].concat();
        let found = Entry::all_of(&secret(&all), now);
        assert_eq!(found.iter().map(|entry| entry.state).collect::<Vec<_>>(), [state], "{entries:?}");
        assert_eq!(found[0].created, "2026-01-01T00:00:00Z".parse().ok());
    }
}

#[test]
fn both_keys_of_a_rotation_are_listed_by_their_digests() {
    let now: Timestamp = "2026-06-01T00:00:00Z".parse().unwrap();
    let end = "2026-06-02T00:00:00Z";
    let rotated =
        secret(&[("api-key", "b"), ("previous-api-key", "secret-one"), ("previous-expires-at", end)]);
    let found = Entry::all_of(&rotated, now);
    let ids: Vec<_> = found.iter().map(|entry| (entry.key_id.as_deref(), entry.previous)).collect();
    assert_eq!(ids, [(Some("3e23e816"), false), (Some("ea77193c"), true)]);
    assert_eq!((found[1].state, found[1].expires), (KeyState::Active, end.parse().ok()));
    let text = serde_json::to_string(&found).unwrap();
    assert!(!text.contains("secret-one"), "{text}");
}
