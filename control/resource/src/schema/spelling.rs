//! The two spellings of a field: in the original product's protobuf files a field is named in snake case,
//! and its readers take that name too, as the JSON mapping of protobuf has it. Below `spec` so do ours;
//! `metadata` and the data of Secrets are Kubernetes' own and have one spelling.

use super::{Field, Message};

/// How protobuf files spell `retriableStatusCodes`: `retriable_status_codes`.
pub(crate) fn is_proto_name(written: &str, name: &str) -> bool {
    let mut name = name.chars();
    let mut upper = false;
    for letter in written.chars() {
        if letter == '_' {
            if std::mem::replace(&mut upper, true) {
                return false;
            }
            continue;
        }
        let letter = if std::mem::take(&mut upper) { letter.to_ascii_uppercase() } else { letter };
        if name.next() != Some(letter) {
            return false;
        }
    }
    written.contains('_') && !upper && name.next().is_none()
}

// === impl Message ===

impl Message {
    /// The field that is meant by its name in protobuf files.
    pub(crate) fn field_of_proto_name(&self, written: &str) -> Option<&'static Field> {
        self.fields.iter().find(|field| is_proto_name(written, field.name))
    }

    /// Whether this is the name, in protobuf files or in JSON, of a field that is refused by name.
    pub(crate) fn refuses(&self, written: &str) -> bool {
        self.unsupported.iter().any(|name| *name == written || is_proto_name(written, name))
    }
}

#[cfg(test)]
mod tests {
    use super::is_proto_name;

    #[test]
    fn the_proto_name_of_a_field_is_its_name_in_snake_case() {
        for (written, name) in [
            ("retriable_status_codes", "retriableStatusCodes"),
            ("use_http2", "useHttp2"),
            ("http2_protocol_options", "http2ProtocolOptions"),
        ] {
            assert!(is_proto_name(written, name), "{written}");
        }
        for (written, name) in [
            ("retries", "retries"),
            ("retryOn", "retryOn"),
            ("retry_On", "retryon"),
            ("retry_on_", "retryOn"),
            ("retry__on", "retryOn"),
            ("retry_on", "retryOnce"),
            ("retry_once", "retryOn"),
            ("Retry_on", "retryOn"),
        ] {
            assert!(!is_proto_name(written, name), "{written}");
        }
    }
}
