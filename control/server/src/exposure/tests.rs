use clap::Parser;

use super::*;

#[derive(Debug, Parser)]
struct Cli {
    #[command(flatten)]
    args: ServeArgs,
}

/// What is decided, in short.
fn decided(flags: &str, has_tokens: bool, has_pki: bool) -> String {
    let data = tempfile::tempdir().unwrap();
    if has_pki {
        std::fs::create_dir(data.path().join("pki")).unwrap();
        std::fs::write(data.path().join("pki/ca.crt"), "").unwrap();
    }
    let data = data.path().display().to_string();
    let words = ["serve", "--data", &data].into_iter().chain(flags.split_whitespace());
    let args = Cli::try_parse_from(words).unwrap().args;
    match decide(&args, has_tokens) {
        Ok(exposure) => format!(
            "rest {}, {:?}, xds {}{}",
            if exposure.rest.is_some() { "tls" } else { "plain" },
            exposure.rules,
            if exposure.xds.is_some() { "mtls" } else { "plain" },
            if exposure.make_authority { ", makes authority" } else { "" },
        ),
        Err(error) => error.to_string().replace(&data, "DATA"),
    }
}

#[test]
fn on_loopback_nothing_is_needed() {
    assert_eq!(decided("", false, false), "rest plain, OffLoopback, xds plain");
    assert_eq!(
        decided("--rest [::1]:1 --xds 127.1.2.3:1", false, false),
        "rest plain, OffLoopback, xds plain"
    );
    assert_eq!(decided("--require-token", false, false), "rest plain, Everybody, xds plain");
    assert_eq!(decided("--tls", false, false), "rest tls, OffLoopback, xds plain, makes authority");
    assert_eq!(decided("--tls", false, true), "rest tls, OffLoopback, xds plain");
    assert_eq!(decided("--tls-cert a --tls-key b", false, false), "rest tls, OffLoopback, xds plain");
    assert_eq!(decided("--xds-tls", false, true), "rest plain, OffLoopback, xds mtls");
    assert_eq!(decided("--xds-tls --tls", false, false), "rest tls, OffLoopback, xds mtls, makes authority");
}

#[test]
fn off_loopback_rest_needs_tls_and_tokens() {
    for (flags, tokens, says) in [
        (
            "--rest 0.0.0.0:1",
            true,
            "--rest 0.0.0.0:1 is not a loopback address, and this port has no TLS\nhint: say --tls,",
        ),
        (
            "--rest [::]:1",
            true,
            "--rest [::]:1 is not a loopback address, and this port has no TLS\nhint: say --tls,",
        ),
        (
            "--rest 10.0.0.1:1 --require-token",
            true,
            "--rest 10.0.0.1:1 is not a loopback address, and this port has no TLS",
        ),
        (
            "--rest 0.0.0.0:1 --tls",
            false,
            "--rest 0.0.0.0:1 is not a loopback address, and there are no tokens for it\nhint: `keyward token \
             create --role admin --data DATA` makes one",
        ),
    ] {
        let text = decided(flags, tokens, true);
        assert!(text.starts_with(says), "{flags}: {text}");
    }
    assert_eq!(decided("--rest 0.0.0.0:1 --tls", true, true), "rest tls, Everybody, xds plain");
    assert_eq!(
        decided("--rest 0.0.0.0:1 --tls --require-token", true, true),
        "rest tls, Everybody, xds plain"
    );
}

#[test]
fn so_do_the_debugging_ports() {
    for flag in ["--snapshots", "--dev-admin", "--start-stats-server --stats", "--admin"] {
        let name = flag.rsplit(' ').next().unwrap();
        for (more, tokens, missing) in
            [("", true, "this port has no TLS"), (" --tls", false, "there are no tokens")]
        {
            let text = decided(&format!("{flag} 0.0.0.0:1{more}"), tokens, true);
            let says = format!("{name} 0.0.0.0:1 is not a loopback address, and {missing}");
            assert!(text.starts_with(&says), "{text}");
        }
        for flags in [format!("{flag} 0.0.0.0:1 --tls"), format!("{flag} 0.0.0.0:1 --insecure-bind")] {
            assert!(decided(&flags, true, true).starts_with("rest "), "{flags}");
        }
    }
    // A port that is not opened is open to nobody.
    for flags in ["--stats 0.0.0.0:1", "--no-envoy --admin 0.0.0.0:1"] {
        assert!(decided(flags, false, false).starts_with("rest "), "{flags}");
    }
}

#[test]
fn who_needs_a_token_on_them_is_as_with_rest() {
    let rules = |flags: &str| {
        let words = ["serve"].into_iter().chain(flags.split_whitespace());
        let admin = decide(&Cli::try_parse_from(words).unwrap().args, true).unwrap().admin;
        [admin.stats, admin.snapshots, admin.dev_admin, admin.proxy]
    };
    assert_eq!(rules(""), [Rules::OffLoopback; 4]);
    assert_eq!(rules("--require-token"), [Rules::Everybody; 4]);
    assert_eq!(rules("--tls --snapshots 0.0.0.0:1")[1], Rules::Everybody);
    assert_eq!(rules("--insecure-bind --snapshots 0.0.0.0:1")[1], Rules::Nobody);
}

#[test]
fn off_loopback_proxies_need_certificates() {
    let text = decided("--xds 0.0.0.0:1", false, false);
    assert!(
        text.starts_with(
            "--xds 0.0.0.0:1 is not a loopback address, and proxies are known by certificates there, but DATA/pki has \
             none\nhint: `keyward pki init --dir DATA/pki` makes them"
        ),
        "{text}"
    );
    assert!(
        decided("--xds-tls", false, false).starts_with("--xds-tls needs certificates, but DATA/pki has none")
    );
    assert_eq!(decided("--xds 0.0.0.0:1", false, true), "rest plain, OffLoopback, xds mtls");
}

#[test]
fn insecure_bind_opens_what_has_no_protection_and_weakens_none_that_is_asked_for() {
    for (flags, expected) in [
        ("--rest 0.0.0.0:1", "rest plain, Nobody, xds plain"),
        ("--rest 0.0.0.0:1 --require-token", "rest plain, Everybody, xds plain"),
        ("--rest 0.0.0.0:1 --tls", "rest tls, Everybody, xds plain"),
        ("--xds 0.0.0.0:1", "rest plain, OffLoopback, xds plain"),
        ("--xds 0.0.0.0:1 --xds-tls", "rest plain, OffLoopback, xds mtls"),
        ("--admin 0.0.0.0:1", "rest plain, OffLoopback, xds plain"),
    ] {
        assert_eq!(decided(&format!("{flags} --insecure-bind"), false, true), expected, "{flags}");
    }
}

#[test]
fn flags_that_contradict_each_other_are_refused() {
    for flags in ["--tls-cert a", "--tls-key a", "--tls --tls-cert a --tls-key b"] {
        let words = ["serve"].into_iter().chain(flags.split_whitespace());
        assert!(Cli::try_parse_from(words).is_err(), "{flags}");
    }
}
