//! Reads redirects and answers of the proxy itself.

use super::{Context, alternative, names, rewrite};
use crate::kinds::route::{DirectResponse, Redirect, RedirectCode, RedirectPath};
use crate::reader::Node;
use crate::schema::{Field, Message, Type};

pub(crate) static REDIRECT: Message = Message {
    name: "RedirectAction",
    doc: "The client is told to go elsewhere. What is not set stays as in the request.",
    fields: &[
        Field::new("hostRedirect", Type::String, "The new host, with a port or without."),
        Field::new(
            "pathRedirect",
            Type::String,
            "The new path, and a query if it has one. Excludes `prefixRewrite` and `regexRewrite`.",
        ),
        Field::new("prefixRewrite", Type::String, "Stands in place of the prefix that was matched."),
        Field::new(
            "regexRewrite",
            Type::Object(&rewrite::REGEX_REWRITE),
            "Replaces what an expression matches in the path.",
        ),
        Field::new(
            "responseCode",
            Type::Enum(&[
                "MOVED_PERMANENTLY",
                "FOUND",
                "SEE_OTHER",
                "TEMPORARY_REDIRECT",
                "PERMANENT_REDIRECT",
            ]),
            "The status: 301 (the default), 302, 303, 307 or 308.",
        ),
        Field::new("httpsRedirect", Type::Boolean, "Whether to go to `https`. Default false."),
        Field::new("stripQuery", Type::Boolean, "Whether the query is dropped. Default false."),
        Field::new("portRedirect", Type::PORT, "The new port."),
    ],
    unsupported: &[],
};

pub(crate) static DIRECT_RESPONSE: Message = Message {
    name: "DirectResponseAction",
    doc: "The proxy answers by itself.",
    fields: &[
        Field::required("status", Type::Integer(200, 599), "The status of the answer."),
        Field::new("body", Type::String, "The body of the answer, at most 4096 bytes. Default empty."),
    ],
    unsupported: &[],
};

const CODES: &[(&str, RedirectCode)] = &[
    ("MOVED_PERMANENTLY", RedirectCode::MovedPermanently),
    ("FOUND", RedirectCode::Found),
    ("SEE_OTHER", RedirectCode::SeeOther),
    ("TEMPORARY_REDIRECT", RedirectCode::TemporaryRedirect),
    ("PERMANENT_REDIRECT", RedirectCode::PermanentRedirect),
];
/// The longest body that the proxy takes in a route unless told otherwise.
const MAX_BODY_LEN: usize = 4096;

/// Reads `redirectAction`.
pub(crate) fn redirect(node: Node<'_>, context: &mut Context<'_>) -> Option<Redirect> {
    let fields = node.object(&REDIRECT)?;
    let host = fields.maybe("hostRedirect", names::host_word);
    let kinds = ["pathRedirect", "prefixRewrite", "regexRewrite"];
    let path = alternative(&fields, &kinds, |kind, node| match kind {
        "pathRedirect" => names::new_path(node).map(RedirectPath::Path).map(Some),
        "regexRewrite" => rewrite::regex(node).map(RedirectPath::Regex).map(Some),
        _ => names::new_prefix(node).map(|prefix| prefix.map(RedirectPath::Prefix)),
    });
    let code = fields.or("responseCode", RedirectCode::default(), |code| code.one_of(CODES));
    let https = fields.flag("httpsRedirect", false);
    let strip_query = fields.flag("stripQuery", false);
    let port = fields.maybe("portRedirect", |port| port.port());
    let redirect = Redirect {
        host: host?,
        path: path?.flatten(),
        code: code?,
        https: https?,
        strip_query: strip_query?,
        port: port?,
    };
    let elsewhere = Redirect { code: redirect.code, ..Redirect::default() };
    if redirect == elsewhere {
        context.warnings.push(format!("{}: leads back to where the request came from", node.place()));
    }
    Some(redirect)
}

/// Reads `directResponseAction`.
pub(crate) fn direct_response(node: Node<'_>) -> Option<DirectResponse> {
    let fields = node.object(&DIRECT_RESPONSE)?;
    let status = fields.required("status", "a direct response needs a status");
    let status =
        status.and_then(|status| status.integer(200..=599)).and_then(|status| status.try_into().ok());
    let body = fields.or("body", "", |body| {
        let text = body.string()?;
        if text.len() > MAX_BODY_LEN {
            body.invalid(format_args!("must have at most {MAX_BODY_LEN} bytes"));
            return None;
        }
        Some(text)
    });
    Some(DirectResponse { status: status?, body: body?.to_owned() })
}
