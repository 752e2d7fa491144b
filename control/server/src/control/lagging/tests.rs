use std::sync::Arc;

use keyward_xds::{Protocol, RejectedResource, TypeStatus};

use super::*;

const NODE: &str = "gateway";
const ROLE: &str = "keyward-system~edge";

fn client(source: Source) -> ClientStatus {
    let of_type = TypeStatus {
        type_url: "routes".into(),
        wildcard: true,
        names: 0,
        held: 1,
        sent: Some("1".into()),
        acked: Some("1".into()),
        unanswered: false,
        waiting: false,
        rejected: Vec::new(),
        since: None,
    };
    ClientStatus {
        client: ClientId::new(NODE, ROLE),
        stream: 1,
        protocol: Protocol::Delta,
        since: None,
        agent: None,
        source,
        snapshot: Some("1".into()),
        behind: false,
        resuming: false,
        types: vec![of_type],
    }
}

fn worker(node: &str, role: &str) -> Worker {
    Worker {
        node: node.to_owned(),
        role: role.to_owned(),
        worker: "w".to_owned(),
        build: "b".to_owned(),
        config_version: 1,
        held: Default::default(),
        refused: Default::default(),
        acknowledged_at: None,
        away_since: None,
    }
}

/// Whether its role lags, of which nobody else is there.
fn lags(client: ClientStatus) -> bool {
    let lagging = roles(&[client], [], |_| true);
    assert!(lagging.iter().all(|role| role == ROLE));
    !lagging.is_empty()
}

#[test]
fn a_proxy_that_is_connected_says_so_itself_whatever_it_is_told() {
    for source in [Source::Own, Source::Fallback] {
        assert!(!lags(client(source)));
        let mut waits = client(source);
        waits.types[0].unanswered = true;
        assert!(lags(waits), "{source:?}");
        assert!(lags(ClientStatus { behind: true, ..client(source) }), "{source:?}");
        assert!(lags(ClientStatus { resuming: true, ..client(source) }), "{source:?}");
    }
    assert!(lags(client(Source::Nothing)));
}

#[test]
fn what_stands_in_for_its_role_a_proxy_may_refuse() {
    let refused = |source| {
        let mut client = client(source);
        let name = Arc::from("listener");
        let refused = RejectedResource { name, version: "1".into(), message: "address in use".into() };
        client.types[0].rejected.push(refused);
        client
    };
    assert!(lags(refused(Source::Own)));
    assert!(!lags(refused(Source::Fallback)));
}

#[test]
fn a_proxy_whose_workers_are_here_lags_until_it_is_back() {
    let workers = [worker(NODE, ROLE)];
    let away = |knows: bool| roles(&[], &workers, |_| knows);
    assert_eq!(away(true), BTreeSet::from([ROLE.to_owned()]));
    // The filter by itself.
    assert!(away(false).is_empty());
    assert!(roles(&[client(Source::Own)], &workers, |_| true).is_empty());
    // Somebody else of its role, and it by another role.
    for other in [worker("other", ROLE), worker(NODE, "keyward-system~other")] {
        assert_eq!(roles(&[client(Source::Own)], [&other], |_| true), BTreeSet::from([other.role.clone()]));
    }
}
