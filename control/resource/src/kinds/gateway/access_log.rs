//! `spec.options.accessLoggingService`: where requests are logged, and what of them.
//!
//! A log is read by more people than may know keys, and is kept for longer than keys are: what could
//! print one is refused, see [`format`].

mod format;

use serde_json::Value;

use crate::reader::Node;
use crate::schema::{Field, Message, Type};

pub use format::{Part, parts};

/// A log of requests.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AccessLog {
    /// The file on the machine of the proxy: an absolute path without a step back, or `/dev/stdout` or
    /// `/dev/stderr`.
    pub path: String,
    /// What a line says.
    pub format: LogFormat,
}

/// What a line of an access log says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LogFormat {
    /// JSON with everything that there is to say, see the translation.
    Usual,
    /// A JSON object; each string in it is text with commands.
    Json(Value),
    /// Text with commands. It ends a line.
    Text(String),
}

/// How deep a format may nest: the messages that carry it to the proxy may not be deeper than some hundred.
const MAX_DEPTH: usize = 8;
/// The longest format, in bytes of all its strings.
const MAX_LEN: usize = 16 * 1024;
/// The longest path.
const MAX_PATH_LEN: usize = 1024;

pub(super) static SERVICE: Message = Message {
    name: "AccessLoggingService",
    doc: "Logs of requests. An empty list of logs switches off the log that `keyward serve --access-log` switches on \
          for all gateways.",
    fields: &[Field::new(
        "accessLog",
        Type::List(&Type::Object(&ACCESS_LOG)),
        "The logs; each gets every request.",
    )],
    unsupported: &[],
};

static ACCESS_LOG: Message = Message {
    name: "AccessLog",
    doc: "A log of requests.",
    fields: &[Field::required("fileSink", Type::Object(&FILE_SINK), "Writes the log to a file.")],
    unsupported: &["filter", "grpcService", "openTelemetryService"],
};

static FILE_SINK: Message = Message {
    name: "FileSink",
    doc: "A file on the machine of the proxy, and what is written there. What could print a key is refused: of \
          request headers only those may be logged in which no key can stand, and of the path only what stands \
          before the query (`%PATH(NQ)%`). Besides the commands of Envoy there are `%KEYWARD(identity)%`, \
          `%KEYWARD(key_id)%` (the first eight digits of the key's SHA-256), `%KEYWARD(auth_config)%` and \
          `%KEYWARD(reason)%` (why the request was let through or denied).",
    fields: &[
        Field::required(
            "path",
            Type::String,
            "The file: `/dev/stdout`, `/dev/stderr`, or one below the folder that `keyward serve --log-files` \
             names.",
        ),
        Field::new(
            "jsonFormat",
            Type::Map(&Type::Any),
            "A line is a JSON object like this one, with the commands in its strings replaced. Default: the \
             object that docs/observability.md shows.",
        ),
        Field::new(
            "stringFormat",
            Type::String,
            "A line is this text, with the commands in it replaced. A line feed is added unless it ends with one.",
        ),
    ],
    unsupported: &[],
};

/// Reads `accessLoggingService`.
pub(super) fn read(node: Node<'_>) -> Option<Vec<AccessLog>> {
    let service = node.object(&SERVICE)?;
    let Some(list) = service.optional("accessLog") else { return Some(Vec::new()) };
    let list = list.list()?;
    let logs: Vec<Option<AccessLog>> = list.iter().map(access_log).collect();
    logs.into_iter().collect()
}

fn access_log(node: Node<'_>) -> Option<AccessLog> {
    let fields = node.object(&ACCESS_LOG)?;
    let sink = fields.required("fileSink", "a log needs a file to be written to")?.object(&FILE_SINK)?;
    let path = sink.required("path", "names the file").and_then(path);
    let json = sink.or("jsonFormat", None, json);
    let text = sink.or("stringFormat", None, text);
    let (path, json, text) = (path?, json?, text?);
    let format = match (json, text) {
        (Some(_), Some(_)) => {
            sink.node().invalid("has jsonFormat and stringFormat: a line can only look like one of them");
            return None;
        }
        (Some(json), None) => LogFormat::Json(json),
        (None, Some(text)) => LogFormat::Text(text),
        (None, None) => LogFormat::Usual,
    };
    Some(AccessLog { path, format })
}

fn path(node: Node<'_>) -> Option<String> {
    let path = node.string()?;
    let plain = path.starts_with('/')
        && path.len() <= MAX_PATH_LEN
        && !path.chars().any(char::is_control)
        && !path.split('/').any(|part| part == "..");
    if !plain {
        node.invalid(format_args!(
            "must be an absolute path without \"..\", of at most {MAX_PATH_LEN} bytes, such as /dev/stdout"
        ));
    }
    plain.then(|| path.to_owned())
}

fn text(node: Node<'_>) -> Option<Option<String>> {
    let text = node.string()?;
    if text.is_empty() {
        return Some(None);
    }
    let text = formatted(node, text, MAX_LEN).map(str::to_owned)?;
    Some(Some(if text.ends_with('\n') { text } else { text + "\n" }))
}

/// The same text, if nothing is wrong with the commands in it.
fn formatted<'t>(node: Node<'_>, text: &'t str, most: usize) -> Option<&'t str> {
    let checked = if text.len() > most {
        Err(format!("formats may have {MAX_LEN} bytes in all"))
    } else if text.contains('\0') {
        Err("must not contain a zero byte".to_owned())
    } else {
        parts(text).map(drop)
    };
    match checked {
        Ok(()) => Some(text),
        Err(why) => {
            node.invalid(why);
            None
        }
    }
}

fn json(node: Node<'_>) -> Option<Option<Value>> {
    let value = node.value();
    let mut left = MAX_LEN;
    if !value.is_object() {
        // Says what is wrong.
        node.entries()?;
        return None;
    }
    let right = walk(node, 0, &mut left);
    let is_empty = value.as_object().is_some_and(serde_json::Map::is_empty);
    right.then(|| (!is_empty).then(|| value.clone()))
}

/// Whether nothing is wrong with a value. Every mistake is found.
fn walk(node: Node<'_>, depth: usize, left: &mut usize) -> bool {
    if depth > MAX_DEPTH {
        node.invalid(format_args!("a format nests at most {MAX_DEPTH} deep"));
        return false;
    }
    match node.value() {
        Value::String(text) => {
            let right = formatted(node, text, *left).is_some();
            *left = left.saturating_sub(text.len());
            right
        }
        Value::Array(_) => node.list().is_some_and(|list| {
            let walked: Vec<bool> = list.iter().map(|item| walk(item, depth + 1, left)).collect();
            walked.into_iter().all(|right| right)
        }),
        Value::Object(_) => node.entries().is_some_and(|entries| {
            let walked: Vec<bool> = entries.iter().map(|(_, value)| walk(value, depth + 1, left)).collect();
            walked.into_iter().all(|right| right)
        }),
        Value::Null | Value::Bool(_) | Value::Number(_) => true,
    }
}
