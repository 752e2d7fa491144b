//! A server over TLS, and contexts that know whom to trust.

use std::process::{Command, Output};
use std::time::Duration;

use anyhow::ensure;
use keyward_integration::paths;
use keyward_integration::stack::{Process, free_address, wait};

const SOON: Duration = Duration::from_secs(20);

#[test]
fn a_context_knows_whom_to_trust_and_sends_its_token_to_nobody_else() {
    let folder = tempfile::tempdir().unwrap();
    let keyward = |words: &[&str]| -> Output {
        let mut command = Command::new(paths::keyward().unwrap());
        command
            .args(words)
            .env("KEYWARD_DATA", folder.path())
            .env("KEYWARD_CONFIG", folder.path().join("c.yaml"));
        command.output().unwrap()
    };
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).trim().to_owned();
    let token = text(&keyward(&["token", "create", "--role", "admin"]).stdout);
    std::fs::write(folder.path().join("token"), &token).unwrap();
    let address = free_address().unwrap();
    let (rest, xds) = (address.to_string(), free_address().unwrap().to_string());
    let mut command = Command::new(paths::keyward().unwrap());
    command.args(["serve", "--no-envoy", "--tls", "--rest", &rest, "--xds", &xds]);
    command.env("KEYWARD_DATA", folder.path()).env_remove("LOG_LEVEL");
    let server = Process::start(&mut command, &folder.path().join("server.log")).unwrap();
    let config = format!(
        "currentContext: right\ncontexts:\n  right: {{server: 'https://{rest}', certificateAuthority: \
         pki/ca.crt, tokenFile: token, namespace: team}}\n  blind: {{server: 'https://{rest}', tokenFile: token}}\n"
    );
    std::fs::write(folder.path().join("c.yaml"), config).unwrap();

    let create = ["create", "secret", "apikey", "ann", "--apikey", "secret-one"];
    let done = wait::until(SOON, "the server to take a key", || {
        let output = keyward(&create);
        ensure!(output.status.success(), "{}\n{}", text(&output.stderr), server.output());
        Ok(output)
    });
    assert_eq!(text(&done.unwrap().stderr), "key ea77193c of team/ann is created");

    // Nobody on this machine vouches for it.
    let output = keyward(&["secret", "apikey", "list", "--context", "blind"]);
    let said = text(&output.stderr);
    assert!(output.status.code() == Some(1) && said.contains("hint: --ca names the certificate"), "{said}");
    // The same server by its URL is no context: what that says does not count.
    let ca = folder.path().join("pki/ca.crt").display().to_string();
    let url = format!("https://{rest}");
    let output = keyward(&["secret", "apikey", "list", "--server", &url, "--ca", &ca]);
    assert!(text(&output.stderr).contains("a token is needed"), "{}", text(&output.stderr));
    // And plain text is not what it speaks.
    let output = keyward(&["proxy", "status", "--server", &format!("http://{rest}"), "--token", &token]);
    assert_eq!(output.status.code(), Some(1));
    assert!(!text(&output.stderr).contains(&token) && !text(&output.stderr).is_empty());
}
