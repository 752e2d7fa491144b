//! A key stream beside the keys that are written.

use anyhow::ensure;
use keyward_integration::headers::Headers;
use keyward_integration::stack::{Options, Stack, wait};
use serde_json::{Value, json};

use crate::kit::{Alone, SOON};

fn apply(stack: &Stack, object: Value) {
    stack.rest().apply(&object).unwrap();
}

fn secret(name: &str, key: &str) -> Value {
    json!({
        "apiVersion": "v1",
        "kind": "Secret",
        "type": "extauth.keyward.io/apikey",
        "metadata": { "namespace": "team", "name": name, "labels": { "team": "a" } },
        "stringData": { "api-key": key },
    })
}

/// A control server whose default gateway demands keys of `team/keys`.
fn control() -> Stack {
    let stack = Stack::start(Options { no_envoy: true, ..Options::default() }).unwrap();
    apply(&stack, secret("dora", "dora-key"));
    apply(
        &stack,
        json!({
            "apiVersion": "enterprise.keyward.io/v1",
            "kind": "AuthConfig",
            "metadata": { "namespace": "team", "name": "keys" },
            "spec": { "configs": [{ "apiKeyAuth": { "labelSelector": { "team": "a" } } }] },
        }),
    );
    apply(
        &stack,
        json!({
            "apiVersion": "gateway.keyward.io/v1",
            "kind": "VirtualService",
            "metadata": { "namespace": "team", "name": "site" },
            "spec": { "virtualHost": {
                "domains": ["site.test"],
                "options": { "extauth": { "configRef": { "namespace": "team", "name": "keys" } } },
                "routes": [{
                    "matchers": [{ "prefix": "/" }],
                    "routeAction": { "single": { "upstream": { "namespace": "test", "name": "echo" } } },
                }],
            } },
        }),
    );
    stack
}

/// Waits until a key is answered so, many times in a row: each worker hears of keys by itself.
fn eventually(alone: &Alone, key: &str, expected: Result<&str, u16>) {
    let got = wait::until(SOON, &format!("{key} to be answered {expected:?}"), || {
        for _ in 0..10 {
            let got = alone.ask_with(key);
            ensure!(got.as_deref().map_err(|status| *status) == expected, "it is answered {got:?}");
        }
        Ok(())
    });
    got.unwrap_or_else(|error| panic!("{error:#}\n{}", alone.process.output()));
}

#[test]
fn where_a_key_stream_is_named_its_keys_take_the_place_of_the_written_ones() {
    let mut stack = control();
    let cluster = format!(
        "  clusters:
    - name: keyward-control
      load_assignment:
        cluster_name: keyward-control
        endpoints:
          - lb_endpoints:
              - endpoint: {{ address: {{ socket_address: {{ address: 127.0.0.1, port_value: {} }} }} }}
      typed_extension_protocol_options:
        envoy.extensions.upstreams.http.v3.HttpProtocolOptions:
          \"@type\": type.googleapis.com/envoy.extensions.upstreams.http.v3.HttpProtocolOptions
          explicit_http_config: {{ http2_protocol_options: {{}} }}
",
        stack.xds().port()
    );
    let stream =
        "\"keyStream\": { \"cluster\": \"keyward-control\", \"role\": \"keyward-system~gateway-proxy\" },
                              \"defaultPolicy\": \"team/keys\"";
    let alone = Alone::start(&[
        ("  clusters:\n", &cluster),
        ("\"defaultPolicy\": \"customers\"", stream),
        ("\"customers\": {", "\"team/keys\": {"),
        ("\"policies\": [\"customers\"]", "\"policies\": [\"team/keys\"]"),
    ]);
    eventually(&alone, "dora-key", Ok("dora"));
    eventually(&alone, "my-first-key", Err(401));
    let staff = Headers::new().with("authorization", "Bearer my-staff-key");
    assert_eq!(alone.ask("/admin", &staff), Ok("carol".into()), "of this policy the server knows nothing");

    apply(&stack, secret("erik", "erik-key"));
    eventually(&alone, "erik-key", Ok("erik"));
    stack.rest().delete("Secret", "team", "dora").unwrap();
    eventually(&alone, "dora-key", Err(401));

    stack.kill_server().unwrap();
    eventually(&alone, "erik-key", Ok("erik"));
    eventually(&alone, "my-first-key", Err(401));
}
