use std::io::Write;
use std::sync::{Arc, Mutex};

use tracing_subscriber::fmt::MakeWriter;

use super::*;
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

fn logged(act: impl FnOnce()) -> String {
    let lines = Lines::default();
    let subscriber =
        tracing_subscriber::fmt().with_writer(lines.clone()).with_ansi(false).without_time().finish();
    // With a single subscriber, a line that another test comes to first would be silent for all: only
    // that test's thread would be asked, and it has none.
    let _another = tracing::Dispatch::new(tracing_subscriber::registry());
    tracing::subscriber::with_default(subscriber, act);
    let bytes = lines.0.lock().unwrap().clone();
    String::from_utf8(bytes).unwrap()
}

#[test]
fn a_line_says_who_what_and_from_where() {
    let change = Change {
        who: "token:ci",
        peer: Some("[2001:db8::1]:4711".parse().unwrap()),
        verb: "update",
        kind: "VirtualService",
        namespace: "team",
        name: "site",
        resource_version: 42,
    };
    assert_eq!(
        logged(|| change.log()),
        " INFO keyward::audit: changed who=\"token:ci\" from=\"[2001:db8::1]:4711\" verb=\"update\" \
         kind=\"VirtualService\" namespace=\"team\" name=\"site\" resource_version=42\n"
    );
    let inside = Change { who: "folder", peer: None, ..change };
    assert!(logged(|| inside.log()).contains("who=\"folder\" from=\"inside\""));
}

#[test]
fn a_refusal_is_a_line_too() {
    let attempt = Attempt {
        who: None,
        peer: Some("10.0.0.7:1".parse().unwrap()),
        method: "DELETE",
        path: "/api/v1/namespaces/team/secrets/alice",
        dry_run: false,
        code: 401,
    };
    assert_eq!(
        logged(|| attempt.log()),
        " INFO keyward::audit: not changed who=\"unknown\" from=\"10.0.0.7:1\" method=\"DELETE\" \
         path=\"/api/v1/namespaces/team/secrets/alice\" dry_run=false code=401\n"
    );
}

#[test]
fn a_name_cannot_forge_a_line() {
    let change = Change {
        who: "loopback",
        peer: None,
        verb: "delete",
        kind: "Secret",
        namespace: "a\n INFO keyward::audit: changed",
        name: "x\" code=200 \u{1b}[2J",
        resource_version: 1,
    };
    let line = logged(|| change.log());
    assert_eq!(line.matches('\n').count(), 1, "{line}");
    assert!(!line.contains('\u{1b}') && line.contains(r#"name="x\" code=200"#), "{line}");
}
