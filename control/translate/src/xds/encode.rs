//! Messages to bytes, the same message to the same bytes.
//!
//! Map fields are hash maps in the generated types and so come out in any order, which would look
//! like a change to every proxy. The encoded bytes are therefore put in order afterwards: the entries
//! of each map are sorted, everything else stays as it is.

use envoy_types::pb::envoy::config::cluster::v3::Cluster;
use envoy_types::pb::envoy::config::core::v3::TypedExtensionConfig;
use envoy_types::pb::envoy::config::endpoint::v3::ClusterLoadAssignment;
use envoy_types::pb::envoy::config::listener::v3::Listener;
use envoy_types::pb::envoy::config::route::v3::RouteConfiguration;
use envoy_types::pb::envoy::extensions::transport_sockets::tls::v3::Secret;
use envoy_types::pb::google::protobuf::Any;
use prost::bytes::{Buf, Bytes};
use prost::encoding::{WireType, decode_key, decode_varint, encode_key, encode_varint};
use prost::{Message, Name};

use super::Encoded;

/// The type URL of `Cluster`.
pub const CLUSTER: &str = "type.googleapis.com/envoy.config.cluster.v3.Cluster";
/// The type URL of `ClusterLoadAssignment`.
pub const ENDPOINT: &str = "type.googleapis.com/envoy.config.endpoint.v3.ClusterLoadAssignment";
/// The type URL of `Listener`.
pub const LISTENER: &str = "type.googleapis.com/envoy.config.listener.v3.Listener";
/// The type URL of `RouteConfiguration`.
pub const ROUTE: &str = "type.googleapis.com/envoy.config.route.v3.RouteConfiguration";
/// The type URL of `Secret`, which holds what no other resource may.
pub const SECRET: &str = "type.googleapis.com/envoy.extensions.transport_sockets.tls.v3.Secret";
/// The type URL of `TypedExtensionConfig`.
pub const EXTENSION: &str = "type.googleapis.com/envoy.config.core.v3.TypedExtensionConfig";

/// A message that is an xDS resource.
pub(super) trait Resource: Message + Name {
    /// Its type URL.
    const TYPE_URL: &'static str;
}

/// Where maps are inside a message, by field number.
struct Shape(&'static [(u32, Inner)]);

/// What a field holds that has to be looked into.
enum Inner {
    /// A message that has maps somewhere inside.
    Message(&'static Shape),
    /// A map. Its values are messages that have maps inside, or not.
    Map(Option<&'static Shape>),
}

/// As deep as it goes.
static STRUCT: Shape = Shape(&[(1, Inner::Map(Some(&VALUE)))]);
static VALUE: Shape = Shape(&[(5, Inner::Message(&STRUCT)), (6, Inner::Message(&LIST))]);
static LIST: Shape = Shape(&[(1, Inner::Message(&VALUE))]);
const LOG_FORMAT: Shape = Shape(&[(2, Inner::Message(&STRUCT))]);
const METADATA: Shape = Shape(&[(1, Inner::Map(Some(&STRUCT)))]);
const ROUTE_ENTRY: Shape = Shape(&[(4, Inner::Message(&METADATA)), (13, Inner::Map(None))]);
const VIRTUAL_HOST: Shape = Shape(&[(3, Inner::Message(&ROUTE_ENTRY)), (24, Inner::Message(&METADATA))]);
const CAPABILITIES: Shape = Shape(&[(1, Inner::Map(None))]);
const VM: Shape = Shape(&[(8, Inner::Message(&CAPABILITIES))]);
const PLUGIN: Shape = Shape(&[(3, Inner::Message(&VM)), (6, Inner::Message(&CAPABILITIES))]);

const LB_ENDPOINT: Shape = Shape(&[(3, Inner::Message(&METADATA))]);
const LOCALITY: Shape = Shape(&[(2, Inner::Message(&LB_ENDPOINT))]);
const LOAD_ASSIGNMENT: Shape = Shape(&[(2, Inner::Message(&LOCALITY))]);
const SOCKET_MATCH: Shape = Shape(&[(2, Inner::Message(&STRUCT))]);

/// The shapes of all messages that are encoded here and have maps set somewhere inside. A map that
/// is missing here is found by the test that encodes the same proxy again and again.
fn shape(full_name: &str) -> Shape {
    match full_name {
        "envoy.config.cluster.v3.Cluster" => Shape(&[
            (25, Inner::Message(&METADATA)),
            (33, Inner::Message(&LOAD_ASSIGNMENT)),
            (36, Inner::Map(None)),
            (43, Inner::Message(&SOCKET_MATCH)),
        ]),
        "envoy.config.endpoint.v3.ClusterLoadAssignment" => LOAD_ASSIGNMENT,
        "envoy.config.listener.v3.Listener" => Shape(&[(6, Inner::Message(&METADATA))]),
        "envoy.config.route.v3.RouteConfiguration" => {
            Shape(&[(2, Inner::Message(&VIRTUAL_HOST)), (17, Inner::Message(&METADATA))])
        }
        "envoy.config.route.v3.VirtualHost" => VIRTUAL_HOST,
        "envoy.extensions.access_loggers.file.v3.FileAccessLog" => Shape(&[(5, Inner::Message(&LOG_FORMAT))]),
        "envoy.extensions.filters.http.wasm.v3.Wasm" => Shape(&[(1, Inner::Message(&PLUGIN))]),
        _ => Shape(&[]),
    }
}

/// Encodes a resource.
pub(super) fn encode<M: Resource>(name: &str, message: &M) -> Encoded {
    Encoded { name: name.to_owned(), type_url: M::TYPE_URL, bytes: bytes(message) }
}

/// Encodes a message that becomes a part of others.
pub(super) fn part<M: Message + Name>(message: &M) -> Bytes {
    bytes(message)
}

/// Encodes a resource that is a head, encoded parts under one field, and a tail, in the order in which
/// the whole would be encoded: the head has lower field numbers than the parts, the tail higher ones.
pub(super) fn around<'a, M: Resource>(
    name: &str,
    head: &M,
    field: u32,
    parts: impl Iterator<Item = &'a Bytes>,
    tail: &M,
) -> Encoded {
    let mut whole = bytes(head).to_vec();
    parts.for_each(|part| put(field, part, &mut whole));
    whole.extend_from_slice(&bytes(tail));
    Encoded { name: name.to_owned(), type_url: M::TYPE_URL, bytes: whole.into() }
}

/// Packs a message.
pub(super) fn any<M: Message + Name>(message: &M) -> Any {
    Any { type_url: M::type_url(), value: bytes(message).into() }
}

fn bytes<M: Message + Name>(message: &M) -> Bytes {
    let encoded = message.encode_to_vec();
    let mut ordered = Vec::with_capacity(encoded.len());
    order(&encoded, &shape(&M::full_name()), &mut ordered);
    ordered.into()
}

fn order(mut encoded: &[u8], shape: &Shape, into: &mut Vec<u8>) {
    // Entries of one map stand together, so they are sorted run by run.
    let mut run: Option<(u32, Vec<Vec<u8>>)> = None;
    while !encoded.is_empty() {
        let start = encoded;
        let Some((tag, wire_type, payload)) = field(&mut encoded) else {
            unreachable!("a message that was just encoded is well formed");
        };
        let inner = shape.0.iter().find(|(field, _)| *field == tag && wire_type == WireType::LengthDelimited);
        if run.as_ref().is_some_and(|(field, _)| *field != tag) {
            flush(run.take(), into);
        }
        match inner {
            None => into.extend_from_slice(&start[..start.len() - encoded.len()]),
            Some((_, Inner::Message(shape))) => {
                let mut ordered = Vec::with_capacity(payload.len());
                order(payload, shape, &mut ordered);
                put(tag, &ordered, into);
            }
            Some((_, Inner::Map(values))) => {
                let mut entry = Vec::with_capacity(payload.len());
                let value = values.map(Inner::Message);
                order_entry(payload, value, &mut entry);
                run.get_or_insert_with(|| (tag, Vec::new())).1.push(entry);
            }
        }
    }
    flush(run, into);
}

/// A map entry is a message with the key in field 1 and the value in field 2.
fn order_entry(mut encoded: &[u8], value: Option<Inner>, into: &mut Vec<u8>) {
    while !encoded.is_empty() {
        let start = encoded;
        let Some((tag, _, payload)) = field(&mut encoded) else {
            unreachable!("a message that was just encoded is well formed");
        };
        match (&value, tag) {
            (Some(Inner::Message(shape)), 2) => {
                let mut ordered = Vec::with_capacity(payload.len());
                order(payload, shape, &mut ordered);
                put(tag, &ordered, into);
            }
            _ => into.extend_from_slice(&start[..start.len() - encoded.len()]),
        }
    }
}

fn flush(run: Option<(u32, Vec<Vec<u8>>)>, into: &mut Vec<u8>) {
    let Some((tag, mut entries)) = run else { return };
    entries.sort();
    entries.iter().for_each(|entry| put(tag, entry, into));
}

fn put(tag: u32, payload: &[u8], into: &mut Vec<u8>) {
    encode_key(tag, WireType::LengthDelimited, into);
    encode_varint(payload.len() as u64, into);
    into.extend_from_slice(payload);
}

/// Takes one field off the front. The payload is empty unless it is length-delimited.
fn field<'a>(encoded: &mut &'a [u8]) -> Option<(u32, WireType, &'a [u8])> {
    let (tag, wire_type) = decode_key(encoded).ok()?;
    let mut payload: &[u8] = &[];
    match wire_type {
        WireType::Varint => {
            decode_varint(encoded).ok()?;
        }
        WireType::SixtyFourBit => *encoded = encoded.get(8..)?,
        WireType::ThirtyTwoBit => *encoded = encoded.get(4..)?,
        WireType::LengthDelimited => {
            let length = usize::try_from(decode_varint(encoded).ok()?).ok()?;
            payload = encoded.get(..length)?;
            encoded.advance(length);
        }
        WireType::StartGroup | WireType::EndGroup => return None,
    }
    Some((tag, wire_type, payload))
}

// === impl Resource ===

impl Resource for Cluster {
    const TYPE_URL: &'static str = CLUSTER;
}

impl Resource for ClusterLoadAssignment {
    const TYPE_URL: &'static str = ENDPOINT;
}

impl Resource for Listener {
    const TYPE_URL: &'static str = LISTENER;
}

impl Resource for RouteConfiguration {
    const TYPE_URL: &'static str = ROUTE;
}

impl Resource for TypedExtensionConfig {
    const TYPE_URL: &'static str = EXTENSION;
}

impl Resource for Secret {
    const TYPE_URL: &'static str = SECRET;
}
