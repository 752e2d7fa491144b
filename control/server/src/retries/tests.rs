use super::*;

fn place(node: &str) -> Place {
    Place { node: node.into(), listener: "listener-127.0.0.1-80".into() }
}

fn gateway() -> ObjectKey {
    ObjectKey::new("Gateway", "team", "web")
}

#[test]
fn the_time_between_two_tries_doubles_up_to_five_minutes() {
    let (mut retries, mut now, mut waited) = (Retries::default(), Instant::now(), Vec::new());
    for _ in 0..9 {
        let delay = retries.refused(place("a"), vec![gateway()], now).expect("it waits anew");
        assert_eq!(retries.next(), Some(now + delay));
        assert_eq!(retries.due(now + delay - Duration::from_millis(1)), []);
        now += delay;
        assert_eq!(retries.due(now), [(place("a"), vec![gateway()])]);
        assert_eq!(retries.next(), None);
        waited.push(delay.as_secs());
    }
    assert_eq!(waited, [5, 10, 20, 40, 80, 160, 300, 300, 300]);
}

#[test]
fn a_refusal_is_no_new_one_while_it_waits() {
    let (mut retries, now) = (Retries::default(), Instant::now());
    assert_eq!(retries.refused(place("a"), Vec::new(), now), Some(FIRST));
    let other = ObjectKey::new("Gateway", "team", "other");
    assert_eq!(retries.refused(place("a"), vec![other.clone()], now + FIRST / 2), None);
    assert_eq!(retries.due(now + FIRST), [(place("a"), vec![other])]);
}

#[test]
fn who_takes_it_starts_afresh() {
    let (mut retries, now) = (Retries::default(), Instant::now());
    retries.refused(place("a"), vec![gateway()], now);
    retries.due(now + FIRST);
    assert_eq!(retries.accepted(&place("a")), [gateway()]);
    assert_eq!(retries.accepted(&place("a")), []);
    assert_eq!(retries.refused(place("a"), vec![gateway()], now), Some(FIRST));
}

#[test]
fn of_a_proxy_that_is_gone_nothing_stays_on_trial() {
    let (mut retries, now) = (Retries::default(), Instant::now());
    retries.refused(place("a"), vec![gateway()], now);
    assert_eq!(retries.gone("a"), []);
    assert_eq!(retries.due(now + FIRST).len(), 1);
    assert_eq!(retries.gone("b"), []);
    assert_eq!(retries.gone("a"), [gateway()]);
    assert_eq!(retries.next(), None);
}

#[test]
fn only_the_listener_that_could_not_be_bound_is_meant() {
    let words = "Error adding/updating listener(s) one: cannot bind '127.0.0.1:1': Address already in use\n\
                 two: no such filter";
    assert!(is_about_binding(words, "one"));
    assert!(!is_about_binding(words, "two"));
    assert!(!is_about_binding("two: no such filter", "two"));
}
