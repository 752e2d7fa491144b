use keyward_resource::Format;

use super::*;
use crate::manifest::{NAMESPACE, read};

fn upstream(name: &str) -> String {
    format!(
        "apiVersion: service.keyward.io/v1\nkind: Upstream\nmetadata:\n  name: {name}\nspec:\n  static:\n    \
         hosts:\n    - {{addr: 127.0.0.1, port: 80}}\n"
    )
}

fn key(name: &str) -> Key {
    Key::new("Upstream", "default", name)
}

fn files(texts: &[(&str, String)]) -> Files {
    let read = |(path, text): &(&str, String)| {
        ((*path).to_owned(), Arc::new(read(path, text.as_bytes(), Format::Yaml, NAMESPACE)))
    };
    texts.iter().map(read).collect()
}

fn known(objects: &[(&str, &str)]) -> Known {
    let files = objects.iter().map(|(name, file)| (key(name), (*file).to_owned())).collect();
    Known { files, ..Known::default() }
}

fn applied(plan: &Plan) -> Vec<(String, String)> {
    plan.apply.iter().map(|wanted| (wanted.manifest.key.name.clone(), wanted.file.clone())).collect()
}

fn pair(name: &str, file: &str) -> (String, String) {
    (name.to_owned(), file.to_owned())
}

const BROKEN: &str = "kind: [";

#[test]
fn of_a_folder_without_any_object_nothing_goes_unless_it_may_be_empty() {
    let start = Instant::now();
    let others = files(&[("d.yaml", BROKEN.to_owned()), ("e.yaml", "# nothing".to_owned())]);
    for files in [files(&[]), others] {
        let mut known = known(&[("a", "a.yaml"), ("b", "b.yaml")]);
        for at in [start, start + GRACE] {
            let plan = plan(&files, &mut known, at);
            assert_eq!((plan.remove, plan.kept), (vec![], 2));
        }
        // Nor as soon as there is one object again: the others have been missing for no time then.
        let one = self::files(&[("c.yaml", upstream("c"))]);
        let back = plan(&one, &mut known, start + GRACE);
        assert_eq!((back.remove, back.kept), (vec![], 0));

        known.may_be_empty = true;
        plan(&files, &mut known, start + GRACE);
        let plan = plan(&files, &mut known, start + GRACE * 2);
        assert_eq!((plan.remove, plan.kept), (vec![key("a"), key("b")], 0));
    }
}

#[test]
fn of_two_files_with_one_object_the_first_wins() {
    let both = format!("{}---\n{}", upstream("other"), upstream("one"));
    let files = files(&[("b.yaml", both), ("a.yaml", upstream("one"))]);
    let plan = plan(&files, &mut Known::default(), Instant::now());
    assert_eq!(applied(&plan), [pair("one", "a.yaml"), pair("other", "b.yaml")]);
    let told: Vec<_> = plan.problems.iter().map(ToString::to_string).collect();
    assert_eq!(told.len(), 1);
    assert!(
        told[0].contains("stands in a.yaml:1:1 already") && told[0].contains("--> b.yaml:10:1"),
        "{}",
        told[0]
    );
}

#[test]
fn what_leaves_the_folder_goes_after_a_second_look() {
    let files = files(&[("a.yaml", upstream("stays"))]);
    let mut known = known(&[("stays", "a.yaml"), ("goes", "b.yaml"), ("moves", "a.yaml")]);
    let start = Instant::now();
    assert_eq!(plan(&files, &mut known, start).remove, []);
    assert_eq!(plan(&files, &mut known, start + GRACE / 2).remove, []);
    assert_eq!(plan(&files, &mut known, start + GRACE).remove, [key("goes"), key("moves")]);
}

#[test]
fn what_comes_back_in_time_has_not_gone() {
    let (without, with) = (files(&[]), files(&[("a.yaml", upstream("one"))]));
    let mut known = known(&[("one", "a.yaml")]);
    let start = Instant::now();
    assert_eq!(plan(&without, &mut known, start).remove, []);
    assert_eq!(plan(&with, &mut known, start + GRACE / 2).remove, []);
    assert_eq!(plan(&without, &mut known, start + GRACE).remove, [], "it was there in between");
}

#[test]
fn the_objects_of_a_broken_file_stay_and_nobody_takes_them() {
    let files = files(&[("a.yaml", upstream("taken")), ("b.yaml", BROKEN.to_owned())]);
    let mut known = known(&[("held", "b.yaml"), ("taken", "b.yaml"), ("goes", "a.yaml")]);
    let start = Instant::now();
    plan(&files, &mut known, start);
    let plan = plan(&files, &mut known, start + GRACE);
    assert_eq!(plan.remove, [key("goes")]);
    assert_eq!(applied(&plan), []);
    assert_eq!(plan.problems.len(), 2, "{:?}", plan.problems);
    assert!(plan.problems[0].message.contains("came from b.yaml, which is broken"));
}

#[test]
fn the_objects_below_a_folder_that_cannot_be_read_stay() {
    let mut files = Files::new();
    files.insert("sub".to_owned(), Arc::new(Manifests::unreadable("sub", "no")));
    let mut known = known(&[("held", "sub/a.yaml"), ("goes", "subway/a.yaml")]);
    let start = Instant::now();
    plan(&files, &mut known, start);
    assert_eq!(plan(&files, &mut known, start + GRACE).remove, [key("goes")]);
}

#[test]
fn what_others_refer_to_comes_first_and_goes_last() {
    let names = ["VirtualService", "Secret", "Gateway", "RouteTable", "Namespace", "AuthConfig", "Upstream"];
    let mut keys: Vec<_> = names.iter().map(|kind| Key::new(*kind, "n", "a")).collect();
    keys.sort_by_key(rank);
    let sorted: Vec<_> = keys.iter().map(|key| key.kind.as_str()).collect();
    assert_eq!(
        sorted,
        ["Namespace", "Secret", "AuthConfig", "Upstream", "RouteTable", "VirtualService", "Gateway"]
    );
}
