//! The hostcalls `env.proxy_*` that have nothing to do with a request.

use envoy_types::pb::envoy::config::core::v3::GrpcService;
use envoy_types::pb::envoy::config::core::v3::grpc_service::TargetSpecifier;
use prost::Message as _;
use wasmtime::{Caller, Linker, Result};

use super::Status;
use super::grpc::GrpcStream;
use super::guest::{hand_over, read, write_u32, write_u64};
use super::state::HostState;

const BUFFER_GRPC_RECEIVE: u32 = 5;
const BUFFER_VM_CONFIGURATION: u32 = 6;
const BUFFER_PLUGIN_CONFIGURATION: u32 = 7;

/// Counts the hostcall, refuses it when it is not on the capability list, else makes it.
pub(super) fn hostcall(
    caller: &mut Caller<'_, HostState>,
    name: &'static str,
    call: impl FnOnce(&mut Caller<'_, HostState>) -> Result<Status>,
) -> Result<u32> {
    caller.data_mut().count(name);
    if !caller.data().capabilities.allows(name) {
        return Ok(Status::InternalFailure as u32);
    }
    Ok(call(caller)? as u32)
}

/// The upstream of a stream is a `GrpcService` message, or else the plain name of a cluster.
fn cluster_name(upstream: &[u8]) -> String {
    let service = GrpcService::decode(upstream).ok().and_then(|service| service.target_specifier);
    match service {
        Some(TargetSpecifier::EnvoyGrpc(envoy)) => envoy.cluster_name,
        _ => String::from_utf8_lossy(upstream).into_owned(),
    }
}

pub(super) fn link(linker: &mut Linker<HostState>) -> Result<()> {
    link_basics(linker)?;
    link_metrics(linker)?;
    link_grpc(linker)
}

fn link_basics(linker: &mut Linker<HostState>) -> Result<()> {
    linker.func_wrap(
        "env",
        "proxy_log",
        |mut c: Caller<'_, HostState>, level: u32, at: u32, length: u32| {
            hostcall(&mut c, "proxy_log", |c| {
                let line = String::from_utf8_lossy(&read(c, at, length)?).into_owned();
                c.data_mut().logs.push((level, line));
                Ok(Status::Ok)
            })
        },
    )?;
    linker.func_wrap("env", "proxy_get_log_level", |mut c: Caller<'_, HostState>, level_at: u32| {
        hostcall(&mut c, "proxy_get_log_level", |c| {
            write_u32(c, level_at, 0)?;
            Ok(Status::Ok)
        })
    })?;
    linker.func_wrap(
        "env",
        "proxy_get_current_time_nanoseconds",
        |mut c: Caller<'_, HostState>, time_at: u32| {
            hostcall(&mut c, "proxy_get_current_time_nanoseconds", |c| {
                let now = c.data().now_ns;
                write_u64(c, time_at, now)?;
                Ok(Status::Ok)
            })
        },
    )?;
    linker.func_wrap(
        "env",
        "proxy_set_tick_period_milliseconds",
        |mut c: Caller<'_, HostState>, period: u32| {
            hostcall(&mut c, "proxy_set_tick_period_milliseconds", |c| {
                c.data_mut().set_tick(period);
                Ok(Status::Ok)
            })
        },
    )?;
    linker.func_wrap(
        "env",
        "proxy_set_effective_context",
        |mut c: Caller<'_, HostState>, context: u32| {
            hostcall(&mut c, "proxy_set_effective_context", |c| {
                let state = c.data_mut();
                if !state.has_context(context) {
                    return Ok(Status::BadArgument);
                }
                state.effective = context;
                Ok(Status::Ok)
            })
        },
    )?;
    linker.func_wrap("env", "proxy_done", |mut c: Caller<'_, HostState>| {
        hostcall(&mut c, "proxy_done", |_| Ok(Status::Ok))
    })?;
    linker.func_wrap(
        "env",
        "proxy_get_buffer_bytes",
        |mut c: Caller<'_, HostState>, kind: u32, start: u32, max: u32, data_at: u32, size_at: u32| {
            hostcall(&mut c, "proxy_get_buffer_bytes", |c| {
                let buffer = match kind {
                    BUFFER_GRPC_RECEIVE => c.data().grpc.receiving.clone(),
                    BUFFER_VM_CONFIGURATION => Vec::new(),
                    BUFFER_PLUGIN_CONFIGURATION => c.data().plugin_config.clone(),
                    _ => return Ok(Status::NotFound),
                };
                let start = usize::try_from(start)?.min(buffer.len());
                let end = start.saturating_add(usize::try_from(max)?).min(buffer.len());
                hand_over(c, &buffer[start..end], data_at, size_at)?;
                Ok(Status::Ok)
            })
        },
    )?;
    linker.func_wrap(
        "env",
        "proxy_get_property",
        |mut c: Caller<'_, HostState>, at: u32, length: u32, data_at: u32, size_at: u32| {
            hostcall(&mut c, "proxy_get_property", |c| {
                let path = String::from_utf8_lossy(&read(c, at, length)?).replace('\0', ".");
                match c.data_mut().property(&path) {
                    Some(value) => hand_over(c, &value, data_at, size_at)?,
                    None => return Ok(Status::NotFound),
                }
                Ok(Status::Ok)
            })
        },
    )?;
    linker.func_wrap(
        "env",
        "proxy_set_property",
        |mut c: Caller<'_, HostState>, at: u32, length: u32, value_at: u32, value_length: u32| {
            hostcall(&mut c, "proxy_set_property", |c| {
                let path = String::from_utf8_lossy(&read(c, at, length)?).replace('\0', ".");
                let value = read(c, value_at, value_length)?;
                match c.data_mut().stream() {
                    Some(stream) => stream.filter_state.insert(path, value),
                    None => return Ok(Status::NotFound),
                };
                Ok(Status::Ok)
            })
        },
    )?;
    Ok(())
}

fn link_metrics(linker: &mut Linker<HostState>) -> Result<()> {
    linker.func_wrap(
        "env",
        "proxy_define_metric",
        |mut c: Caller<'_, HostState>, kind: u32, at: u32, length: u32, id_at: u32| {
            hostcall(&mut c, "proxy_define_metric", |c| {
                let name = String::from_utf8_lossy(&read(c, at, length)?).into_owned();
                match c.data_mut().metrics.define(kind, name) {
                    Ok(id) => write_u32(c, id_at, id)?,
                    Err(status) => return Ok(status),
                }
                Ok(Status::Ok)
            })
        },
    )?;
    linker.func_wrap(
        "env",
        "proxy_increment_metric",
        |mut c: Caller<'_, HostState>, id: u32, offset: i64| {
            hostcall(&mut c, "proxy_increment_metric", |c| {
                Ok(c.data_mut().metrics.increment(id, offset).err().unwrap_or(Status::Ok))
            })
        },
    )?;
    linker.func_wrap("env", "proxy_record_metric", |mut c: Caller<'_, HostState>, id: u32, value: u64| {
        hostcall(&mut c, "proxy_record_metric", |c| {
            Ok(c.data_mut().metrics.record(id, value).err().unwrap_or(Status::Ok))
        })
    })?;
    linker.func_wrap("env", "proxy_get_metric", |mut c: Caller<'_, HostState>, id: u32, value_at: u32| {
        hostcall(&mut c, "proxy_get_metric", |c| {
            match c.data_mut().metrics.get(id) {
                Ok(value) => write_u64(c, value_at, value)?,
                Err(status) => return Ok(status),
            }
            Ok(Status::Ok)
        })
    })?;
    Ok(())
}

fn link_grpc(linker: &mut Linker<HostState>) -> Result<()> {
    linker.func_wrap(
        "env",
        "proxy_grpc_stream",
        |mut c: Caller<'_, HostState>,
         cluster_at: u32,
         cluster_length: u32,
         service_at: u32,
         service_length: u32,
         method_at: u32,
         method_length: u32,
         _metadata_at: u32,
         _metadata_length: u32,
         id_at: u32| {
            hostcall(&mut c, "proxy_grpc_stream", |c| {
                let text = |at, length| -> Result<String> {
                    Ok(String::from_utf8_lossy(&read(c, at, length)?).into_owned())
                };
                let service = text(service_at, service_length)?;
                let method = text(method_at, method_length)?;
                let stream = GrpcStream {
                    context: c.data().effective,
                    cluster: cluster_name(&read(c, cluster_at, cluster_length)?),
                    method: format!("{service}/{method}"),
                    sent: Vec::new(),
                };
                match c.data_mut().grpc.open(stream) {
                    Ok(id) => write_u32(c, id_at, id)?,
                    Err(status) => return Ok(status),
                }
                Ok(Status::Ok)
            })
        },
    )?;
    linker.func_wrap(
        "env",
        "proxy_grpc_send",
        |mut c: Caller<'_, HostState>, id: u32, at: u32, length: u32, _end: u32| {
            hostcall(&mut c, "proxy_grpc_send", |c| {
                let message = read(c, at, length)?;
                // Envoy keeps streams by context: nobody can send on another's.
                let context = c.data().effective;
                let stream = c.data_mut().grpc.open.get_mut(&id);
                match stream.filter(|stream| stream.context == context) {
                    Some(stream) => stream.sent.push(message),
                    None => return Ok(Status::NotFound),
                }
                Ok(Status::Ok)
            })
        },
    )?;
    for name in ["proxy_grpc_close", "proxy_grpc_cancel"] {
        linker.func_wrap("env", name, move |mut c: Caller<'_, HostState>, id: u32| {
            hostcall(&mut c, name, |c| {
                let state = c.data_mut();
                let found = state.grpc.open.get(&id);
                if found.is_none_or(|stream| stream.context != state.effective) {
                    return Ok(Status::NotFound);
                }
                state.grpc.open.remove(&id);
                Ok(Status::Ok)
            })
        })?;
    }
    linker.func_wrap(
        "env",
        "proxy_get_status",
        |mut c: Caller<'_, HostState>, code_at: u32, data_at: u32, size_at: u32| {
            hostcall(&mut c, "proxy_get_status", |c| {
                let status = c.data().grpc.status;
                write_u32(c, code_at, status)?;
                hand_over(c, b"the fake host closed the stream", data_at, size_at)?;
                Ok(Status::Ok)
            })
        },
    )?;
    Ok(())
}
