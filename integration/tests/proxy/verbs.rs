//! `keyward proxy`, verb by verb.

use std::process::Command;

use anyhow::ensure;
use keyward_integration::paths;
use keyward_integration::stack::{Proxy, free_address};
use serde_json::Value;

use crate::kit::{KEY, SOON, Site, certificate};

pub(crate) fn each_verb_says_what_it_should(site: &Site) {
    let gateway = site.stack.gateway();
    assert_eq!(site.say(&["proxy", "url"]), format!("http://{gateway}\n"));
    assert_eq!(site.say(&["proxy", "address", "--port", "http"]), format!("{gateway}\n"));
    let secure = site.say(&["proxy", "url", "--port", "https"]);
    assert!(secure.starts_with("https://127.0.0.1:"), "{secure}");

    let served = site.say(&["proxy", "served-config"]);
    let headings: Vec<&str> = served.lines().filter(|line| line.starts_with('#')).collect();
    let expected = [
        "#role: keyward-system~gateway-proxy",
        "#clusters",
        "#eds",
        "#listeners",
        "#rds",
        "#ecds",
        "#secrets",
    ];
    assert_eq!(headings, expected, "{served}");
    assert!(served.contains("name: echo_test") && !served.contains(KEY), "{served}");
    let served: Value = serde_json::from_str(&site.say(&["proxy", "served-config", "-o", "json"])).unwrap();
    assert!(served["listeners"].as_array().is_some_and(|listeners| listeners.len() == 2), "{served}");

    let dump: Value = serde_json::from_str(&site.say(&["proxy", "dump"])).unwrap();
    assert!(dump["configs"].as_array().is_some_and(|configs| configs.len() > 3));
    let with_eds = site.say(&["proxy", "dump", "--include-eds"]);
    assert!(with_eds.contains("EndpointsConfigDump"));

    let stats = site.say(&[
        "proxy",
        "stats",
        "-n",
        "keyward-system",
        "--name",
        "gateway-proxy",
        "--filter",
        "^server\\.l",
    ]);
    assert_eq!(stats, "server.live: 1\n");
    assert!(
        site.say(&["proxy", "stats", "--prometheus", "--filter", "server.live"])
            .contains("envoy_server_live")
    );

    snapshot(site);

    let status = site.say(&["proxy", "status"]);
    let row =
        status.lines().find(|line| line.starts_with("gateway-proxy")).unwrap_or_else(|| panic!("{status}"));
    assert!(status.contains("LISTENERS") && row.contains("SYNCED"), "{status}");
    assert!(row.matches("SYNCED").count() >= 5, "{status}");
    let json: Value = serde_json::from_str(&site.say(&["proxy", "status", "-o", "json"])).unwrap();
    let types = json["proxies"][0]["configurationTypes"].as_array().unwrap();
    assert!(types.iter().any(|it| it["type"] == "listeners" && it["since"].is_string()), "{json}");

    let running: Value = serde_json::from_str(&site.say(&["proxy", "bootstrap"])).unwrap();
    assert_eq!(running["node"]["metadata"]["role"], "keyward-system~gateway-proxy");
    assert!(
        running["admin"]["address"]["pipe"]["path"].as_str().is_some_and(|path| path.ends_with("admin.sock"))
    );
    assert_eq!(running["node"].get("extensions"), None);
    for form in ["json", "yaml"] {
        let made =
            site.say(&["proxy", "bootstrap", "--for", "10.0.0.1:9977", "--name", "edge-1", "-o", form]);
        let path = site.stack.folder().join(format!("edge.{form}"));
        std::fs::write(&path, made).unwrap();
        let mut envoy = Command::new(paths::envoy().unwrap());
        let checked = envoy.args(["--mode", "validate", "--config-path"]).arg(&path).output().unwrap();
        assert!(checked.status.success(), "{}", String::from_utf8_lossy(&checked.stderr));
    }

    let log = site.say(&["proxy", "logs", "--tail", "3"]);
    assert!(log.lines().count() == 3 && log.contains(" ["), "{log}");
    let errors = site.say(&["proxy", "logs", "--errors-only"]);
    assert!(errors.lines().all(|line| line.contains(" error ") || line.contains(" critical ")), "{errors}");
}

fn snapshot(site: &Site) {
    let path = site.say(&["proxy", "snapshot", "--directory", "."]);
    let name = path.trim().strip_prefix("./").unwrap();
    assert!(name.starts_with("keyward-proxy-snapshot-keyward-system-gateway-proxy-20"), "{name}");
    let zip = std::fs::read(site.stack.folder().join(name)).unwrap();
    assert!(zip.starts_with(b"PK\x03\x04"));
    let holds = |text: &str| zip.windows(text.len()).any(|window| window == text.as_bytes());
    for part in ["server_info.json", "config.json", "stats.txt", "clusters.txt", "listeners.txt"] {
        assert!(holds(part), "{part}");
    }
    assert!(!holds(KEY));
}

pub(crate) fn what_differs_is_told(site: &Site) {
    let said = site.soon("the proxy to have everything", || {
        let output = site.command(&["proxy", "diff", "--all"]).output()?;
        let said = String::from_utf8_lossy(&output.stdout).into_owned();
        ensure!(output.status.code() == Some(0), "{said}{}", String::from_utf8_lossy(&output.stderr));
        Ok(said)
    });
    for of in ["listeners", "routes", "extensionConfigs", "clusters", "secrets"] {
        let row = said.lines().find(|line| line.starts_with(of)).unwrap_or_else(|| panic!("no {of}: {said}"));
        assert!(row.contains(" SAME "), "{row}");
    }
    // One of the same role that was never told anything.
    let folder = tempfile::tempdir().unwrap();
    let (admin, nobody) = (free_address().unwrap(), free_address().unwrap());
    let proxy = Proxy::new(admin);
    let _process = proxy.start(folder.path(), "keyward-system~gateway-proxy", nobody).unwrap();
    keyward_integration::stack::wait::until(SOON, "its admin", || proxy.get("/server_info")).unwrap();
    let url = format!("http://{admin}");
    let output = site.command(&["proxy", "diff", "--proxy-admin", &url, "-o", "json"]).output().unwrap();
    assert_eq!(output.status.code(), Some(2), "{}", String::from_utf8_lossy(&output.stderr));
    let differences: Value = serde_json::from_slice(&output.stdout).unwrap();
    let resources = differences["resources"].as_array().unwrap();
    assert!(!resources.is_empty() && resources.iter().all(|it| it["state"] == "Missing"), "{differences}");
}

pub(crate) fn mistakes_say_what_to_do(site: &Site) {
    let nobody = format!("http://{}", free_address().unwrap());
    for (words, code, said) in [
        (&["proxy", "dump", "--proxy-admin", &nobody][..], 1, "nothing listens at"),
        (&["proxy", "dump", "--proxy-admin", "127.0.0.1:19000"], 1, "is not the URL of a server"),
        (
            &["proxy", "stats", "--name", "other"],
            1,
            "is the proxy gateway-proxy of keyward-system, not other",
        ),
        (&["proxy", "stats", "--filter", "("], 1, "400"),
        (&["proxy", "logs", "--name", "other"], 1, "is on the machine where it runs"),
        (&["proxy", "logs", "-f", "--level", "loud"], 2, "invalid value"),
        (&["proxy", "url", "--port", "1"], 1, "has no port 1"),
        (&["proxy", "served-config", "--name", "other"], 1, "nothing is told to proxies of the role"),
        (&["proxy", "bootstrap", "--for", "a b"], 2, "neither an address nor a host name"),
        (&["proxy", "snapshot", "--directory", "/nonexistent"], 1, "could not be written"),
    ] {
        let (got, told) = site.fails(words);
        assert!(got == code && told.contains(said), "{words:?}: {got} {told}");
    }
    assert!(!certificate("web.key").is_empty());
}
