use super::*;

fn options(control: &str, certificates: Option<&str>) -> BootstrapOptions {
    BootstrapOptions {
        node_id: "edge-1".to_owned(),
        role: "keyward-system~edge-1".to_owned(),
        control: Endpoint::parse(control, 9977).unwrap(),
        admin: Admin::Port("127.0.0.1:19000".parse().unwrap()),
        certificates: certificates.map(str::to_owned),
    }
}

#[test]
fn an_endpoint_is_an_address_or_a_name() {
    for (text, host, port) in [
        ("10.0.0.1", "10.0.0.1", 9977),
        ("10.0.0.1:1", "10.0.0.1", 1),
        ("[2001:db8::1]:443", "2001:db8::1", 443),
        ("[::1]", "::1", 9977),
        ("::1", "::1", 9977),
        ("control.example", "control.example", 9977),
        ("control.example.:8443", "control.example.", 8443),
        ("localhost:80", "localhost", 80),
    ] {
        let expected = Endpoint { host: host.to_owned(), port };
        assert_eq!(Endpoint::parse(text, 9977), Ok(expected), "{text:?}");
    }
    for text in ["", ":1", "a b", "a:", "a:x", "a:70000", "https://a", "a..b", "-\n", "[a]:1"] {
        assert!(Endpoint::parse(text, 9977).is_err(), "{text:?}");
    }
}

#[test]
fn the_admin_is_on_a_port_or_on_a_socket_of_its_owner() {
    let on_port = bootstrap(&options("10.0.0.1", None));
    assert_eq!(on_port["admin"]["address"]["socket_address"]["port_value"], 19000);
    let admin = Admin::Socket("/x/admin.sock".to_owned());
    let on_socket = bootstrap(&BootstrapOptions { admin, ..options("10.0.0.1", None) });
    assert_eq!(on_socket["admin"]["address"], json!({ "pipe": { "path": "/x/admin.sock", "mode": 384 } }));
}

#[test]
fn without_certificates_there_is_no_tls_and_with_them_there_is_no_way_around_it() {
    let plain = bootstrap(&options("10.0.0.1", None));
    let cluster = &plain["static_resources"]["clusters"][0];
    assert_eq!((cluster["type"].as_str(), cluster.get("transport_socket")), (Some("STATIC"), None));

    let secured = bootstrap(&options("control.example", Some("/etc/envoy/keyward/")));
    let cluster = &secured["static_resources"]["clusters"][0];
    assert_eq!(cluster["type"], "STRICT_DNS");
    let tls = &cluster["transport_socket"]["typed_config"]["common_tls_context"];
    for (pointer, expected) in [
        ("/tls_certificate_sds_secret_configs/0/sds_config/path_config_source/path", "identity.sds.json"),
        ("/validation_context_sds_secret_config/sds_config/path_config_source/path", "trust.sds.json"),
    ] {
        assert_eq!(tls.pointer(pointer).unwrap(), &json!(format!("/etc/envoy/keyward/{expected}")));
    }
    assert_eq!(tls["tls_params"]["tls_minimum_protocol_version"], "TLSv1_3");
}

#[test]
fn regular_expressions_may_be_as_large_as_validation_takes_them() {
    let made = bootstrap(&options("10.0.0.1", None));
    let size = &made["layered_runtime"]["layers"][0]["static_layer"]["re2.max_program_size.error_level"];
    assert_eq!(size, keyward_resource::MAX_REGEX_PROGRAM_SIZE);
}

#[test]
fn decisions_of_the_filter_and_listeners_have_labels() {
    let made = bootstrap(&options("10.0.0.1", None));
    let tags = made["stats_config"]["stats_tags"].as_array().unwrap();
    let tags: Vec<_> = tags.iter().map(|tag| (tag["tag_name"].as_str(), tag["regex"].as_str())).collect();
    let expected = [
        (Some("listener"), Some(r"^http\.((listener-.+?-[0-9]+)\.)")),
        (Some("auth_config"), Some(r"^wasmcustom\.keyward\.decisions(\.(.+))\|[a-z_]+$")),
        (Some("reason"), Some(r"^wasmcustom\.keyward\.decisions\..+(\|([a-z_]+))$")),
    ];
    assert_eq!(tags, expected);
}

#[test]
fn the_secrets_name_files_and_hold_nothing_secret() {
    let identity = &identity_secret("/x")["resources"][0]["tls_certificate"];
    // One file: Envoy must not see a new certificate with an old key.
    assert_eq!(identity["certificate_chain"], json!({ "filename": "/x/identity.pem" }));
    assert_eq!(identity["certificate_chain"], identity["private_key"]);
    assert_eq!(identity["watched_directory"]["path"], "/x");
    let trust = &trust_secret("/x")["resources"][0]["validation_context"];
    assert_eq!(trust["trusted_ca"]["filename"], "/x/ca.crt");
    assert_eq!(trust["match_typed_subject_alt_names"][0]["matcher"]["exact"], CONTROL_URI);
}
