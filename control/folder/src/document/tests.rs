use std::fs;

use super::*;

const GROUP: &str = "\
apiVersion: service.keyward.io/v1
kind: UpstreamGroup
metadata: {name: both}
spec: {destinations: [{destination: {upstream: {name: a}}, weight: 1}]}
";

fn upstream(name: &str) -> String {
    format!(
        "apiVersion: gloo.solo.io/v1\nkind: Upstream\nmetadata: {{name: {name}, resourceVersion: \"1\"}}\nspec: \
         {{static: {{hosts: [{{addr: 127.0.0.1, port: 80}}]}}}}\nstatus: {{}}\n"
    )
}

#[test]
fn documents_of_folders_and_texts_come_in_the_order_in_which_they_are_applied() {
    let folder = tempfile::tempdir().expect("a folder");
    let inner = folder.path().join("inner");
    fs::create_dir(&inner).expect("a folder");
    fs::write(folder.path().join("0.yaml"), GROUP).expect("a file");
    fs::write(inner.join("1.yml"), upstream("a")).expect("a file");
    let text = upstream("b");
    let sources =
        [Source::Path(folder.path()), Source::Text { name: "standard input", bytes: text.as_bytes() }];
    let (report, documents) = documents(&sources, "team").expect("documents");
    assert_eq!((report.files, report.problems), (3, Vec::new()));
    let found: Vec<_> =
        documents.iter().map(|it| (it.kind.name, it.namespace.as_str(), it.name.as_str())).collect();
    assert_eq!(
        found,
        [("Upstream", "team", "a"), ("Upstream", "team", "b"), ("UpstreamGroup", "team", "both")]
    );
    assert_eq!(documents[0].file, inner.join("1.yml").display().to_string());
    assert_eq!((documents[1].file.as_str(), documents[1].place.line), ("standard input", 1));
    assert!(documents[0].object.get("status").is_none());
    assert!(documents[0].object["metadata"].get("resourceVersion").is_none());
}

#[test]
fn every_mistake_of_every_source_is_found() {
    let wrong = "apiVersion: v1\nkind: Namespace\nmetadata: {name: A, lables: {}}\n";
    let twice = format!("{}---\n{}", upstream("a"), upstream("a"));
    let sources =
        [("x", wrong), ("y", &twice)].map(|(name, text)| Source::Text { name, bytes: text.as_bytes() });
    let (report, documents) = documents(&sources, "team").expect("documents");
    assert!(documents.is_empty());
    let places: Vec<_> =
        report.problems.iter().map(|problem| (problem.file.as_str(), problem.line)).collect();
    assert_eq!(
        places,
        [("x", Some(3)), ("x", Some(3)), ("x", Some(3)), ("y", Some(7))],
        "{:?}",
        report.problems
    );
}

#[test]
fn json_is_read_from_a_text_too_and_shown_to_nobody() {
    let text = r#" {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "k"}, "stringData": {"a": "s3cret"}}"#;
    let (_, documents) =
        documents(&[Source::Text { name: "-", bytes: text.as_bytes() }], "team").expect("documents");
    assert_eq!(format!("{documents:?}"), "[Document(Kind(\"Secret\") team/k at -:1:2)]");
}

#[test]
fn a_list_by_itself_is_read_as_get_writes_it() {
    let text = r#"[
  {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "a"}}
  ,
  {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "B"}}
]"#;
    for text in [text.to_owned(), text.replace('B', "b")] {
        let source = Source::Text { name: "-", bytes: text.as_bytes() };
        let (report, documents) = documents(&[source], "team").expect("documents");
        let places: Vec<_> = report.problems.iter().map(|problem| (problem.line, problem.column)).collect();
        match documents.len() {
            0 => assert_eq!(places, [(Some(4), Some(55))], "{:?}", report.problems),
            count => assert_eq!((count, places), (2, Vec::new())),
        }
    }
}
