//! Reads options of virtual hosts.

use crate::kinds::options::VirtualHostOptions;
use crate::kinds::routing::extauth;
use crate::meta::Meta;
use crate::reader::Node;
use crate::schema::Message;

pub(crate) static OPTIONS: Message = Message {
    name: "VirtualHostOptions",
    doc: "What holds of all routes of a virtual host, unless a route says otherwise.",
    fields: &[extauth::FIELD],
    unsupported: &[
        "bufferPerRoute",
        "cors",
        "corsPolicyMergeSettings",
        "csrf",
        "dlp",
        "extProc",
        "extProcEarly",
        "extProcLate",
        "extensions",
        "headerManipulation",
        "includeAttemptCountInResponse",
        "includeRequestAttemptCount",
        "jwt",
        "jwtStaged",
        "rateLimitConfigs",
        "rateLimitEarlyConfigs",
        "rateLimitRegularConfigs",
        "ratelimit",
        "ratelimitBasic",
        "ratelimitEarly",
        "ratelimitRegular",
        "rbac",
        "retries",
        "stagedTransformations",
        "stats",
        "transformations",
        "waf",
    ],
};

pub(crate) fn read(node: Node<'_>, meta: &Meta, _warnings: &mut Vec<String>) -> Option<VirtualHostOptions> {
    let options = node.object(&OPTIONS)?;
    let extauth = extauth::read(&options, meta);
    Some(VirtualHostOptions { extauth: extauth?, ..VirtualHostOptions::default() })
}
