//! The document of OpenAPI 2 as protobuf: `kubectl` up to 1.26 reads nothing else.
//!
//! The messages are those of the public `openapi.v2` package, as far as our document uses them.

use prost::{Message, Oneof};
use serde_json::{Map, Value};

/// Writes the document.
pub(super) fn document(json: &Value) -> Vec<u8> {
    Document {
        swagger: text(json, "swagger"),
        info: Some(Info { title: text(&json["info"], "title"), version: text(&json["info"], "version") }),
        paths: Some(Paths {
            path: named(&json["paths"], |name, value| NamedPathItem { name, value: Some(path_item(value)) }),
        }),
        definitions: Some(Definitions { additional_properties: schemas(&json["definitions"]) }),
    }
    .encode_to_vec()
}

fn named<T>(object: &Value, make: impl Fn(String, &Value) -> T) -> Vec<T> {
    entries(object).map(|(name, value)| make(name.clone(), value)).collect()
}

fn entries(object: &Value) -> impl Iterator<Item = (&String, &Value)> {
    object.as_object().into_iter().flat_map(Map::iter)
}

fn items(list: &Value) -> impl Iterator<Item = &Value> {
    list.as_array().into_iter().flatten()
}

fn text(object: &Value, key: &str) -> String {
    object[key].as_str().unwrap_or_default().to_owned()
}

fn texts(list: &Value) -> Vec<String> {
    items(list).filter_map(Value::as_str).map(str::to_owned).collect()
}

/// Clients read the value of an extension as YAML, which JSON is.
fn any(value: &Value) -> Any {
    Any { yaml: value.to_string() }
}

fn extensions(object: &Value) -> Vec<NamedAny> {
    entries(object)
        .filter(|(name, _)| name.starts_with("x-"))
        .map(|(name, value)| NamedAny { name: name.clone(), value: Some(any(value)) })
        .collect()
}

fn schemas(object: &Value) -> Vec<NamedSchema> {
    named(object, |name, value| NamedSchema { name, value: Some(schema(value)) })
}

fn schema(json: &Value) -> Schema {
    let value = &json["type"];
    Schema {
        reference: text(json, "$ref"),
        format: text(json, "format"),
        description: text(json, "description"),
        maximum: json["maximum"].as_f64().unwrap_or_default(),
        minimum: json["minimum"].as_f64().unwrap_or_default(),
        required: texts(&json["required"]),
        r#enum: items(&json["enum"]).map(any).collect(),
        additional_properties: json
            .get("additionalProperties")
            .map(|item| Box::new(AdditionalProperties { schema: Some(Box::new(schema(item))) })),
        r#type: value.as_str().map(|name| TypeItem { value: vec![name.to_owned()] }),
        items: json.get("items").map(|item| ItemsItem { schema: vec![schema(item)] }),
        properties: json.get("properties").map(|found| Properties { additional_properties: schemas(found) }),
        vendor_extension: extensions(json),
    }
}

fn path_item(json: &Value) -> PathItem {
    let method = |name: &str| json.get(name).map(operation);
    PathItem {
        get: method("get"),
        put: method("put"),
        post: method("post"),
        delete: method("delete"),
        patch: method("patch"),
        parameters: items(&json["parameters"]).map(parameter).collect(),
    }
}

fn operation(json: &Value) -> Operation {
    Operation {
        tags: texts(&json["tags"]),
        description: text(json, "description"),
        operation_id: text(json, "operationId"),
        produces: texts(&json["produces"]),
        consumes: texts(&json["consumes"]),
        parameters: items(&json["parameters"]).map(parameter).collect(),
        responses: Some(Responses { response_code: named(&json["responses"], response) }),
        vendor_extension: extensions(json),
    }
}

fn response(name: String, json: &Value) -> NamedResponse {
    let schema = SchemaItem { schema: Some(schema(&json["schema"])) };
    let response = Response { description: text(json, "description"), schema: Some(schema) };
    NamedResponse { name, value: Some(ResponseValue { response: Some(response) }) }
}

fn parameter(json: &Value) -> ParametersItem {
    let required = json["required"].as_bool().unwrap_or_default();
    let (name, place, description) = (text(json, "name"), text(json, "in"), text(json, "description"));
    let (ty, format) = (text(json, "type"), text(json, "format"));
    let kind = match place.as_str() {
        "body" => ParameterKind::Body(BodyParameter {
            description,
            name,
            place,
            required,
            schema: Some(schema(&json["schema"])),
        }),
        "path" => ParameterKind::Plain(PlainParameter {
            kind: Some(PlainKind::Path(PathParameter { required, place, description, name, ty, format })),
        }),
        _ => ParameterKind::Plain(PlainParameter {
            kind: Some(PlainKind::Query(QueryParameter { required, place, description, name, ty, format })),
        }),
    };
    ParametersItem { parameter: Some(Parameter { kind: Some(kind) }) }
}

#[derive(Clone, PartialEq, Message)]
struct Document {
    #[prost(string, tag = "1")]
    swagger: String,
    #[prost(message, optional, tag = "2")]
    info: Option<Info>,
    #[prost(message, optional, tag = "8")]
    paths: Option<Paths>,
    #[prost(message, optional, tag = "9")]
    definitions: Option<Definitions>,
}

#[derive(Clone, PartialEq, Message)]
struct Info {
    #[prost(string, tag = "1")]
    title: String,
    #[prost(string, tag = "2")]
    version: String,
}

#[derive(Clone, PartialEq, Message)]
struct Paths {
    #[prost(message, repeated, tag = "2")]
    path: Vec<NamedPathItem>,
}

#[derive(Clone, PartialEq, Message)]
struct NamedPathItem {
    #[prost(string, tag = "1")]
    name: String,
    #[prost(message, optional, tag = "2")]
    value: Option<PathItem>,
}

#[derive(Clone, PartialEq, Message)]
struct PathItem {
    #[prost(message, optional, tag = "2")]
    get: Option<Operation>,
    #[prost(message, optional, tag = "3")]
    put: Option<Operation>,
    #[prost(message, optional, tag = "4")]
    post: Option<Operation>,
    #[prost(message, optional, tag = "5")]
    delete: Option<Operation>,
    #[prost(message, optional, tag = "8")]
    patch: Option<Operation>,
    #[prost(message, repeated, tag = "9")]
    parameters: Vec<ParametersItem>,
}

#[derive(Clone, PartialEq, Message)]
struct Operation {
    #[prost(string, repeated, tag = "1")]
    tags: Vec<String>,
    #[prost(string, tag = "3")]
    description: String,
    #[prost(string, tag = "5")]
    operation_id: String,
    #[prost(string, repeated, tag = "6")]
    produces: Vec<String>,
    #[prost(string, repeated, tag = "7")]
    consumes: Vec<String>,
    #[prost(message, repeated, tag = "8")]
    parameters: Vec<ParametersItem>,
    #[prost(message, optional, tag = "9")]
    responses: Option<Responses>,
    #[prost(message, repeated, tag = "13")]
    vendor_extension: Vec<NamedAny>,
}

#[derive(Clone, PartialEq, Message)]
struct ParametersItem {
    #[prost(message, optional, tag = "1")]
    parameter: Option<Parameter>,
}

#[derive(Clone, PartialEq, Message)]
struct Parameter {
    #[prost(oneof = "ParameterKind", tags = "1, 2")]
    kind: Option<ParameterKind>,
}

#[derive(Clone, PartialEq, Oneof)]
enum ParameterKind {
    #[prost(message, tag = "1")]
    Body(BodyParameter),
    #[prost(message, tag = "2")]
    Plain(PlainParameter),
}

#[derive(Clone, PartialEq, Message)]
struct BodyParameter {
    #[prost(string, tag = "1")]
    description: String,
    #[prost(string, tag = "2")]
    name: String,
    #[prost(string, tag = "3")]
    place: String,
    #[prost(bool, tag = "4")]
    required: bool,
    #[prost(message, optional, tag = "5")]
    schema: Option<Schema>,
}

#[derive(Clone, PartialEq, Message)]
struct PlainParameter {
    #[prost(oneof = "PlainKind", tags = "3, 4")]
    kind: Option<PlainKind>,
}

#[derive(Clone, PartialEq, Oneof)]
enum PlainKind {
    #[prost(message, tag = "3")]
    Query(QueryParameter),
    #[prost(message, tag = "4")]
    Path(PathParameter),
}

#[derive(Clone, PartialEq, Message)]
struct QueryParameter {
    #[prost(bool, tag = "1")]
    required: bool,
    #[prost(string, tag = "2")]
    place: String,
    #[prost(string, tag = "3")]
    description: String,
    #[prost(string, tag = "4")]
    name: String,
    #[prost(string, tag = "6")]
    ty: String,
    #[prost(string, tag = "7")]
    format: String,
}

#[derive(Clone, PartialEq, Message)]
struct PathParameter {
    #[prost(bool, tag = "1")]
    required: bool,
    #[prost(string, tag = "2")]
    place: String,
    #[prost(string, tag = "3")]
    description: String,
    #[prost(string, tag = "4")]
    name: String,
    #[prost(string, tag = "5")]
    ty: String,
    #[prost(string, tag = "6")]
    format: String,
}

#[derive(Clone, PartialEq, Message)]
struct Responses {
    #[prost(message, repeated, tag = "1")]
    response_code: Vec<NamedResponse>,
}

#[derive(Clone, PartialEq, Message)]
struct NamedResponse {
    #[prost(string, tag = "1")]
    name: String,
    #[prost(message, optional, tag = "2")]
    value: Option<ResponseValue>,
}

#[derive(Clone, PartialEq, Message)]
struct ResponseValue {
    #[prost(message, optional, tag = "1")]
    response: Option<Response>,
}

#[derive(Clone, PartialEq, Message)]
struct Response {
    #[prost(string, tag = "1")]
    description: String,
    #[prost(message, optional, tag = "2")]
    schema: Option<SchemaItem>,
}

#[derive(Clone, PartialEq, Message)]
struct SchemaItem {
    #[prost(message, optional, tag = "1")]
    schema: Option<Schema>,
}

#[derive(Clone, PartialEq, Message)]
struct Definitions {
    #[prost(message, repeated, tag = "1")]
    additional_properties: Vec<NamedSchema>,
}

#[derive(Clone, PartialEq, Message)]
struct NamedSchema {
    #[prost(string, tag = "1")]
    name: String,
    #[prost(message, optional, tag = "2")]
    value: Option<Schema>,
}

#[derive(Clone, PartialEq, Message)]
struct Schema {
    #[prost(string, tag = "1")]
    reference: String,
    #[prost(string, tag = "2")]
    format: String,
    #[prost(string, tag = "4")]
    description: String,
    #[prost(double, tag = "7")]
    maximum: f64,
    #[prost(double, tag = "9")]
    minimum: f64,
    #[prost(string, repeated, tag = "19")]
    required: Vec<String>,
    #[prost(message, repeated, tag = "20")]
    r#enum: Vec<Any>,
    #[prost(message, optional, boxed, tag = "21")]
    additional_properties: Option<Box<AdditionalProperties>>,
    #[prost(message, optional, tag = "22")]
    r#type: Option<TypeItem>,
    #[prost(message, optional, tag = "23")]
    items: Option<ItemsItem>,
    #[prost(message, optional, tag = "25")]
    properties: Option<Properties>,
    #[prost(message, repeated, tag = "31")]
    vendor_extension: Vec<NamedAny>,
}

#[derive(Clone, PartialEq, Message)]
struct AdditionalProperties {
    #[prost(message, optional, boxed, tag = "1")]
    schema: Option<Box<Schema>>,
}

#[derive(Clone, PartialEq, Message)]
struct TypeItem {
    #[prost(string, repeated, tag = "1")]
    value: Vec<String>,
}

#[derive(Clone, PartialEq, Message)]
struct ItemsItem {
    #[prost(message, repeated, tag = "1")]
    schema: Vec<Schema>,
}

#[derive(Clone, PartialEq, Message)]
struct Properties {
    #[prost(message, repeated, tag = "1")]
    additional_properties: Vec<NamedSchema>,
}

#[derive(Clone, PartialEq, Message)]
struct NamedAny {
    #[prost(string, tag = "1")]
    name: String,
    #[prost(message, optional, tag = "2")]
    value: Option<Any>,
}

#[derive(Clone, PartialEq, Message)]
struct Any {
    #[prost(string, tag = "2")]
    yaml: String,
}
