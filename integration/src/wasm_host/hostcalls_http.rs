//! The hostcalls `env.proxy_*` that act on the request of the effective context.

use wasmtime::{Caller, Linker, Result, format_err};

use super::Status;
use super::guest::{decode_pairs, encode_pairs, hand_over, read};
use super::hostcalls::hostcall;
use super::state::{HostState, LocalReply};
use crate::headers::Headers;

const MAP_REQUEST_HEADERS: u32 = 0;
const MAP_RESPONSE_HEADERS: u32 = 2;
const STREAM_HTTP_REQUEST: u32 = 0;

fn map<'a>(caller: &'a mut Caller<'_, HostState>, kind: u32) -> Option<&'a mut Headers> {
    let stream = caller.data_mut().stream()?;
    match kind {
        MAP_REQUEST_HEADERS => Some(&mut stream.request),
        MAP_RESPONSE_HEADERS => Some(&mut stream.response),
        _ => None,
    }
}

pub(super) fn link(linker: &mut Linker<HostState>) -> Result<()> {
    link_reads(linker)?;
    link_changes(linker)?;
    link_verdicts(linker)
}

fn link_reads(linker: &mut Linker<HostState>) -> Result<()> {
    linker.func_wrap(
        "env",
        "proxy_get_header_map_value",
        |mut c: Caller<'_, HostState>, kind: u32, at: u32, length: u32, data_at: u32, size_at: u32| {
            hostcall(&mut c, "proxy_get_header_map_value", |c| {
                let name = read(c, at, length)?;
                let Some(headers) = map(c, kind) else { return Ok(Status::BadArgument) };
                match headers.first(name).map(<[u8]>::to_vec) {
                    Some(value) => hand_over(c, &value, data_at, size_at)?,
                    None => return Ok(Status::NotFound),
                }
                Ok(Status::Ok)
            })
        },
    )?;
    linker.func_wrap(
        "env",
        "proxy_get_header_map_pairs",
        |mut c: Caller<'_, HostState>, kind: u32, data_at: u32, size_at: u32| {
            hostcall(&mut c, "proxy_get_header_map_pairs", |c| {
                let Some(headers) = map(c, kind).cloned() else { return Ok(Status::BadArgument) };
                let pairs: Vec<_> = headers.iter().collect();
                let encoded = encode_pairs(pairs.into_iter())?;
                hand_over(c, &encoded, data_at, size_at)?;
                Ok(Status::Ok)
            })
        },
    )?;
    Ok(())
}

fn link_changes(linker: &mut Linker<HostState>) -> Result<()> {
    linker.func_wrap(
        "env",
        "proxy_remove_header_map_value",
        |mut c: Caller<'_, HostState>, kind: u32, at: u32, length: u32| {
            hostcall(&mut c, "proxy_remove_header_map_value", |c| {
                let name = read(c, at, length)?;
                let Some(headers) = map(c, kind) else { return Ok(Status::BadArgument) };
                headers.remove(name);
                Ok(Status::Ok)
            })
        },
    )?;
    for name in ["proxy_replace_header_map_value", "proxy_add_header_map_value"] {
        linker.func_wrap(
            "env",
            name,
            move |mut c: Caller<'_, HostState>,
                  kind: u32,
                  name_at: u32,
                  name_length: u32,
                  value_at: u32,
                  value_length: u32| {
                hostcall(&mut c, name, |c| {
                    let header = read(c, name_at, name_length)?.to_ascii_lowercase();
                    let value = read(c, value_at, value_length)?;
                    let Some(headers) = map(c, kind) else { return Ok(Status::BadArgument) };
                    if name == "proxy_add_header_map_value" {
                        headers.add(header, value);
                    } else {
                        headers.replace(header, value);
                    }
                    Ok(Status::Ok)
                })
            },
        )?;
    }
    linker.func_wrap(
        "env",
        "proxy_set_header_map_pairs",
        |mut c: Caller<'_, HostState>, kind: u32, at: u32, length: u32| {
            hostcall(&mut c, "proxy_set_header_map_pairs", |c| {
                let pairs = decode_pairs(&read(c, at, length)?);
                let pairs = pairs.ok_or_else(|| format_err!("the guest passed malformed pairs"))?;
                let Some(headers) = map(c, kind) else { return Ok(Status::BadArgument) };
                *headers = pairs.into_iter().collect();
                Ok(Status::Ok)
            })
        },
    )?;
    Ok(())
}

fn link_verdicts(linker: &mut Linker<HostState>) -> Result<()> {
    linker.func_wrap("env", "proxy_continue_stream", |mut c: Caller<'_, HostState>, kind: u32| {
        hostcall(&mut c, "proxy_continue_stream", |c| match c.data_mut().stream() {
            Some(stream) if kind == STREAM_HTTP_REQUEST => {
                stream.resumed = true;
                Ok(Status::Ok)
            }
            _ => Ok(Status::BadArgument),
        })
    })?;
    linker.func_wrap(
        "env",
        "proxy_send_local_response",
        |mut c: Caller<'_, HostState>,
         status: u32,
         details_at: u32,
         details_length: u32,
         body_at: u32,
         body_length: u32,
         headers_at: u32,
         headers_length: u32,
         _grpc_status: i32| {
            hostcall(&mut c, "proxy_send_local_response", |c| {
                let details = read(c, details_at, details_length)?;
                let body = read(c, body_at, body_length)?;
                let pairs = decode_pairs(&read(c, headers_at, headers_length)?);
                let pairs = pairs.ok_or_else(|| format_err!("the guest passed malformed pairs"))?;
                let mut headers: Headers = pairs.into_iter().collect();
                // Envoy states the length itself, whatever the filter said.
                headers.replace("content-length", body.len().to_string());
                let Some(stream) = c.data_mut().stream() else { return Ok(Status::BadArgument) };
                // A second reply to one request crashed Envoy in the past: none may be sent.
                wasmtime::ensure!(stream.local_reply.is_none(), "the guest replied twice");
                stream.local_reply = Some(LocalReply {
                    status,
                    headers,
                    body,
                    details: String::from_utf8_lossy(&details).into_owned(),
                    filter_state: stream.filter_state.clone(),
                });
                Ok(Status::Ok)
            })
        },
    )?;
    Ok(())
}
