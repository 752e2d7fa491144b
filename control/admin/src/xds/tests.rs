use envoy_types::pb::envoy::config::cluster::v3::Cluster;
use envoy_types::pb::envoy::config::core::v3::{
    AsyncDataSource, DataSource, TransportSocket, TypedExtensionConfig, async_data_source, data_source,
    transport_socket,
};
use envoy_types::pb::envoy::config::route::v3::FilterConfig;
use envoy_types::pb::envoy::extensions::filters::http::wasm::v3::Wasm;
use envoy_types::pb::envoy::extensions::transport_sockets::tls::v3::{
    CommonTlsContext, Secret, TlsCertificate, UpstreamTlsContext, secret,
};
use envoy_types::pb::envoy::extensions::wasm::v3::{PluginConfig, VmConfig, plugin_config};
use envoy_types::pb::google::protobuf::Any;
use prost::{Message, Name};

use super::*;

const KEY: &str = "the private key";

fn shown<M: Message + Name>(message: &M) -> Value {
    resource(&M::type_url(), &message.encode_to_vec().into())
}

fn packed<M: Message + Name>(message: &M) -> Any {
    Any { type_url: M::type_url(), value: message.encode_to_vec() }
}

fn inline(text: &str) -> Option<DataSource> {
    Some(DataSource {
        specifier: Some(data_source::Specifier::InlineString(text.to_owned())),
        ..DataSource::default()
    })
}

fn certificate() -> TlsCertificate {
    TlsCertificate {
        certificate_chain: inline("chain"),
        private_key: inline(KEY),
        ..TlsCertificate::default()
    }
}

#[test]
fn a_private_key_is_not_shown() {
    let shown =
        shown(&Secret { name: "web".to_owned(), r#type: Some(secret::Type::TlsCertificate(certificate())) });
    assert!(!shown.to_string().contains(KEY), "{shown}");
    assert_eq!(shown["name"], "web");
    assert_eq!(shown["tlsCertificate"]["certificateChain"]["inlineString"], "chain");
    assert_eq!(shown["tlsCertificate"]["privateKey"]["inlineString"], REDACTED);
}

#[test]
fn nor_is_one_inside_a_packed_message() {
    let context = UpstreamTlsContext {
        common_tls_context: Some(CommonTlsContext {
            tls_certificates: vec![certificate()],
            ..CommonTlsContext::default()
        }),
        ..UpstreamTlsContext::default()
    };
    let socket = TransportSocket {
        name: "tls".to_owned(),
        config_type: Some(transport_socket::ConfigType::TypedConfig(packed(&context))),
    };
    let shown = shown(&Cluster { transport_socket: Some(socket), ..Cluster::default() });
    assert!(!shown.to_string().contains(KEY), "{shown}");
    let certificate = &shown["transportSocket"]["typedConfig"]["commonTlsContext"]["tlsCertificates"][0];
    assert_eq!(certificate["certificateChain"]["inlineString"], "chain", "{shown}");
}

#[test]
fn code_is_cut() {
    let code = DataSource {
        specifier: Some(data_source::Specifier::InlineBytes(vec![7; 100_000])),
        ..DataSource::default()
    };
    let vm = VmConfig {
        code: Some(AsyncDataSource { specifier: Some(async_data_source::Specifier::Local(code)) }),
        ..VmConfig::default()
    };
    let plugin = PluginConfig { vm: Some(plugin_config::Vm::VmConfig(vm)), ..PluginConfig::default() };
    let extension = TypedExtensionConfig {
        name: "filter".to_owned(),
        typed_config: Some(packed(&Wasm { config: Some(plugin) })),
    };
    let text = shown(&extension).to_string();
    assert!(text.len() < 1_000 && text.contains("characters)"), "{text}");
}

#[test]
fn of_the_whole_only_bytes_are_cut() {
    let text = "policies ".repeat(10_000);
    let code = DataSource {
        specifier: Some(data_source::Specifier::InlineBytes(vec![7; 100_000])),
        ..DataSource::default()
    };
    let vm = VmConfig {
        vm_id: text.clone(),
        code: Some(AsyncDataSource { specifier: Some(async_data_source::Specifier::Local(code)) }),
        ..VmConfig::default()
    };
    let plugin = PluginConfig { vm: Some(plugin_config::Vm::VmConfig(vm)), ..PluginConfig::default() };
    let packed = packed(&Wasm { config: Some(plugin) });
    let extension = TypedExtensionConfig { name: "filter".to_owned(), typed_config: Some(packed) };
    let shown = whole(&TypedExtensionConfig::type_url(), &extension.encode_to_vec().into());
    let vm = &shown["typedConfig"]["config"]["vmConfig"];
    assert_eq!(vm["vmId"], text);
    // "100000 bytes", as protobuf writes bytes.
    assert_eq!(vm["code"]["local"]["inlineBytes"], "MTAwMDAwIGJ5dGVz");
}

#[test]
fn nor_does_the_whole_show_a_private_key() {
    let secret = Secret { name: "web".to_owned(), r#type: Some(secret::Type::TlsCertificate(certificate())) };
    let shown = whole(&Secret::type_url(), &secret.encode_to_vec().into());
    assert!(!shown.to_string().contains(KEY), "{shown}");
    assert_eq!(shown["tlsCertificate"]["certificateChain"]["inlineString"], "chain");
}

#[test]
fn what_is_packed_and_empty_is_shown_as_an_empty_text() {
    let route = FilterConfig { config: Some(Any::default()), ..FilterConfig::default() };
    let empty = json!({ "@type": "type.googleapis.com/google.protobuf.StringValue", "value": "" });
    assert_eq!(shown(&route)["config"], empty);
    assert_eq!(whole(&FilterConfig::type_url(), &route.encode_to_vec().into())["config"], empty);
}

#[test]
fn what_is_unknown_is_named_and_not_shown() {
    let unknown = Any { type_url: "type.googleapis.com/nobody.Knows".to_owned(), value: KEY.into() };
    let shown = shown(&TypedExtensionConfig { name: "x".to_owned(), typed_config: Some(unknown) });
    let note = shown["typedConfig"]["value"].as_str().unwrap();
    assert_eq!(note, "15 bytes of the unknown type type.googleapis.com/nobody.Knows");
    let shown = resource("type.googleapis.com/nobody.Knows", &KEY.into());
    assert_eq!(shown["unreadable"], "15 bytes");
    let torn = resource(&Cluster::type_url(), &Bytes::from_static(b"\xff\xff"));
    assert_eq!(torn["unreadable"], "2 bytes");
}
