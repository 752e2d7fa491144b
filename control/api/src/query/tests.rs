//! Tests of queries.

use super::*;

#[test]
fn a_query_says_what_is_wanted() {
    let query = "labelSelector=team%20in+%28a%2Cb%29&limit=10&watch=1&timeoutSeconds=5&resourceVersion=7\
                 &allowWatchBookmarks=true&fieldManager=me&dryRun=All&dryRun=All&pretty=true";
    let query = Query::parse(Some(query)).expect("a good query");
    assert_eq!((query.limit, query.watch, query.timeout_seconds), (Some(10), true, Some(5)));
    assert_eq!((query.version, query.bookmarks, query.dry_run), (Version::At(Revision(7)), true, true));
    assert_eq!(query.field_manager.as_deref(), Some("me"));
    assert!(query.label_selector.matches([("team", "b")]));
    assert!(!query.label_selector.matches([("team", "c")]));
    assert_eq!(Query::parse(None).expect("none"), Query::default());
    assert_eq!(Query::parse(Some("limit=0&resourceVersion=&watch=false")).expect("zero"), Query::default());
}

#[test]
fn what_would_not_be_done_as_asked_is_refused() {
    for query in [
        "labelselector=a%3Db",
        "label=a",
        "dryRun=Server",
        "limit=-1",
        "limit=many",
        "watch=maybe",
        "resourceVersion=x",
        "resourceVersionMatch=Exact",
        "resourceVersionMatch=Exact&resourceVersion=0",
        "resourceVersionMatch=Newer&resourceVersion=1",
        "watch=true&sendInitialEvents=true",
        "watch=true&resourceVersionMatch=NotOlderThan&resourceVersion=1",
        "sendInitialEvents=true&resourceVersionMatch=NotOlderThan&resourceVersion=1",
        "continue=x&resourceVersion=3",
        "fieldSelector=spec.x%3D1",
        "labelSelector=%3D%3D",
        "fieldValidation=Maybe",
        "fieldManager=%07",
        "labelSelector=%ff",
    ] {
        let refused = Query::parse(Some(query)).expect_err(query);
        assert_eq!(refused.code, 400, "{query}: {}", refused.message);
    }
}
