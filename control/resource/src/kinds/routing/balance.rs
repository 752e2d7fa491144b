//! Reads what requests are balanced by, and which protocols they may change to.

use super::{all, alternative, names};
use crate::kinds::options::{HashPolicy, HashSource, Upgrade, UpgradeKind};
use crate::reader::Node;
use crate::schema::{Field, Message, Type};

pub(crate) static LB_HASH: Message = Message {
    name: "RouteActionHashConfig",
    doc: "What an upstream with the load balancer `ringHash` or `maglev` chooses an endpoint by.",
    fields: &[Field::new(
        "hashPolicies",
        Type::List(&Type::Object(&HASH_POLICY)),
        "What a hash is taken of. All that are there count together, up to one that is terminal.",
    )],
    unsupported: &[],
};

static HASH_POLICY: Message = Message {
    name: "HashPolicy",
    doc: "What a hash is taken of: one of `header`, `cookie` and `sourceIp`.",
    fields: &[
        Field::new("header", Type::String, "The value of this header."),
        Field::new("cookie", Type::Object(&COOKIE), "The value of a cookie."),
        Field::new("sourceIp", Type::Boolean, "The address of the client; only `true` says something."),
        Field::new(
            "terminal",
            Type::Boolean,
            "Whether no later policy counts when this one gave a hash. Default false.",
        ),
    ],
    unsupported: &[],
};

static COOKIE: Message = Message {
    name: "HashCookie",
    doc: "A cookie that a hash is taken of.",
    fields: &[
        Field::required("name", Type::String, "The name of the cookie."),
        Field::new(
            "ttl",
            Type::Duration,
            "The proxy makes the cookie when it is missing, with this lifetime; `0s` for the browser's \
             session. Without it no cookie is made.",
        ),
        Field::new("path", Type::String, "The path of a cookie that the proxy makes."),
    ],
    unsupported: &[],
};

/// `upgrades`.
pub(crate) const UPGRADES: Type = Type::List(&Type::Object(&UPGRADE));

static UPGRADE: Message = Message {
    name: "ProtocolUpgrade",
    doc: "A protocol that a request may change to.",
    fields: &[Field::new("websocket", Type::Object(&UPGRADE_SPEC), "WebSocket.")],
    // No matcher takes a CONNECT request, so nothing could be upgraded.
    unsupported: &["connect"],
};

static UPGRADE_SPEC: Message = Message {
    name: "ProtocolUpgradeSpec",
    doc: "Whether a protocol is allowed.",
    fields: &[Field::new("enabled", Type::Boolean, "Whether it is allowed. Default true.")],
    unsupported: &[],
};

/// Reads `lbHash`.
pub(crate) fn lb_hash(node: Node<'_>) -> Option<Vec<HashPolicy>> {
    let fields = node.object(&LB_HASH)?;
    fields.or("hashPolicies", Vec::new(), |list| all(list, hash_policy))
}

fn hash_policy(node: Node<'_>) -> Option<HashPolicy> {
    let fields = node.object(&HASH_POLICY)?;
    let terminal = fields.flag("terminal", false);
    let source = alternative(&fields, &["header", "cookie", "sourceIp"], |kind, node| match kind {
        "header" => names::header(node).map(HashSource::Header),
        "cookie" => cookie(node),
        _ => {
            if !node.boolean()? {
                node.invalid("false says nothing: leave the policy out");
                return None;
            }
            Some(HashSource::SourceIp)
        }
    })?;
    if source.is_none() {
        fields.choice("header", "a hash policy needs header, cookie or sourceIp");
    }
    Some(HashPolicy { source: source?, terminal: terminal? })
}

fn cookie(node: Node<'_>) -> Option<HashSource> {
    let fields = node.object(&COOKIE)?;
    let name = fields.required("name", "a cookie needs a name").and_then(|name| {
        let text = name.string()?;
        if names::is_token(text) {
            return Some(text.to_owned());
        }
        name.invalid("must be the name of a cookie: letters, digits and any of !#$%&'*+-.^_`|~");
        None
    });
    let ttl = fields.maybe("ttl", |ttl| ttl.duration());
    let path = fields.maybe("path", |path| {
        let text = path.string()?;
        if text.starts_with('/') && text.bytes().all(|byte| byte.is_ascii_graphic() && byte != b';') {
            return Some(text.to_owned());
        }
        path.invalid("must be a path: begin with '/', without spaces and ';'");
        None
    });
    Some(HashSource::Cookie { name: name?, ttl: ttl?, path: path? })
}

/// Reads `upgrades`. The proxy takes each protocol once.
pub(crate) fn upgrades(node: Node<'_>) -> Option<Vec<Upgrade>> {
    let mut seen = Vec::new();
    all(node, |item| {
        let upgrade = upgrade(item)?;
        if seen.contains(&upgrade.kind) {
            item.invalid("the same protocol stands there twice");
            return None;
        }
        seen.push(upgrade.kind);
        Some(upgrade)
    })
}

fn upgrade(node: Node<'_>) -> Option<Upgrade> {
    let fields = node.object(&UPGRADE)?;
    let spec = fields.choice("websocket", "an upgrade needs websocket")?;
    let enabled = spec.object(&UPGRADE_SPEC)?.flag("enabled", true);
    Some(Upgrade { kind: UpgradeKind::WebSocket, enabled: enabled? })
}
