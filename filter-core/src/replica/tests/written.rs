//! Keys that are written in a configuration, and what becomes of them once the server has spoken.

use sha2::{Digest as _, Sha256};

use super::*;
use crate::config::FilterConfig;
use crate::standalone::Seen;

#[test]
fn what_the_server_took_away_is_not_given_back_by_what_is_written() {
    let digest = crate::key::digest(b"k1");
    let hex: String = Sha256::digest(b"k1").iter().map(|byte| format!("{byte:02x}")).collect();
    let config = |stream: &str| {
        let text = format!(
            "{{\"apiVersion\": \"filter.keyward.io/v1\", \"policies\": {{\"t\": {{}}, \"u\": {{}}}}, \"defaultPolicy\": \"t\", {stream} \
             \"keys\": [{{\"sha256\": \"{hex}\", \"identity\": \"written\"}}]}}"
        );
        FilterConfig::read(text.as_bytes()).expect("a configuration")
    };
    let streamed = config("\"keyStream\": {\"cluster\": \"c\", \"role\": \"r\"},");
    let whose = |replica: &Replica, config: &FilterConfig, table: &str| {
        let seen = Seen::new(replica, config);
        let table = seen.table(table)?;
        Some(table.get(&digest).map(|record| String::from_utf8_lossy(record.identity()).into_owned()))
    };
    let written = || Some(Some("written".to_owned()));

    let mut replica = Replica::new();
    replica.watch(&streamed);
    assert_eq!(whose(&replica, &streamed, "t"), written(), "nobody has said anything yet");
    tell_all(&mut replica, &three().snapshot("t", 2));
    assert_eq!(whose(&replica, &streamed, "t"), Some(Some("ann".to_owned())));
    let mut revoked = FakeTable { revision: 6, ..three() };
    revoked.entries.remove(&digest);
    tell(&mut replica, &three().delta("t", &revoked));
    assert_eq!(whose(&replica, &streamed, "t"), Some(None), "it is revoked");
    assert_eq!(tell(&mut replica, &drop_table("t")), "dropped");
    assert_eq!(whose(&replica, &streamed, "t"), None, "it stays so, and requests wait");
    assert_eq!(whose(&replica, &streamed, "u"), written(), "of this one the server has said nothing");
    assert_eq!(whose(&replica, &config(""), "t"), written(), "without a stream nobody else says anything");
}
