//! Reading and writing the guest's memory.

use wasmtime::{AsContext as _, Caller, Memory, Result, bail, format_err};

use super::state::HostState;

fn memory(caller: &Caller<'_, HostState>) -> Result<Memory> {
    caller.data().memory.ok_or_else(|| format_err!("a hostcall before the memory is known"))
}

/// A pointer outside the memory ends the test: Envoy would refuse the call, and no filter of ours
/// may ever make one.
pub(super) fn read(caller: &Caller<'_, HostState>, at: u32, length: u32) -> Result<Vec<u8>> {
    let start = usize::try_from(at)?;
    let length = usize::try_from(length)?;
    let bytes = memory(caller)?.data(caller.as_context());
    match start.checked_add(length).and_then(|end| bytes.get(start..end)) {
        Some(bytes) => Ok(bytes.to_vec()),
        None => bail!("the guest passed {length} bytes at {at:#x}, outside its memory"),
    }
}

pub(super) fn write(caller: &mut Caller<'_, HostState>, at: u32, bytes: &[u8]) -> Result<()> {
    let memory = memory(caller)?;
    memory.write(caller, usize::try_from(at)?, bytes)?;
    Ok(())
}

pub(super) fn write_u32(caller: &mut Caller<'_, HostState>, at: u32, value: u32) -> Result<()> {
    write(caller, at, &value.to_le_bytes())
}

pub(super) fn write_u64(caller: &mut Caller<'_, HostState>, at: u32, value: u64) -> Result<()> {
    write(caller, at, &value.to_le_bytes())
}

/// Hands bytes to the guest in memory that its own allocator gives; no bytes are a null pointer.
pub(super) fn hand_over(
    caller: &mut Caller<'_, HostState>,
    bytes: &[u8],
    pointer_at: u32,
    size_at: u32,
) -> Result<()> {
    let size = u32::try_from(bytes.len())?;
    let mut pointer = 0;
    if size > 0 {
        let allocate = caller.data().allocate.clone();
        let allocate = allocate.ok_or_else(|| format_err!("a hostcall before the allocator is known"))?;
        caller.data_mut().count("malloc");
        pointer = allocate.call(&mut *caller, size)?;
        write(caller, pointer, bytes)?;
    }
    write_u32(caller, pointer_at, pointer)?;
    write_u32(caller, size_at, size)
}

/// Pairs as the ABI lays them out: count, then the lengths, then the bytes with a zero after each.
pub(super) fn decode_pairs(bytes: &[u8]) -> Option<Vec<(Vec<u8>, Vec<u8>)>> {
    if bytes.is_empty() {
        return Some(Vec::new());
    }
    let word = |at: usize| -> Option<usize> {
        let word = bytes.get(at..)?.first_chunk()?;
        usize::try_from(u32::from_le_bytes(*word)).ok()
    };
    let count = word(0)?;
    let mut at = count.checked_mul(8)?.checked_add(4)?;
    let mut take = |length: usize| -> Option<Vec<u8>> {
        let taken = bytes.get(at..at.checked_add(length)?)?.to_vec();
        at += length + 1;
        Some(taken)
    };
    (0..count).map(|pair| Some((take(word(4 + pair * 8)?)?, take(word(8 + pair * 8)?)?))).collect()
}

/// The opposite of [`decode_pairs`].
pub(super) fn encode_pairs<'a>(pairs: impl Iterator<Item = (&'a [u8], &'a [u8])> + Clone) -> Result<Vec<u8>> {
    let mut bytes = u32::try_from(pairs.clone().count())?.to_le_bytes().to_vec();
    for (name, value) in pairs.clone() {
        bytes.extend_from_slice(&u32::try_from(name.len())?.to_le_bytes());
        bytes.extend_from_slice(&u32::try_from(value.len())?.to_le_bytes());
    }
    for (name, value) in pairs {
        for part in [name, value] {
            bytes.extend_from_slice(part);
            bytes.push(0);
        }
    }
    Ok(bytes)
}
