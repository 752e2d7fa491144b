use super::*;

fn upstream(name: &str) -> String {
    format!(
        "apiVersion: service.keyward.io/v1\nkind: Upstream\nmetadata:\n  name: {name}\nspec:\n  static:\n    \
         hosts:\n    - {{addr: 127.0.0.1, port: 80}}\n"
    )
}

fn yaml(text: &str) -> Manifests {
    read("a/b.yaml", text.as_bytes(), Format::Yaml, NAMESPACE)
}

fn keys(manifests: &Manifests) -> Vec<String> {
    manifests.objects.iter().map(|manifest| manifest.key.to_string()).collect()
}

/// The problems of a broken file, as people see them.
fn told(text: &str) -> String {
    let manifests = yaml(text);
    assert!(manifests.is_broken() && manifests.objects.is_empty(), "a broken file is broken as a whole");
    manifests.problems.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n")
}

#[test]
fn objects_stand_in_documents_and_in_lists() {
    let in_alias = upstream("b").replace("service.keyward.io", "gloo.solo.io");
    let item = upstream("c").replace('\n', "\n  ");
    let list = format!("apiVersion: v1\nkind: List\nitems:\n- {item}\n");
    let manifests = yaml(&format!("# first\n---\n{}---\n{in_alias}---\n{list}", upstream("a")));
    assert_eq!(manifests.problems, []);
    assert_eq!(keys(&manifests), ["Upstream default/a", "Upstream default/b", "Upstream default/c"]);
    let lines: Vec<_> = manifests.objects.iter().map(|manifest| manifest.place.line).collect();
    assert_eq!(lines, [3, 12, 24]);
}

#[test]
fn json_is_read_too() {
    let text =
        "{\n\t\"apiVersion\": \"v1\",\n\t\"kind\": \"Namespace\",\n\t\"metadata\": {\"name\": \"n\"}\n}";
    let manifests = read("n.json", text.as_bytes(), Format::Json, NAMESPACE);
    assert_eq!(manifests.problems, []);
    assert_eq!(keys(&manifests), ["Namespace /n"]);
}

#[test]
fn a_file_of_nothing_holds_nothing() {
    for text in ["", "\n", "# only a comment\n", "---\n---\n"] {
        assert_eq!((yaml(text).objects, yaml(text).problems), (vec![], vec![]), "{text:?}");
    }
}

#[test]
fn what_servers_say_is_left_out() {
    let text = "apiVersion: v1\nkind: Namespace\nmetadata:\n  name: n\n  uid: u\n  resourceVersion: '7'\n  \
                generation: 3\n  managedFields: [{manager: x}]\n  annotations:\n    \
                folder.keyward.io/origin: created\nstatus: {phase: Active}\n";
    let manifests = yaml(text);
    assert_eq!(manifests.problems, []);
    let metadata = &manifests.objects[0].object["metadata"];
    assert_eq!(*metadata, serde_json::json!({ "name": "n", "generation": 3 }));
}

#[test]
fn what_the_server_alone_writes_is_refused() {
    let text = upstream("a").replace("kind: Upstream", "kind: Proxy");
    let manifests = yaml(&text);
    let problem = &manifests.problems[0].to_string();
    assert!(problem.starts_with("proxies.service.keyward.io are written by the control server"), "{problem}");
    assert!(problem.contains("kind: Proxy") && manifests.objects.is_empty(), "{problem}");
}

#[test]
fn a_mistake_in_a_field_is_shown_where_the_field_stands() {
    let text = upstream("a").replace("port: 80", "prot: 80");
    let first = "Upstream default/a: spec.static.hosts[0].prot: unknown field; did you mean \"port\"?
  --> a/b.yaml:8:25
   |
 8 |     - {addr: 127.0.0.1, prot: 80}
   |                         ^
";
    let second = "
  --> a/b.yaml:8:7
   |
 8 |     - {addr: 127.0.0.1, prot: 80}
   |       ^";
    let told = told(&text);
    assert!(told.starts_with(first) && told.ends_with(second), "{told}");
}

#[test]
fn a_mistake_in_an_item_of_a_list_is_shown_there() {
    let item = upstream("c").replace("static", "statc").replace('\n', "\n  ");
    let list = format!("apiVersion: v1\nkind: List\nitems:\n- {item}\n");
    let manifests = yaml(&list);
    let problem = &manifests.problems[0];
    assert_eq!((problem.line, problem.column), (Some(9), Some(5)), "{problem}");
}

#[test]
fn a_syntax_error_is_shown_where_it_is() {
    let told = told(&upstream("a").replace("name: a", "name: [a"));
    assert!(told.contains("malformed YAML"), "{told}");
    assert!(told.contains("--> a/b.yaml:"), "{told}");
    assert!(told.contains(" | "), "the line is shown: {told}");
}

#[test]
fn unknown_kinds_and_missing_names_are_told() {
    assert!(
        told("kind: Upstream\n").contains("apiVersion: an object says its apiVersion\n  --> a/b.yaml:1:1")
    );
    let unknown = told(&upstream("a").replace("kind: Upstream", "kind: Upsteam"));
    assert!(unknown.contains("no matches for kind \"Upsteam\"") && unknown.contains(":2:1"), "{unknown}");
    let other = told(&upstream("a").replace("service.keyward.io", "gateway.keyward.io"));
    assert!(
        other.contains("Upstream is served as \"service.keyward.io/v1\"") && other.contains(":1:1"),
        "{other}"
    );
    let unnamed = told(&upstream("a").replace("name: a", "labels: {}"));
    assert!(unnamed.contains("metadata.name") && unnamed.contains(":3:1"), "{unnamed}");
    assert!(told("just words\n").contains("an object was expected here"));
    assert!(told("kind: List\napiVersion: v1\nitems: 7\n").contains("items: must be a list"));
}

#[test]
fn an_object_that_stands_twice_in_a_file_is_a_mistake() {
    let told = told(&format!("{}---\n{}", upstream("a"), upstream("a")));
    assert!(told.contains("stands in the file twice, also at 1:1\n  --> a/b.yaml:10:1"), "{told}");
}

const KEY: &str = "5ecret-w0rds";

#[test]
fn a_file_that_holds_keys_is_never_shown() {
    let secret = format!(
        "apiVersion: v1\nkind: Secret\ntype: extauth.keyward.io/apikey\nmetadata:\n  name: s\nstringData:\n  \
         api-key: {KEY}\n"
    );
    let good = yaml(&secret);
    assert_eq!(good.problems, []);
    assert!(!format!("{good:?}").contains(KEY), "nor for debugging");
    let broken = [
        secret.replace("  api-key", "  api key"),
        secret.replace("stringData", "stringDatta"),
        secret.replace("kind: Secret", "kind: Secrte"),
        secret.replace("kind: Secret\n", ""),
        secret.replace("name: s", "name: [s"),
        secret.replace("  api-key", " - api-key"),
        secret.replace(KEY, &format!("{KEY}: {KEY}")),
        secret.replace(KEY, &format!("\"{KEY}")),
        format!("{}---\n{secret}{KEY}\n", upstream("a")),
        format!("{}---\n{{kind: Secret, data: {{a: {KEY}}}}}\n", upstream("a").replace("name: a", "name: A")),
        format!("{}---\n{{kind: Secret, other: {{a: {KEY}}}\n", upstream("a")),
        format!("{}---\nstringData:\n api-key: {KEY}\n", upstream("a")),
        format!("{}---\napi-key: {KEY}\n  - a\n", upstream("a")),
        format!("{{\"kind\":\"Secret\",\"data\":{{\"a\":\"{KEY}\"}}"),
    ];
    for text in broken {
        let told = told(&text);
        assert!(!told.contains(KEY), "{told}");
        assert!(!told.contains(" | "), "no line is shown: {told}");
    }
}

#[test]
fn a_mistake_in_the_data_of_a_secret_is_found_where_people_wrote_it() {
    let text = "apiVersion: v1\nkind: Secret\nmetadata:\n  name: s\nstringData:\n  a: x\n  a/b: y\n";
    let problem = &yaml(text).problems[0];
    assert_eq!((problem.line, problem.column), (Some(7), Some(3)), "{problem}");
}

#[test]
fn names_of_files() {
    for (name, format) in [
        ("a.yaml", Some(Format::Yaml)),
        ("a.b.yml", Some(Format::Yaml)),
        ("a.json", Some(Format::Json)),
        ("a.txt", None),
        ("yaml", None),
        (".yaml", None),
        (".a.yaml", None),
        ("a.yaml~", None),
        ("a.yaml.swp", None),
    ] {
        assert_eq!(format_of(name), format, "{name}");
    }
}
