//! Reading what a client says about itself.

use envoy_types::pb::{
    envoy::config::core::v3::{Node, node::UserAgentVersionType},
    google::protobuf::value::Kind,
};

/// The string under `key` in the node's metadata.
pub fn metadata_string<'a>(node: &'a Node, key: &str) -> Option<&'a str> {
    match node.metadata.as_ref()?.fields.get(key)?.kind.as_ref()? {
        Kind::StringValue(text) => Some(text),
        _ => None,
    }
}

/// The name and the version of its software: `envoy 1.38.3`. None when it does not say.
pub fn agent(node: &Node) -> Option<String> {
    let version = match node.user_agent_version_type.as_ref()? {
        UserAgentVersionType::UserAgentVersion(version) => version.clone(),
        UserAgentVersionType::UserAgentBuildVersion(build) => {
            let version = build.version.as_ref()?;
            format!("{}.{}.{}", version.major_number, version.minor_number, version.patch)
        }
    };
    Some(format!("{} {version}", node.user_agent_name).trim().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use envoy_types::pb::envoy::{config::core::v3::BuildVersion, r#type::v3::SemanticVersion};

    #[test]
    fn the_software_is_named_with_its_version() {
        let number = SemanticVersion { major_number: 1, minor_number: 38, patch: 3 };
        let build = BuildVersion { version: Some(number), metadata: None };
        let says = |version| {
            let user_agent_name = "envoy".to_owned();
            agent(&Node { user_agent_name, user_agent_version_type: version, ..Node::default() })
        };
        assert_eq!(says(None), None);
        let built = Some(UserAgentVersionType::UserAgentBuildVersion(build));
        assert_eq!(says(built).as_deref(), Some("envoy 1.38.3"));
        let named = Some(UserAgentVersionType::UserAgentVersion("2".to_owned()));
        assert_eq!(says(named).as_deref(), Some("envoy 2"));
    }
}
