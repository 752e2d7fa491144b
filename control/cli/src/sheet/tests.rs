use super::*;

const DIGEST: &str = "2c26b46b68ffc68ff99b453c1d30413413422d706483bfa0f98a5e886266e7ae";

fn sheet(form: Form, text: impl Into<Vec<u8>>) -> Sheet {
    Sheet::new(text.into(), form)
}

/// The rows of a file without mistakes.
fn rows(form: Form, text: impl Into<Vec<u8>>) -> Vec<Row> {
    sheet(form, text).rows().map(|reading| reading.right().expect("a row without a mistake")).collect()
}

/// What is wrong with a file, a mistake a line.
fn mistakes(form: Form, text: impl Into<Vec<u8>>) -> Vec<String> {
    let sheet = sheet(form, text);
    sheet.rows().flat_map(|reading| reading.mistakes).map(|mistake| mistake.to_string()).collect()
}

fn entries(row: &Row) -> Vec<(&str, &[u8])> {
    row.data.iter().map(|(name, value)| (name.as_str(), value.as_slice())).collect()
}

#[test]
fn a_row_of_csv_is_a_secret() {
    let text = "\u{feff}name, namespace ,api-key,labels,expires-at,disabled,plan,data:name,logo:base64\r\n\
                ann,team, k 1,\"team=infra, tier=gold\",2030-01-31T12:00:00Z ,TRUE,\"gold, \"\"plus\"\"\",Ann,/w==\r\n\
                \r\n\
                bob,,k2,a=b;c=,,,,,\r\n\
                ,,,,,,,,\r\n";
    let rows = rows(Form::Csv, text);
    let [ann, bob] = rows.as_slice() else { panic!("{rows:?}") };
    assert_eq!((ann.line, ann.namespace.as_deref(), ann.name.as_deref()), (2, Some("team"), Some("ann")));
    let labels: Vec<_> = ann.labels.iter().map(|(name, value)| format!("{name}={value}")).collect();
    assert_eq!(labels, ["team=infra", "tier=gold"]);
    assert_eq!(
        entries(ann),
        [
            ("api-key", b" k 1".as_slice()),
            ("disabled", b"true"),
            ("expires-at", b"2030-01-31T12:00:00Z"),
            ("logo", b"\xff"),
            ("name", b"Ann"),
            ("plan", b"gold, \"plus\""),
        ]
    );
    assert_eq!((bob.line, bob.namespace.as_deref(), bob.name.as_deref()), (4, None, Some("bob")));
    assert_eq!(bob.labels.get("c").map(String::as_str), Some(""));
    assert_eq!(entries(bob), [("api-key", b"k2".as_slice())]);
}

#[test]
fn a_json_line_is_a_secret() {
    let text = format!(
        "{{\"name\":\"ann\",\"labels\":{{\"team\":\"infra\"}},\"api-key-sha256\":\"{DIGEST}\",\"disabled\":false}}\n\n\
         {{\"name\":\"bob\",\"namespace\":null,\"labels\":\"team=infra\",\"api-key:base64\":\"/w==\",\"plan\":\"\"}}"
    );
    let rows = rows(Form::Jsonl, text);
    let [ann, bob] = rows.as_slice() else { panic!("{rows:?}") };
    assert_eq!(entries(ann), [("api-key-sha256", DIGEST.as_bytes()), ("disabled", b"false")]);
    assert_eq!(ann.labels, bob.labels);
    assert_eq!((bob.line, bob.namespace.as_deref()), (3, None));
    assert_eq!(entries(bob), [("api-key", b"\xff".as_slice()), ("plan", b"")]);
}

#[test]
fn headings_are_ours_or_are_refused() {
    for (headings, expected) in [
        ("", vec!["1: there is no line of headings"]),
        ("name,labels", vec!["1: no heading is api-key or api-key-sha256"]),
        ("ann,key-1", vec!["1: the first line has the headings, and none of them is name"]),
        ("name,api-key,name", vec!["1: column 3: stands there twice"]),
        ("name,api-key,", vec!["1: column 3: a heading is missing"]),
        (
            "name,apiKey,expires_at",
            vec![
                "1: column 2: there is no such column: is api-key meant? Metadata of this name are written data:apiKey",
                "1: column 3: there is no such column: is expires-at meant? Metadata of this name are written \
                 data:expires_at",
            ],
        ),
        (
            "name,api-key,sec ret",
            vec!["1: column 3: the name of an entry must consist of letters, digits, '-', '_' and '.'"],
        ),
        ("name,api-key,data:expires_at,data:key", vec![]),
    ] {
        assert_eq!(mistakes(Form::Csv, headings), expected, "{headings}");
    }
}

#[test]
fn a_broken_row_is_told_by_its_line_and_the_others_are_read() {
    let text = "name,api-key,labels,logo:base64\n\
                ann,k1\n\
                bob,\"k\n2\",nonsense,%\n\
                cat,k3,a=b,\n\
                dan,\"k4,,\n\
                eve,k5,,\n";
    assert_eq!(
        mistakes(Form::Csv, text),
        [
            "2: has 2 cells, and there are 4 headings",
            "3: labels: must be written as in team=infra,tier=gold",
            "3: logo:base64: must be base64",
            "6: a quote is not closed",
        ]
    );
    let text = "{\"name\":\"a\"\n[1]\n{\"name\":1,\"plan\":2,\"labels\":[],\"apiKey\":\"x\"}\n\
                {\"name\":\"a\",\"name\":\"b\"}\n{\"k\":\"x\",\"k:base64\":\"eA==\"}";
    assert_eq!(
        mistakes(Form::Jsonl, text),
        [
            "1: malformed JSON: EOF while parsing an object (character 11)",
            "2: a line must be one JSON object",
            "3: a field: there is no such column: is api-key meant? Metadata of this name are written data:apiKey",
            "3: labels: must be an object of strings",
            "3: name: must be a string",
            "3: plan: must be a string",
            "4: malformed JSON: a key stands twice in one object (character 18)",
            "5: k:base64: stands there twice: as text, and in base64",
        ]
    );
}

#[test]
fn what_is_written_is_read_back() {
    let row = Row {
        line: 2,
        namespace: Some("team".to_owned()),
        name: Some("ann".to_owned()),
        labels: [("a".to_owned(), "b".to_owned()), ("c".to_owned(), String::new())].into(),
        data: [
            ("api-key".to_owned(), b"k,\"\n 1 ".to_vec()),
            ("namespace".to_owned(), b"x".to_vec()),
            ("expires".to_owned(), b"y".to_vec()),
            ("raw".to_owned(), vec![0xff, 0]),
            ("expires-at".to_owned(), b"2030-01-31T12:00:00Z".to_vec()),
        ]
        .into(),
    };
    let writer =
        CsvWriter::new([Column::Labels, Column::Name, Column::Namespace].into_iter().chain(row.columns()));
    let headings = writer.headings().unwrap();
    assert_eq!(headings, "name,namespace,labels,api-key,expires-at,data:expires,data:namespace,raw:base64");
    let text = format!("{headings}\n{}\n", writer.row(&row).unwrap());
    assert_eq!(rows(Form::Csv, text), std::slice::from_ref(&row));
    let text = line(&row).unwrap();
    assert!(
        text.starts_with(r#"{"name":"ann","namespace":"team","labels":{"a":"b","c":""},"api-key":"#),
        "{text}"
    );
    assert_eq!(rows(Form::Jsonl, text), [Row { line: 1, ..row.clone() }]);
    assert!(!format!("{row:?}").contains("k,"), "no key is printed");
}
