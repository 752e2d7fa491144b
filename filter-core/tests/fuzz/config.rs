//! The plugin configuration: read whole or refused, and a refusal tells nothing of the content.

use keyward_filter_core::config::FilterConfig;

use crate::engine::Random;

const WHOLE: &str = r#"{"version":7,"role":"n~p","controlCluster":"c","identityHeader":"x-user-id",
"waitForKeysMs":5000,"policies":{"n/a":{"steps":[{"keyHeader":"api-key","table":"t","forwardKey":true}]}}}"#;

pub(crate) fn run(input: &[u8]) {
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
    let whole = WHOLE.as_bytes();
    let (start, end) = (random.below(whole.len()), random.below(whole.len()));
    let (start, end) = (start.min(end), start.max(end));
    let middle = match random.below(3) {
        0 => whole[start..end].repeat(2),
        1 => random.next().to_string().into_bytes(),
        _ => Vec::new(),
    };
    [&whole[..start], &middle, &whole[end..]].concat()
}
