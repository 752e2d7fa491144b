//! Access logs. No line has a key in it: see the reader of formats in `keyward-resource`.

use std::collections::HashMap;

use envoy_types::pb::envoy::config::accesslog::v3::{AccessLog as AccessLogMessage, access_log};
use envoy_types::pb::envoy::config::core::v3::data_source::Specifier;
use envoy_types::pb::envoy::config::core::v3::substitution_format_string::Format;
use envoy_types::pb::envoy::config::core::v3::{DataSource, SubstitutionFormatString};
use envoy_types::pb::envoy::extensions::access_loggers::file::v3::{FileAccessLog, file_access_log};
use envoy_types::pb::google::protobuf::{ListValue, Struct, Value, value};
use keyward_filter_core::capability::{AUTH_CONFIG_STATE, IDENTITY_STATE, KEY_ID_STATE, REASON_STATE};
use keyward_resource::kinds::gateway::{AccessLog, LogFormat, Part, parts};
use serde_json::Value as Json;

use super::encode;

const FILE_NAME: &str = "envoy.access_loggers.file";

/// What a line says unless somebody chose something else. Envoy sorts it by name.
const USUAL: &[(&str, &str)] = &[
    ("auth_config", "%KEYWARD(auth_config)%"),
    ("bytes_received", "%BYTES_RECEIVED%"),
    ("bytes_sent", "%BYTES_SENT%"),
    ("client", "%DOWNSTREAM_REMOTE_ADDRESS_WITHOUT_PORT%"),
    ("details", "%RESPONSE_CODE_DETAILS%"),
    ("duration_ms", "%DURATION%"),
    ("flags", "%RESPONSE_FLAGS%"),
    ("host", "%REQ(:authority)%"),
    ("identity", "%KEYWARD(identity)%"),
    ("key_id", "%KEYWARD(key_id)%"),
    ("method", "%REQ(:method)%"),
    ("path", "%PATH(NQ:ORIG_OR_PATH)%"),
    ("protocol", "%PROTOCOL%"),
    ("reason", "%KEYWARD(reason)%"),
    ("request_id", "%REQ(x-request-id)%"),
    ("route", "%ROUTE_NAME%"),
    ("status", "%RESPONSE_CODE%"),
    ("time", "%START_TIME%"),
    ("upstream", "%UPSTREAM_CLUSTER%"),
    ("upstream_host", "%UPSTREAM_HOST%"),
];

/// The logs of a listener.
pub(super) fn messages(logs: &[AccessLog]) -> Vec<AccessLogMessage> {
    let message = |log: &AccessLog| AccessLogMessage {
        name: FILE_NAME.to_owned(),
        config_type: Some(access_log::ConfigType::TypedConfig(encode::any(&file(log)))),
        ..AccessLogMessage::default()
    };
    logs.iter().map(message).collect()
}

/// Whether a log shows what only the filter knows.
pub(super) fn asks_filter(log: &AccessLog) -> bool {
    let asks = |text: &str| {
        let parts = parts(text).unwrap_or_default();
        parts.iter().any(|part| !matches!(part, Part::Proxy(_)))
    };
    fn any(value: &Json, asks: &impl Fn(&str) -> bool) -> bool {
        match value {
            Json::String(text) => asks(text),
            Json::Array(items) => items.iter().any(|item| any(item, asks)),
            Json::Object(map) => map.values().any(|item| any(item, asks)),
            Json::Null | Json::Bool(_) | Json::Number(_) => false,
        }
    }
    match &log.format {
        LogFormat::Usual => USUAL.iter().any(|(_, text)| asks(text)),
        LogFormat::Json(value) => any(value, &asks),
        LogFormat::Text(text) => asks(text),
    }
}

fn file(log: &AccessLog) -> FileAccessLog {
    let format = match &log.format {
        LogFormat::Usual => {
            let field = |(name, text): &(&str, &str)| ((*name).to_owned(), string(commands(text)));
            Format::JsonFormat(Struct { fields: USUAL.iter().map(field).collect() })
        }
        LogFormat::Json(value) => Format::JsonFormat(Struct { fields: fields(value) }),
        LogFormat::Text(text) => Format::TextFormatSource(DataSource {
            specifier: Some(Specifier::InlineString(commands(text))),
            ..DataSource::default()
        }),
    };
    let format = SubstitutionFormatString { format: Some(format), ..SubstitutionFormatString::default() };
    FileAccessLog {
        path: log.path.clone(),
        access_log_format: Some(file_access_log::AccessLogFormat::LogFormat(format)),
    }
}

/// A format with the proxy's commands in the place of ours.
fn commands(text: &str) -> String {
    let state = |name: &str| format!("%FILTER_STATE({name}:PLAIN)%");
    // What cannot be read was refused when it was written.
    let parts = parts(text).unwrap_or_default().into_iter();
    parts
        .map(|part| match part {
            Part::Proxy(text) => text.to_owned(),
            Part::Identity => state(IDENTITY_STATE),
            Part::KeyId => state(KEY_ID_STATE),
            Part::AuthConfig => state(AUTH_CONFIG_STATE),
            Part::Reason => state(REASON_STATE),
        })
        .collect()
}

fn fields(value: &Json) -> HashMap<String, Value> {
    let entries = value.as_object().into_iter().flatten();
    entries.map(|(name, value)| (name.clone(), converted(value))).collect()
}

fn converted(json: &Json) -> Value {
    let kind = match json {
        Json::Null => value::Kind::NullValue(0),
        Json::Bool(flag) => value::Kind::BoolValue(*flag),
        Json::Number(number) => value::Kind::NumberValue(number.as_f64().unwrap_or_default()),
        Json::String(text) => return string(commands(text)),
        Json::Array(items) => {
            value::Kind::ListValue(ListValue { values: items.iter().map(converted).collect() })
        }
        Json::Object(_) => value::Kind::StructValue(Struct { fields: fields(json) }),
    };
    Value { kind: Some(kind) }
}

fn string(text: String) -> Value {
    Value { kind: Some(value::Kind::StringValue(text)) }
}
