//! The few WASI functions that the standard library pulls in, with Envoy's answers.

use wasmtime::{Caller, Linker, Result, bail};

use super::guest::{read, write, write_u32, write_u64};
use super::state::HostState;

const WASI: &str = "wasi_snapshot_preview1";
const SUCCESS: u32 = 0;
const BAD_DESCRIPTOR: u32 = 8;
/// Lines that the guest writes to its standard output or error, by log level.
const LEVEL_INFO: u32 = 2;
const LEVEL_ERROR: u32 = 4;

pub(super) fn link(linker: &mut Linker<HostState>) -> Result<()> {
    linker.func_wrap(
        WASI,
        "random_get",
        |mut c: Caller<'_, HostState>, at: u32, length: u32| -> Result<u32> {
            c.data_mut().count("random_get");
            let mut bytes = Vec::new();
            while bytes.len() < usize::try_from(length)? {
                bytes.extend_from_slice(&c.data_mut().next_random().to_le_bytes());
            }
            bytes.truncate(usize::try_from(length)?);
            write(&mut c, at, &bytes)?;
            Ok(SUCCESS)
        },
    )?;
    for name in ["environ_sizes_get", "args_sizes_get"] {
        linker.func_wrap(
            WASI,
            name,
            move |mut c: Caller<'_, HostState>, count_at: u32, size_at: u32| -> Result<u32> {
                c.data_mut().count(name);
                write_u32(&mut c, count_at, 0)?;
                write_u32(&mut c, size_at, 0)?;
                Ok(SUCCESS)
            },
        )?;
    }
    for name in ["environ_get", "args_get"] {
        linker.func_wrap(WASI, name, move |mut c: Caller<'_, HostState>, _: u32, _: u32| -> u32 {
            c.data_mut().count(name);
            SUCCESS
        })?;
    }
    linker.func_wrap(
        WASI,
        "clock_time_get",
        |mut c: Caller<'_, HostState>, _: u32, _: u64, time_at: u32| -> Result<u32> {
            c.data_mut().count("clock_time_get");
            let now = c.data().now_ns;
            write_u64(&mut c, time_at, now)?;
            Ok(SUCCESS)
        },
    )?;
    linker.func_wrap(
        WASI,
        "fd_write",
        |mut c: Caller<'_, HostState>, descriptor: u32, vectors: u32, count: u32, written_at: u32| {
            c.data_mut().count("fd_write");
            write_lines(&mut c, descriptor, vectors, count, written_at)
        },
    )?;
    linker.func_wrap(WASI, "proc_exit", |_: Caller<'_, HostState>, code: u32| -> Result<()> {
        bail!("the guest exited with {code}")
    })?;
    linker.func_wrap(WASI, "sched_yield", |_: Caller<'_, HostState>| SUCCESS)?;
    Ok(())
}

fn write_lines(
    c: &mut Caller<'_, HostState>,
    descriptor: u32,
    vectors: u32,
    count: u32,
    written_at: u32,
) -> Result<u32> {
    let level = match descriptor {
        1 => LEVEL_INFO,
        2 => LEVEL_ERROR,
        _ => return Ok(BAD_DESCRIPTOR),
    };
    let mut bytes = Vec::new();
    for vector in read(c, vectors, count.saturating_mul(8))?.chunks_exact(8) {
        let (at, length) = vector.split_at(4);
        let at = u32::from_le_bytes(at.try_into()?);
        let length = u32::from_le_bytes(length.try_into()?);
        bytes.extend_from_slice(&read(c, at, length)?);
    }
    write_u32(c, written_at, u32::try_from(bytes.len())?)?;
    let line = String::from_utf8_lossy(&bytes).trim_end().to_owned();
    c.data_mut().logs.push((level, line));
    Ok(SUCCESS)
}
