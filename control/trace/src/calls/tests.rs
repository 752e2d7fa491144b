use super::*;

fn method(name: String) -> Method {
    Method { side: "rest", name: name.into() }
}

#[test]
fn a_call_is_counted_from_its_beginning_to_its_end() {
    let calls = Calls::default();
    let mut one = calls.begin(method("GET a".to_owned()));
    let other = calls.begin(method("GET a".to_owned()));
    one.received(3);
    one.sent(4);
    one.fail();
    drop(one);
    let counts = calls.counts().pop().expect("the method");
    assert_eq!((counts.begun, counts.running, counts.failed), (2, 1, 1));
    assert_eq!((counts.received, counts.sent, counts.latencies.iter().sum::<u64>()), (3, 4, 1));
    drop(other);
    assert_eq!(calls.counts()[0].running, 0);
}

#[test]
fn there_are_only_so_many_methods() {
    let calls = Calls::default();
    for n in 0..2 * MAX_METHODS {
        drop(calls.begin(method(n.to_string())));
    }
    let counts = calls.counts();
    assert_eq!(counts.len(), MAX_METHODS + 1);
    let others = counts.iter().find(|counts| counts.method.name == OTHERS).expect("the others");
    assert_eq!(others.begun, MAX_METHODS as u64);
}
