use super::*;

fn made(hosts: &[&str], tls: Option<bool>) -> String {
    let hosts: Vec<String> = hosts.iter().map(|host| (*host).to_owned()).collect();
    match fields(&hosts, tls) {
        Ok(fields) => fields["spec"]["static"].to_string(),
        Err(error) => error.to_string(),
    }
}

#[test]
fn a_host_has_a_port_or_the_usual_one() {
    assert_eq!(made(&["httpbin.org"], None), r#"{"hosts":[{"addr":"httpbin.org","port":80}]}"#);
    let both = r#"{"hosts":[{"addr":"10.0.0.1","port":8080},{"addr":"::1","port":81}]}"#;
    assert_eq!(made(&["10.0.0.1:8080", " [::1]:81"], None), both);
    assert_eq!(made(&["::1"], None), r#"{"hosts":[{"addr":"::1","port":80}]}"#);
}

#[test]
fn tls_is_spoken_on_its_port_unless_somebody_says_otherwise() {
    let host = r#""hosts":[{"addr":"a.example","port":443}]"#;
    assert_eq!(made(&["a.example:443"], None), format!(r#"{{{host},"useTls":true}}"#));
    assert_eq!(made(&["a.example:443"], Some(false)), format!(r#"{{{host},"useTls":false}}"#));
    assert!(made(&["a.example:80"], Some(true)).ends_with(r#""useTls":true}"#));
}

#[test]
fn what_is_no_host_is_refused_in_the_words_of_the_original() {
    for none in [&[][..], &[""], &[" "]] {
        assert!(made(none, None).starts_with("must provide at least 1 host for static upstream\n"));
    }
    for port in ["a:x", "a:0", "a:65536", "a:", "[::1]:x"] {
        assert!(made(&[port], None).starts_with("invalid port on host "), "{}", made(&[port], None));
    }
    for form in ["a:1:2", ":80", "[::1", "http://a:80"] {
        assert!(made(&[form], None).starts_with("invalid host format. "), "{}", made(&[form], None));
    }
}
