use super::*;

#[test]
fn the_environment_says_whether_and_how() {
    let wanted = |pairs: &[(&str, &str)]| {
        is_wanted(|name| pairs.iter().find(|(it, _)| *it == name).map(|(_, value)| (*value).to_owned()))
    };
    let here = ("OTEL_EXPORTER_OTLP_ENDPOINT", "http://127.0.0.1:4318");
    for (pairs, expected) in [
        (vec![], false),
        (vec![("OTEL_EXPORTER_OTLP_ENDPOINT", " ")], false),
        (vec![here], true),
        (vec![("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "http://127.0.0.1:4318/v1/traces")], true),
        (vec![here, ("OTEL_TRACES_EXPORTER", "none")], false),
        (vec![here, ("OTEL_TRACES_EXPORTER", "otlp")], true),
        (vec![here, ("OTEL_SDK_DISABLED", "TRUE")], false),
    ] {
        assert_eq!(wanted(&pairs), expected, "{pairs:?}");
    }
    let grpc = |protocol: Option<&str>| {
        is_grpc(|name| if name == PROTOCOLS[1] { protocol.map(str::to_owned) } else { None })
    };
    assert!(!grpc(None).unwrap() && !grpc(Some("")).unwrap() && !grpc(Some("http/protobuf")).unwrap());
    assert!(grpc(Some("grpc")).unwrap());
    let why = grpc(Some("http/json")).unwrap_err().to_string();
    assert!(why.contains("OTEL_EXPORTER_OTLP_PROTOCOL") && why.contains("hint: traces"), "{why}");
}
