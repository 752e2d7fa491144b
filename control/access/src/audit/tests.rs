use std::io::Write;
use std::sync::{Arc, Mutex};

use tracing_subscriber::fmt::MakeWriter;

use super::*;
use crate::book::TokenName;
use crate::role::Role;

#[derive(Clone, Default)]
struct Lines(Arc<Mutex<Vec<u8>>>);

impl Write for Lines {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.lock().unwrap().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

impl<'a> MakeWriter<'a> for Lines {
    type Writer = Self;

    fn make_writer(&'a self) -> Self {
        self.clone()
    }
}

fn logged(change: &Change<'_>) -> String {
    let lines = Lines::default();
    let subscriber =
        tracing_subscriber::fmt().with_writer(lines.clone()).with_ansi(false).without_time().finish();
    tracing::subscriber::with_default(subscriber, || change.log());
    let bytes = lines.0.lock().unwrap().clone();
    String::from_utf8(bytes).unwrap()
}

#[test]
fn a_line_says_who_what_from_where_and_what_came_of_it() {
    let identity =
        Identity::Token { name: TokenName::new("ci").unwrap(), role: Role::Editor, namespaces: Vec::new() };
    let change = Change {
        who: Some(&identity),
        peer: "[2001:db8::1]:4711".parse().unwrap(),
        verb: Verb::Update,
        kind: "virtualservices.gateway.keyward.io",
        namespace: "team",
        name: "site",
        resource_version: "42",
        dry_run: false,
        code: 200,
        reason: "",
    };
    assert_eq!(
        logged(&change),
        " INFO keyward::audit: changed who=\"token:ci\" from=\"[2001:db8::1]:4711\" verb=\"update\" \
         kind=\"virtualservices.gateway.keyward.io\" namespace=\"team\" name=\"site\" \
         resource_version=\"42\" dry_run=false code=200 reason=\"\"\n"
    );
    let refused = Change { who: None, code: 401, reason: "Unauthorized", ..change };
    let line = logged(&refused);
    assert!(line.contains("not changed who=\"unknown\"") && line.contains("code=401"), "{line}");
}

#[test]
fn a_name_cannot_forge_a_line() {
    let change = Change {
        who: Some(&Identity::Loopback),
        peer: "127.0.0.1:1".parse().unwrap(),
        verb: Verb::Delete,
        kind: "secrets",
        namespace: "a\n INFO keyward::audit: changed",
        name: "x\" code=200 \u{1b}[2J",
        resource_version: "",
        dry_run: true,
        code: 404,
        reason: "NotFound",
    };
    let line = logged(&change);
    assert_eq!(line.matches('\n').count(), 1, "{line}");
    assert!(!line.contains('\u{1b}') && line.contains(r#"name="x\" code=200"#), "{line}");
}
