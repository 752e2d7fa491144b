//! What is remembered of a client, and what is not.

use super::Memory;
use crate::testing::{resource, url};

#[test]
fn the_oldest_refusal_makes_room() {
    let mut memory = Memory::new(2);
    for name in ["a", "b", "c"] {
        memory.reject(&resource("LDS", name, "1"), "no".into());
    }
    assert!(memory.rejection(url("LDS"), "a").is_none());
    assert!(memory.is_rejected(&resource("LDS", "b", "1")));
    assert!(memory.is_rejected(&resource("LDS", "c", "1")));
}

#[test]
fn a_refusal_is_about_one_version_of_one_type() {
    let mut memory = Memory::default();
    memory.reject(&resource("LDS", "a", "1"), "no".into());
    assert!(!memory.is_rejected(&resource("LDS", "a", "2")));
    assert!(!memory.is_rejected(&resource("CDS", "a", "1")));
    assert_eq!(memory.rejection(url("LDS"), "a").map(|r| &*r.message), Some("no"));
    memory.accept(&resource("LDS", "a", "2"));
    assert!(memory.rejection(url("LDS"), "a").is_none());
}

#[test]
fn only_a_client_that_held_something_can_have_restarted() {
    let mut memory = Memory::default();
    memory.reject(&resource("LDS", "a", "1"), "no".into());
    assert!(!memory.notice_restart(url("LDS")));
    assert!(memory.is_rejected(&resource("LDS", "a", "1")));
    memory.set_holds(&url("LDS").into(), true);
    assert!(!memory.notice_restart(url("CDS")));
    assert!(memory.notice_restart(url("LDS")));
    assert!(!memory.is_rejected(&resource("LDS", "a", "1")));
    assert!(!memory.notice_restart(url("LDS")));
}
