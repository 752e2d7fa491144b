//! Headers that are added and removed.

use envoy_types::pb::envoy::config::core::v3::header_value_option::HeaderAppendAction;
use envoy_types::pb::envoy::config::core::v3::{HeaderValue, HeaderValueOption};
use keyward_resource::kinds::options::{HeaderManipulation, HeaderToAdd};

/// In the four lists in which routes, virtual hosts and weighted clusters have them.
#[derive(Default)]
pub(super) struct Headers {
    pub(super) request_add: Vec<HeaderValueOption>,
    pub(super) request_remove: Vec<String>,
    pub(super) response_add: Vec<HeaderValueOption>,
    pub(super) response_remove: Vec<String>,
}

/// A header to add.
pub(in crate::xds) fn add(header: &HeaderToAdd) -> HeaderValueOption {
    let action = if header.append {
        HeaderAppendAction::AppendIfExistsOrAdd
    } else {
        HeaderAppendAction::OverwriteIfExistsOrAdd
    };
    HeaderValueOption {
        header: Some(HeaderValue {
            key: header.name.clone(),
            value: header.value.clone(),
            ..HeaderValue::default()
        }),
        append_action: action.into(),
        ..HeaderValueOption::default()
    }
}

// === impl Headers ===

impl Headers {
    pub(super) fn of(manipulation: Option<&HeaderManipulation>) -> Self {
        let Some(manipulation) = manipulation else { return Self::default() };
        Self {
            request_add: manipulation.request_add.iter().map(add).collect(),
            request_remove: manipulation.request_remove.clone(),
            response_add: manipulation.response_add.iter().map(add).collect(),
            response_remove: manipulation.response_remove.clone(),
        }
    }
}
