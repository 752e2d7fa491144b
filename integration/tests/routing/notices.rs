//! What is declared wrongly is noticed: a harness that takes everything would prove nothing.

use std::path::Path;

use keyward_integration::routing::{Bench, Case};

const OBJECTS: &str = r#"
apiVersion: service.keyward.io/v1
kind: Upstream
metadata: {name: one}
spec: {static: {hosts: [{addr: 10.0.0.1, port: 80}]}}
---
apiVersion: service.keyward.io/v1
kind: Upstream
metadata: {name: two}
spec: {static: {hosts: [{addr: 10.0.0.2, port: 80}]}}
---
apiVersion: gateway.keyward.io/v1
kind: VirtualService
metadata: {name: all}
spec:
  virtualHost:
    routes:
    - matchers: [{prefix: /closed}]
      directResponseAction: {status: 403}
    - routeAction: {single: {upstream: {name: one}}}
      options: {retries: {retryOn: 5xx, numRetries: 1}}
"#;

/// Each is wrong in one respect.
const WRONG: &[&str] = &[
    "{expect: {status: 201}}",
    "{expect: {body: other}}",
    "{expect: {headers: {x-test-host: null}}}",
    "{expect: {headers: {x-missing: there}}}",
    "{expect: {upstream: '10.0.0.2:80'}}",
    "{expect: {upstream: null}}",
    "{request: {path: /closed}, expect: {upstream: '10.0.0.1:80'}}",
    "{request: {path: /closed}, expect: {seen: {path: /closed}}}",
    "{request: {path: /a}, expect: {seen: {path: /b}}}",
    "{expect: {seen: {host: example.org}}}",
    "{expect: {seen: {headers: {x-forwarded-proto: https}}}}",
    "{request: {body: text}, expect: {seen: {body: ''}}}",
    "{expect: {seen: {http: 2}}}",
    "{expect: {seen: {sni: example.com}}}",
    "{answer: {status: 500, times: 1}, expect: {attempts: 1}}",
    "{expect: {shadow: ['10.0.0.2:80']}}",
    "{expect: {error: connect}}",
    "{request: {tls: {}}, expect: {status: 200}}",
    "{expect: {certificate: web}}",
    "{expect: {at_least_ms: 5000}}",
    "{repeat: 4, expect: {shares: {'10.0.0.1:80': 2, '10.0.0.2:80': 2}, tolerance: 1}}",
    "{repeat: 4, expect: {shares: {'10.0.0.2:80': 0}}}",
    "{repeat: 4, expect: {statuses: {'503': 4}}}",
    "{request: {path: /closed}, repeat: 2, expect: {same_upstream: true}}",
    "{request: {gateway: other}, expect: {}}",
    "{request: {proxy: other}, expect: {}}",
];

fn case(folder: &Path, objects: &str, requests: &str) -> anyhow::Result<Case> {
    std::fs::write(folder.join("in.yaml"), objects)?;
    std::fs::write(folder.join("requests.yaml"), requests)?;
    Case::read(folder)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_wrong_declaration_is_noticed() {
    let folder = tempfile::tempdir().unwrap();
    let mut requests = String::from("requests:\n");
    for (number, wrong) in WRONG.iter().enumerate() {
        requests
            .push_str(&format!("- {}\n", wrong.replacen('{', &format!("{{name: 'number {number};', "), 1)));
    }
    let case = case(folder.path(), OBJECTS, &requests).unwrap();
    let noticed = Bench::start().await.unwrap().run(&case).await;
    for (number, wrong) in WRONG.iter().enumerate() {
        let name = format!("number {number};");
        assert!(noticed.iter().any(|one| one.contains(&name)), "{wrong} was taken\n{}", noticed.join("\n"));
    }
    assert_eq!(noticed.len(), WRONG.len(), "{}", noticed.join("\n"));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_refusal_is_noticed_and_does_not_spoil_the_next_case() {
    let folder = tempfile::tempdir().unwrap();
    let files = r#"
apiVersion: gateway.keyward.io/v1
kind: Gateway
metadata: {name: tls}
spec: {bindAddress: 127.0.0.1, bindPort: 8443, ssl: true, httpGateway: {}}
---
apiVersion: gateway.keyward.io/v1
kind: VirtualService
metadata: {name: site}
spec:
  sslConfig: {sslFiles: {tlsCert: /testdata/nowhere/tls.crt, tlsKey: /testdata/nowhere/tls.key}}
  virtualHost: {routes: [{directResponseAction: {status: 200}}]}
"#;
    let ask = "requests: [{name: any, request: {tls: {}}, expect: {status: 200}}]";
    let mut bench = Bench::start().await.unwrap();
    let refused = bench.run(&case(folder.path(), files, ask).unwrap()).await;
    assert_eq!(refused.len(), 1, "{refused:?}");
    assert!(refused[0].contains("envoy refused Secret"), "{refused:?}");

    let declared = format!("hosts: {{'10.0.0.9:80': {{down: true}}}}\nrefused: {{Cluster one: any}}\n{ask}");
    let others = bench.run(&case(folder.path(), OBJECTS, &declared).unwrap()).await;
    assert!(others.iter().any(|one| one.contains("envoy took Cluster one")), "{others:?}");
    assert!(others.iter().any(|one| one.contains("no upstream has the host 10.0.0.9:80")), "{others:?}");

    let right = case(folder.path(), OBJECTS, "requests: [{name: any, expect: {status: 200}}]").unwrap();
    assert_eq!(bench.run(&right).await, Vec::<String>::new());
}

#[test]
fn a_case_that_asks_nothing_says_why() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("in.yaml"), OBJECTS).unwrap();
    assert!(Case::read(folder.path()).is_err());
    std::fs::write(folder.path().join("no-requests.txt"), "Nobody may ask.\n").unwrap();
    assert!(Case::read(folder.path()).is_ok());
    assert!(case(folder.path(), OBJECTS, "requests: [{name: any, expect: {}}]").is_err(), "both");
    std::fs::remove_file(folder.path().join("no-requests.txt")).unwrap();
    assert!(case(folder.path(), OBJECTS, "requests: []").is_err(), "nothing is asked");
    assert!(
        case(folder.path(), OBJECTS, "requests: [{name: any, expects: {}}]").is_err(),
        "a misspelled field"
    );
}
