//! What is asked for.

use clap::Parser;

use super::*;

#[derive(Debug, Parser)]
struct Cli {
    #[command(flatten)]
    args: CheckArgs,
}

fn parse(words: &[&str]) -> Result<CheckArgs, String> {
    let words = std::iter::once("check").chain(words.iter().copied());
    Cli::try_parse_from(words).map(|cli| cli.args).map_err(|error| error.to_string())
}

#[test]
fn whatever_the_original_can_leave_out_can_be_left_out() {
    let words = [
        "deployments",
        "pods",
        "upstreams",
        "upstreamgroup",
        "auth-configs",
        "rate-limit-configs",
        "virtual-host-options",
        "route-options",
        "secrets",
        "virtual-services",
        "gateways",
        "proxies",
        "xds-metrics",
        "kube-gateway-classes",
        "kube-gateways",
        "kube-http-routes",
    ];
    let args = parse(&["--exclude", &words.join(","), "-x", "route-tables"]).expect("they are known");
    let sections: BTreeSet<_> = args.exclude.iter().filter_map(|left_out| left_out.0).collect();
    assert_eq!((args.exclude.len(), sections.len()), (words.len() + 1, SECTIONS.len()));
    let refused = parse(&["-x", "deployment-configs"]).expect_err("nothing is called that");
    assert!(refused.contains("there are deployments, pods,"), "{refused}");
}

#[test]
fn the_form_is_that_of_all_reports() {
    assert_eq!(parse(&["-o", "json"]).map(|args| args.output), Ok(Format::Json));
    assert_eq!(parse(&[]).map(|args| args.output), Ok(Format::Table));
    let refused = parse(&["-o", "xml"]).expect_err("there is no such form");
    assert!(refused.contains("[possible values: table, json, yaml]"), "{refused}");
}

#[test]
fn a_limit_is_a_time() {
    assert_eq!(limit("1500ms"), Ok(Duration::from_millis(1500)));
    assert!(limit("0").is_ok_and(|limit| limit > Duration::from_secs(1_000_000)));
    for text in ["", "soon", "-1s", "12"] {
        assert!(limit(text).is_err(), "{text}");
    }
}
