//! The plugin configuration: read whole or refused, and a refusal tells nothing of the content. The one
//! that people write is read with all its mistakes, so there it is only read.

use keyward_filter_core::config::FilterConfig;

use crate::engine::Random;

const WHOLE: &str = r#"{"version":7,"role":"n~p","controlCluster":"c","identityHeader":"x-user-id",
"waitForKeysMs":5000,"policies":{"n/a":{"steps":[{"keyHeader":"api-key","table":"t","forwardKey":true}]}}}"#;

const STANDALONE: &str = r#"{"apiVersion":"filter.keyward.io/v1","identityHeader":"x-id","policies":{"a":
{"headerName":"x-key","headersFromMetadata":{"x-team":{"name":"team"}}},"b":{"keySource":{"headers":[{"header":
"authorization","prefix":"Bearer"}],"cookies":["k"]},"anonymous":true}},"defaultPolicy":"a","routes":[{"prefix":"b/",
"policy":"b"},{"name":"c","open":true}],"keys":[{"sha256":
"77bec718f94d92fae8721a66ec076661d8a9355a1d42ffe995c5f5baadb06d15","identity":"alice","expiresAt":
"2030-01-31T12:00:00+01:00","metadata":{"team":"\u0062lue"},"policies":["a"]}],"keyStream":{"cluster":"c","role":"r",
"waitForKeysMs":5e3}}"#;

pub(crate) fn run(input: &[u8]) {
    if let Ok(config) = FilterConfig::read(input)
        && let Some(standalone) = &config.standalone
    {
        assert!(standalone.own_headers().next().is_some());
    }
    match FilterConfig::from_json(input) {
        Ok(config) => {
            let again = serde_json::to_vec(&config).expect("a configuration can be written");
            assert_eq!(FilterConfig::from_json(&again).expect("and read again"), config);
        }
        Err(error) => {
            let text = error.to_string().replace(|character: char| character.is_ascii_digit(), "");
            assert!(
                text == "the plugin configuration is not valid at line  column "
                    || text == "the name of the control cluster is empty or longer than  bytes",
                "{text}"
            );
        }
    }
}

/// The whole one with a part of it doubled, taken out or replaced by a number.
pub(crate) fn generate(random: &mut Random) -> Vec<u8> {
    let whole = if random.below(2) == 0 { WHOLE } else { STANDALONE }.as_bytes();
    let (start, end) = (random.below(whole.len()), random.below(whole.len()));
    let (start, end) = (start.min(end), start.max(end));
    let middle = match random.below(3) {
        0 => whole[start..end].repeat(2),
        1 => random.next().to_string().into_bytes(),
        _ => Vec::new(),
    };
    [&whole[..start], &middle, &whole[end..]].concat()
}
