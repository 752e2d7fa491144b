//! What a snapshot promises.

use super::Snapshot;
use crate::testing::{resource, snapshot, url};

#[test]
fn equal_content_is_an_equal_snapshot_in_any_order() {
    let one = snapshot(&["CDS a=1 b=2", "LDS l=1"]);
    let two = snapshot(&["LDS l=1", "CDS b=2 a=1"]);
    assert_eq!(one, two);
    assert_eq!(one.version(), two.version());
    assert_ne!(one, snapshot(&["CDS a=1 b=3", "LDS l=1"]));
    assert_ne!(one, snapshot(&["CDS a=1 b=2", "LDS m=1"]));
    assert_ne!(
        snapshot(&["CDS a=1"]).type_version(url("CDS")),
        snapshot(&["CDS b=1"]).type_version(url("CDS"))
    );
}

#[test]
fn the_last_of_one_name_counts() {
    let snapshot = snapshot(&["CDS a=1", "CDS a=2"]);
    assert_eq!(snapshot.len(), 1);
    assert_eq!(snapshot.get(url("CDS"), "a").expect("a").body().as_ref(), b"a=2");
}

#[test]
fn an_empty_snapshot_has_a_version_of_no_type() {
    let empty = Snapshot::builder().build();
    assert!(empty.is_empty());
    assert_eq!(empty.len(), 0);
    assert_eq!(&*empty.type_version(url("CDS")), "");
}

#[test]
fn a_version_is_fixed_for_all_time() {
    // The first half of the SHA-256 of eight bytes of length, then the content.
    assert_eq!(&**resource("LDS", "a", "1").version(), "45a2b6003a00abdd90eeb5efec9062b0");
}

#[test]
fn printing_a_resource_keeps_its_content_out() {
    let printed = format!("{:?}", resource("SDS", "s", "hush"));
    assert!(printed.contains("\"s\"") && !printed.contains("hush"), "{printed}");
}
