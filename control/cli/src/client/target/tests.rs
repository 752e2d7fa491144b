use super::*;

const FILE: &str = "
currentContext: local
contexts:
  local: {server: 'http://127.0.0.1:1/'}
  far:
    server: https://far.example:9080
    token: kwt_far
    certificateAuthority: far.crt
    namespace: team
";

fn environment(folder: &Path) -> Environment {
    let file = folder.join("config.yaml");
    std::fs::write(&file, FILE).unwrap();
    Environment { usual_config: Some(file), ..Environment::default() }
}

fn token(text: &str) -> Option<Token> {
    Some(Token(text.to_owned()))
}

#[test]
fn what_is_said_closest_wins() {
    let folder = tempfile::tempdir().unwrap();
    let plain = environment(folder.path());
    let args = |server: Option<&str>, context: Option<&str>| ServerArgs {
        server: server.map(str::to_owned),
        context: context.map(str::to_owned),
        ..ServerArgs::default()
    };
    let env = |server: Option<&str>, context: Option<&str>| Environment {
        server: server.map(str::to_owned),
        context: context.map(str::to_owned),
        ..plain.clone()
    };
    for (args, env, expected) in [
        (args(None, None), Environment::default(), USUAL_SERVER),
        (args(None, None), plain.clone(), "http://127.0.0.1:1"),
        (args(None, None), env(None, Some("far")), "https://far.example:9080"),
        (args(None, None), env(Some("http://a"), Some("far")), "http://a"),
        (args(None, Some("far")), env(Some("http://a"), None), "https://far.example:9080"),
        (args(Some("http://b:2"), None), env(Some("http://a"), Some("far")), "http://b:2"),
    ] {
        assert_eq!(args.target(&env).unwrap().server, expected, "{args:?} {env:?}");
    }
}

#[test]
fn what_a_context_says_is_for_its_server_alone() {
    let folder = tempfile::tempdir().unwrap();
    let environment = environment(folder.path());
    let far = ServerArgs { context: Some("far".to_owned()), ..ServerArgs::default() };
    let target = far.target(&environment).unwrap();
    assert_eq!((target.token, target.namespace.as_str()), (token("kwt_far"), "team"));
    assert_eq!(target.ca, Some(folder.path().join("far.crt")));
    let other = ServerArgs { server: Some("https://other.example".to_owned()), ..ServerArgs::default() };
    let environment = Environment { context: Some("far".to_owned()), ..environment };
    let target = other.target(&environment).unwrap();
    assert_eq!((target.token, target.ca, target.namespace.as_str()), (None, None, USUAL_NAMESPACE));
}

#[test]
fn no_token_goes_out_in_plain_text() {
    let env = Environment { token: token("kwt_secret"), ..Environment::default() };
    for (server, goes) in [
        ("http://127.0.0.1:9080", true),
        ("http://localhost", true),
        ("http://[::1]:9080", true),
        ("https://far.example", true),
        ("http://far.example", false),
        ("http://localhost.example", false),
    ] {
        let args = ServerArgs { server: Some(server.to_owned()), ..ServerArgs::default() };
        let outcome = args.target(&env);
        assert_eq!(outcome.is_ok(), goes, "{server}: {outcome:?}");
        assert!(!format!("{outcome:?}").contains("kwt_secret"));
    }
}

#[test]
fn mistakes_are_told_and_no_token_with_them() {
    let folder = tempfile::tempdir().unwrap();
    let environment = environment(folder.path());
    let said = |args: ServerArgs, env: &Environment| args.target(env).unwrap_err().to_string();
    for url in ["127.0.0.1:9080", "ftp://a", "http://a?b", "http://me:pw@a", "http://"] {
        let args = ServerArgs { server: Some(url.to_owned()), ..ServerArgs::default() };
        assert!(said(args, &environment).contains("hint: write http://HOST:PORT"), "{url}");
    }
    let nowhere = ServerArgs { context: Some("nowhere".to_owned()), ..ServerArgs::default() };
    assert!(said(nowhere, &environment).ends_with("hint: it has far, local"));
    let file = folder.path().join("broken.yaml");
    for text in
        ["contexts: {a: {server: b, token: [kwt_x]}}", "contexts: {a: {server: b, tokn: kwt_x}}", "a: ["]
    {
        std::fs::write(&file, text).unwrap();
        let args = ServerArgs { config: Some(file.clone()), ..ServerArgs::default() };
        let said = said(args, &environment);
        assert!(said.contains("broken.yaml cannot be read") && !said.contains("kwt_x"), "{said}");
    }
    let missing = ServerArgs { config: Some(folder.path().join("none")), ..ServerArgs::default() };
    assert!(said(missing, &environment).contains("cannot be read"));
}

#[test]
fn a_token_is_for_the_host_of_its_server() {
    let target = |server: &str| Target {
        server: server.to_owned(),
        token: Some(Token("kwt_x".to_owned())),
        ca: None,
        namespace: "a".to_owned(),
    };
    let local = target("http://127.0.0.1:9080");
    assert!(
        local
            .beside("http://127.0.0.1:19000/")
            .is_ok_and(|it| it.token.is_some() && it.server.ends_with("19000"))
    );
    assert!(local.beside("http://10.0.0.5:19000").is_ok_and(|it| it.token.is_none()));
    let far = target("https://control.example:9080");
    assert!(far.beside("https://Control.example:19000").is_ok_and(|it| it.token.is_some()));
    assert!(matches!(far.beside("http://control.example:19000"), Err(ClientError::PlainToken { .. })));
    assert!(matches!(far.beside("control.example:19000"), Err(ClientError::Url { .. })));
}
