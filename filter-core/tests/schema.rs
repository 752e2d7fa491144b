//! The published form of a configuration without a control server, against the filter that reads it.

use std::path::Path;

use jsonschema::Validator;
use keyward_filter_core::standalone;
use serde_json::Value;

/// Mistakes that no schema can express: what they break concerns more than one place, or the meaning
/// that the name of a header has elsewhere.
const BEYOND_A_SCHEMA: &[&str] = &[
    "config-metadata-required",
    "config-names-unknown",
    "default-unknown",
    "digest-twice",
    "field-twice",
    "headers-clash",
    "headers-taken",
    "identity-header-taken",
    "metadata-required",
    "name-with-hash",
    "times-never",
];

fn file(path: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("..").join(path);
    std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

fn schema() -> Validator {
    let schema: Value = serde_json::from_str(&file("docs/filter-config.schema.json")).expect("JSON");
    jsonschema::meta::validate(&schema).expect("a schema");
    jsonschema::validator_for(&schema).expect("a schema that can be used")
}

#[test]
fn the_schema_and_the_filter_agree_on_every_case() {
    let schema = schema();
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../testdata/filter-config");
    let mut beyond = Vec::new();
    let mut taken = 0;
    for entry in std::fs::read_dir(folder).expect("the cases") {
        let path = entry.expect("a case").path();
        if path.extension().is_none_or(|extension| extension != "json") {
            continue;
        }
        let name = path.file_stem().expect("a name").to_string_lossy().into_owned();
        let text = std::fs::read_to_string(&path).expect("a text");
        let value: Value = serde_json::from_str(&text).expect("JSON");
        let by_schema = schema.is_valid(&value);
        match standalone::from_json(text.as_bytes()) {
            Ok(_) => {
                let why: Vec<String> = schema
                    .iter_errors(&value)
                    .map(|error| format!("{}: {error}", error.instance_path()))
                    .collect();
                assert!(by_schema, "{name}: the filter takes it, and the schema does not: {why:?}");
                taken += 1;
            }
            Err(_) if by_schema => beyond.push(name),
            Err(_) => {}
        }
    }
    beyond.sort();
    assert_eq!(beyond, BEYOND_A_SCHEMA, "refused by the filter and not by the schema");
    assert!(taken >= 4, "only {taken} cases are taken");
}

#[test]
fn every_example_of_the_page_is_taken() {
    let page = file("docs/filter.md");
    let schema = schema();
    let mut examples = 0;
    for block in page.split("```json\n").skip(1) {
        let text = block.split("```").next().unwrap_or_default();
        let value: Value = serde_json::from_str(text).expect("an example is JSON");
        if value.get("apiVersion").is_none() {
            continue;
        }
        assert!(schema.is_valid(&value), "{text}");
        standalone::from_json(text.as_bytes()).unwrap_or_else(|problems| panic!("{problems}: {text}"));
        examples += 1;
    }
    assert!(examples >= 2, "the page has hardly any examples");
}
