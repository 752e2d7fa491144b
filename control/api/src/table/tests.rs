//! Tests of the forms.

use axum::http::HeaderValue;
use axum::http::header::ACCEPT;
use keyward_resource::{KINDS, kind};

use super::*;

/// What `kubectl get` says.
const KUBECTL: &str = "application/json;as=Table;v=v1;g=meta.k8s.io,\
                       application/json;as=Table;v=v1beta1;g=meta.k8s.io,application/json";

fn now() -> Timestamp {
    "2026-01-01T00:05:00Z".parse().expect("a time")
}

fn asked(accept: &str, query: Option<&str>) -> Result<Form, ApiStatus> {
    let headers = HeaderMap::from_iter([(ACCEPT, HeaderValue::from_str(accept).expect("a header"))]);
    Form::asked(&headers, query, now)
}

fn table_of(kind: &str, objects: Vec<Value>) -> Value {
    let kind = kind::by_name(kind).expect("a kind");
    let list = json!({ "metadata": { "resourceVersion": "9" }, "items": objects });
    asked(KUBECTL, None).expect("a form").list(kind, list)
}

/// Names and cells of the only row, as far as they are shown without `-o wide`.
fn shown(table: &Value) -> Vec<(&str, &Value)> {
    let columns = table["columnDefinitions"].as_array().expect("columns");
    let cells = table["rows"][0]["cells"].as_array().expect("cells");
    assert_eq!(columns.len(), cells.len());
    let columns = columns.iter().zip(cells).filter(|(column, _)| column["priority"] == 0);
    columns.map(|(column, cell)| (column["name"].as_str().expect("a name"), cell)).collect()
}

fn object(fields: Value) -> Value {
    let mut object = json!({
        "metadata": { "name": "a", "namespace": "b", "creationTimestamp": "2026-01-01T00:00:00Z" },
        "status": { "state": "Accepted", "reason": "" },
    });
    for (name, value) in fields.as_object().into_iter().flatten() {
        object[name] = value.clone();
    }
    object
}

fn row_of(kind: &str, fields: Value) -> Vec<(String, String)> {
    let table = table_of(kind, vec![object(fields)]);
    let text = |cell: &Value| cell.as_str().map_or_else(|| cell.to_string(), str::to_owned);
    shown(&table).into_iter().map(|(name, cell)| (name.to_owned(), text(cell))).collect()
}

fn row(cells: &[(&str, &str)]) -> Vec<(String, String)> {
    let mut row = vec![("Name".to_owned(), "a".to_owned())];
    row.extend(cells.iter().map(|(name, cell)| ((*name).to_owned(), (*cell).to_owned())));
    row.push(("Age".to_owned(), "5m".to_owned()));
    row
}

#[test]
fn rows_show_what_matters_of_each_kind() {
    assert_eq!(
        row_of(
            "VirtualService",
            json!({ "spec": { "virtualHost": { "domains": ["a.io", "b.io", "c.io", "d.io"] } } })
        ),
        row(&[("Domains", "a.io,b.io,c.io + 1 more..."), ("Status", "Accepted")])
    );
    assert_eq!(
        row_of("VirtualService", json!({ "spec": { "virtualHost": {} }, "status": null })),
        row(&[("Domains", "*"), ("Status", "Pending")])
    );
    assert_eq!(
        row_of(
            "Upstream",
            json!({ "spec": { "static": { "hosts": [{ "addr": "::1", "port": 80 }, { "addr": "a.io", "port": 443 }] } } })
        ),
        row(&[("Type", "Static"), ("Hosts", "[::1]:80,a.io:443"), ("Status", "Accepted")])
    );
    assert_eq!(
        row_of("Gateway", json!({ "spec": { "bindPort": 8080 } })),
        row(&[("Address", "[::]:8080"), ("Proxies", "gateway-proxy"), ("Status", "Accepted")])
    );
    assert_eq!(
        row_of(
            "AuthConfig",
            json!({ "spec": { "configs": [{ "name": "one", "apiKeyAuth": {} }, { "apiKeyAuth": { "headerName": "x-key" } }] } })
        ),
        row(&[("Type", "API key"), ("Header", "api-key,x-key"), ("Status", "Accepted")])
    );
    assert_eq!(
        row_of("RouteTable", json!({ "spec": { "routes": [{}, {}] } })),
        row(&[("Routes", "2"), ("Status", "Accepted")])
    );
}

#[test]
fn a_row_of_a_secret_holds_nothing_of_its_data() {
    let secret = object(json!({ "type": "extauth.keyward.io/apikey", "data": { "api-key": "bi1vLXQ=" } }));
    let table = table_of("Secret", vec![secret]);
    assert_eq!(
        shown(&table),
        [("Name", &json!("a")), ("Type", &json!("extauth.keyward.io/apikey")), ("Age", &json!("5m"))]
    );
    assert!(!table.to_string().contains("bi1vLXQ="), "{table}");
}

#[test]
fn every_kind_has_columns_that_odd_objects_do_not_upset() {
    for kind in KINDS {
        for odd in [
            json!({}),
            json!({ "metadata": [], "spec": "text", "status": 1 }),
            json!({ "spec": { "static": 1, "virtualHost": [], "configs": [1, []] } }),
        ] {
            let table = table_of(kind.name, vec![odd]);
            let columns = table["columnDefinitions"].as_array().expect("columns");
            assert_eq!(columns.first().map(|column| &column["format"]), Some(&json!("name")));
            assert_eq!(table["rows"][0]["cells"].as_array().map(Vec::len), Some(columns.len()));
        }
    }
}

#[test]
fn a_client_gets_the_form_that_it_likes_best() {
    let kind = kind::by_name("Secret").expect("a kind");
    let form =
        |accept: &str| asked(accept, None).map(|form| form.object(kind, object(json!({ "kind": "Secret" }))));
    let kind_of =
        |accept: &str| form(accept).map(|value| (value["kind"].clone(), value["apiVersion"].clone()));
    let named = |kind: &str, version: &str| Ok((json!(kind), json!(version)));
    assert_eq!(kind_of(KUBECTL), named("Table", "meta.k8s.io/v1"));
    assert_eq!(
        kind_of("application/json;as=Table;v=v1beta1;g=meta.k8s.io"),
        named("Table", "meta.k8s.io/v1beta1")
    );
    assert_eq!(
        kind_of("application/json, application/json;as=Table;v=v1;g=meta.k8s.io"),
        Ok((json!("Secret"), Value::Null))
    );
    assert_eq!(
        kind_of("application/vnd.kubernetes.protobuf,application/json"),
        Ok((json!("Secret"), Value::Null))
    );
    assert_eq!(
        kind_of("application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io"),
        named("PartialObjectMetadata", "meta.k8s.io/v1")
    );
    for refused in
        ["text/html", "application/vnd.kubernetes.protobuf", "application/json;as=Table;v=v7;g=meta.k8s.io"]
    {
        assert_eq!(form(refused).map_err(|status| status.code), Err(406), "{refused}");
    }
}

#[test]
fn what_goes_with_a_row_is_what_the_query_asks_for() {
    let kind = kind::by_name("Upstream").expect("a kind");
    let included = |query| {
        let form = asked(KUBECTL, query).map_err(|status| status.code)?;
        let mut table = form.object(kind, object(json!({ "kind": "Upstream", "spec": {} })));
        Ok::<Value, u16>(table["rows"][0]["object"].take())
    };
    let partial = included(None).expect("a table");
    assert_eq!(
        (&partial["kind"], &partial["metadata"]["name"]),
        (&json!("PartialObjectMetadata"), &json!("a"))
    );
    assert!(partial["spec"].is_null());
    assert_eq!(included(Some("watch=1&includeObject=Metadata")).as_ref(), Ok(&partial));
    assert_eq!(included(Some("includeObject=None")), Ok(Value::Null));
    assert_eq!(
        included(Some("includeObject=Object")).map(|object| object["kind"].clone()),
        Ok(json!("Upstream"))
    );
    assert_eq!(included(Some("includeObject=Everything")), Err(400));
}

#[test]
fn what_a_watch_says_is_a_table_of_its_own() {
    let kind = kind::by_name("Upstream").expect("a kind");
    let form = asked(KUBECTL, None).expect("a form");
    let mut upstream = object(json!({}));
    upstream["metadata"]["resourceVersion"] = "7".into();
    let table = form.object(kind, upstream);
    assert!(table["columnDefinitions"].as_array().is_some_and(|columns| !columns.is_empty()));
    assert_eq!(
        (&table["rows"][0]["cells"][0], &table["metadata"]),
        (&json!("a"), &json!({ "resourceVersion": "7" }))
    );
    let status = json!({ "kind": "Status", "apiVersion": "v1", "code": 410 });
    assert_eq!(form.object(kind, status.clone()), status);
}

#[test]
fn the_version_of_a_list_stays() {
    let table = table_of("Upstream", Vec::new());
    assert_eq!((&table["metadata"]["resourceVersion"], &table["rows"]), (&json!("9"), &json!([])));
}
