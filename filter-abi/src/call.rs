//! Calls to the proxy. Values are bytes throughout: a client may send any.

#![expect(unsafe_code, reason = "the proxy is outside of what the compiler knows")]

use std::ptr;

/// The proxy did not do what it was asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Failed;

/// Headers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Map {
    /// Of the request.
    Request = 0,
    /// Of the response.
    Response = 2,
}

/// Bytes that the proxy holds for the time of a callback.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Buffer {
    /// The message that came over a gRPC stream.
    GrpcMessage = 5,
    /// The plugin configuration.
    PluginConfiguration = 7,
}

/// How loud a line in the log is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Level {
    /// As it should be, and rare.
    Info = 2,
    /// Something needs a look.
    Warn = 3,
    /// Something did not work.
    Error = 4,
}

/// How a metric behaves.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// Only grows.
    Counter = 0,
    /// Goes up and down.
    Gauge = 1,
}

const OK: u32 = 0;
/// The request's side of a stream.
const REQUEST: u32 = 0;
/// No gRPC status.
const NO_STATUS: i32 = -1;

#[link(wasm_import_module = "wasi_snapshot_preview1")]
unsafe extern "C" {
    fn random_get(bytes: *mut u8, length: usize) -> u32;
}

#[link(wasm_import_module = "env")]
unsafe extern "C" {
    fn proxy_log(level: u32, text: *const u8, length: usize) -> u32;
    fn proxy_get_current_time_nanoseconds(time: *mut u64) -> u32;
    fn proxy_set_tick_period_milliseconds(period: u32) -> u32;
    fn proxy_set_effective_context(context: u32) -> u32;
    fn proxy_continue_stream(side: u32) -> u32;
    fn proxy_get_buffer_bytes(
        buffer: u32,
        start: usize,
        length: usize,
        data: *mut *mut u8,
        size: *mut usize,
    ) -> u32;
    fn proxy_get_property(path: *const u8, length: usize, data: *mut *mut u8, size: *mut usize) -> u32;
    fn proxy_set_property(path: *const u8, length: usize, value: *const u8, value_length: usize) -> u32;
    fn proxy_get_header_map_value(
        map: u32,
        name: *const u8,
        length: usize,
        data: *mut *mut u8,
        size: *mut usize,
    ) -> u32;
    fn proxy_get_header_map_pairs(map: u32, data: *mut *mut u8, size: *mut usize) -> u32;
    fn proxy_replace_header_map_value(
        map: u32,
        name: *const u8,
        name_length: usize,
        value: *const u8,
        value_length: usize,
    ) -> u32;
    fn proxy_remove_header_map_value(map: u32, name: *const u8, length: usize) -> u32;
    fn proxy_send_local_response(
        status: u32,
        details: *const u8,
        details_length: usize,
        body: *const u8,
        body_length: usize,
        headers: *const u8,
        headers_length: usize,
        grpc_status: i32,
    ) -> u32;
    fn proxy_define_metric(kind: u32, name: *const u8, length: usize, number: *mut u32) -> u32;
    fn proxy_increment_metric(number: u32, change: i64) -> u32;
    fn proxy_record_metric(number: u32, value: u64) -> u32;
    fn proxy_grpc_stream(
        target: *const u8,
        target_length: usize,
        service: *const u8,
        service_length: usize,
        method: *const u8,
        method_length: usize,
        metadata: *const u8,
        metadata_length: usize,
        stream: *mut u32,
    ) -> u32;
    fn proxy_grpc_send(stream: u32, message: *const u8, length: usize, end: u32) -> u32;
    fn proxy_grpc_cancel(stream: u32) -> u32;
}

fn done(status: u32) -> Result<(), Failed> {
    if status == OK { Ok(()) } else { Err(Failed) }
}

/// Memory for what a host call gives back; [`taken`] takes it over. Nothing if there is none: then the
/// call fails, and nothing else.
#[doc(hidden)]
#[must_use]
pub fn allocate(size: usize) -> *mut u8 {
    let mut memory: Vec<u8> = Vec::new();
    if memory.try_reserve_exact(size).is_err() {
        return ptr::null_mut();
    }
    // There is no telling whether the proxy fills all of it.
    memory.resize(size, 0);
    Box::into_raw(memory.into_boxed_slice()).cast()
}

/// What a host call gave back.
fn taken(call: impl FnOnce(*mut *mut u8, *mut usize) -> u32) -> Option<Vec<u8>> {
    let (mut data, mut size) = (ptr::null_mut(), 0_usize);
    if call(&raw mut data, &raw mut size) != OK {
        return None;
    }
    if data.is_null() {
        return Some(Vec::new());
    }
    // SAFETY: the proxy writes what it gives back into memory of the size that it gave `allocate`, tells
    // the address and this size, and forgets both. `allocate` made it as a boxed slice of that size.
    Some(unsafe { Vec::from_raw_parts(data, size, size) })
}

/// Writes a line into the proxy's log.
pub fn log(level: Level, text: &str) {
    // SAFETY: the proxy reads the bytes during the call.
    let _ = unsafe { proxy_log(level as u32, text.as_ptr(), text.len()) };
}

/// The wall clock in nanoseconds since 1970, if the proxy tells.
#[must_use]
pub fn nanoseconds() -> Option<u64> {
    let mut time = 0;
    // SAFETY: the proxy writes one number during the call.
    done(unsafe { proxy_get_current_time_nanoseconds(&raw mut time) }).ok()?;
    Some(time)
}

/// Eight random bytes, if the proxy gives them.
#[must_use]
pub fn random() -> Option<u64> {
    let mut bytes = [0_u8; 8];
    // SAFETY: the proxy writes as many bytes as it is told to.
    done(unsafe { random_get(bytes.as_mut_ptr(), bytes.len()) }).ok()?;
    Some(u64::from_le_bytes(bytes))
}

/// Sets how often the current root is called.
pub fn set_tick(milliseconds: u32) {
    // SAFETY: it takes a number.
    let _ = unsafe { proxy_set_tick_period_milliseconds(milliseconds) };
}

/// Makes what follows happen in a context.
///
/// # Errors
///
/// When there is none of this number.
pub fn enter(context: u32) -> Result<(), Failed> {
    // SAFETY: it takes a number.
    done(unsafe { proxy_set_effective_context(context) })
}

/// Lets a paused request go on.
///
/// # Errors
///
/// When the proxy refuses.
pub fn resume_request() -> Result<(), Failed> {
    // SAFETY: it takes a number.
    done(unsafe { proxy_continue_stream(REQUEST) })
}

/// Bytes that the proxy holds, whole or not at all.
#[must_use]
pub fn buffer(which: Buffer, size: usize) -> Option<Vec<u8>> {
    // SAFETY: the proxy gives back as `taken` wants it.
    let bytes = taken(|data, length| unsafe { proxy_get_buffer_bytes(which as u32, 0, size, data, length) });
    bytes.filter(|bytes| bytes.len() == size)
}

/// A property by its path, the parts of which are separated by zero bytes.
#[must_use]
pub fn property(path: &[u8]) -> Option<Vec<u8>> {
    // SAFETY: the proxy reads the path during the call, and gives back as `taken` wants it.
    taken(|data, size| unsafe { proxy_get_property(path.as_ptr(), path.len(), data, size) })
}

/// Sets a property of the request; the proxy puts `wasm.` before its name.
///
/// # Errors
///
/// When the proxy refuses.
pub fn set_property(name: &[u8], value: &[u8]) -> Result<(), Failed> {
    // SAFETY: the proxy reads both during the call.
    done(unsafe { proxy_set_property(name.as_ptr(), name.len(), value.as_ptr(), value.len()) })
}

/// The first value of a header.
#[must_use]
pub fn header(map: Map, name: &str) -> Option<Vec<u8>> {
    // SAFETY: the proxy reads the name during the call, and gives back as `taken` wants it.
    taken(|data, size| unsafe {
        proxy_get_header_map_value(map as u32, name.as_ptr(), name.len(), data, size)
    })
}

/// All headers, as the proxy lays them out: how many, the lengths of each name and value, and then each with
/// a zero byte.
#[must_use]
pub fn headers(map: Map) -> Option<Vec<u8>> {
    // SAFETY: the proxy gives back as `taken` wants it.
    taken(|data, size| unsafe { proxy_get_header_map_pairs(map as u32, data, size) })
}

/// Gives a header exactly one value.
///
/// # Errors
///
/// When the proxy refuses.
pub fn set_header(map: Map, name: &str, value: &[u8]) -> Result<(), Failed> {
    // SAFETY: the proxy reads both during the call.
    done(unsafe {
        proxy_replace_header_map_value(map as u32, name.as_ptr(), name.len(), value.as_ptr(), value.len())
    })
}

/// Removes every value of a header.
///
/// # Errors
///
/// When the proxy refuses.
pub fn remove_header(map: Map, name: &str) -> Result<(), Failed> {
    // SAFETY: the proxy reads the name during the call.
    done(unsafe { proxy_remove_header_map_value(map as u32, name.as_ptr(), name.len()) })
}

/// Answers a request, without a body. `details` stand in access logs.
///
/// # Errors
///
/// When the proxy refuses.
pub fn reply(status: u16, details: &str, headers: &[(&str, &str)]) -> Result<(), Failed> {
    let headers = pairs(headers);
    // SAFETY: the proxy reads all of it during the call; a body of no bytes is not read.
    done(unsafe {
        proxy_send_local_response(
            u32::from(status),
            details.as_ptr(),
            details.len(),
            ptr::null(),
            0,
            headers.as_ptr(),
            headers.len(),
            NO_STATUS,
        )
    })
}

/// A list of headers as the proxy reads it: how many, their lengths, and then each with a zero byte.
fn pairs(headers: &[(&str, &str)]) -> Vec<u8> {
    let length = |text: &str| u32::try_from(text.len()).unwrap_or(u32::MAX).to_le_bytes();
    let mut bytes = Vec::with_capacity(128);
    bytes.extend(u32::try_from(headers.len()).unwrap_or(u32::MAX).to_le_bytes());
    for (name, value) in headers {
        bytes.extend(length(name));
        bytes.extend(length(value));
    }
    for text in headers.iter().flat_map(|(name, value)| [name, value]) {
        bytes.extend_from_slice(text.as_bytes());
        bytes.push(0);
    }
    bytes
}

/// Makes a metric known, and gives its number.
#[must_use]
pub fn define_metric(kind: Kind, name: &str) -> Option<u32> {
    let mut number = 0;
    // SAFETY: the proxy reads the name and writes one number during the call.
    done(unsafe { proxy_define_metric(kind as u32, name.as_ptr(), name.len(), &raw mut number) }).ok()?;
    Some(number)
}

/// Adds to a metric.
pub fn add(metric: u32, change: i64) {
    // SAFETY: it takes numbers.
    let _ = unsafe { proxy_increment_metric(metric, change) };
}

/// Writes a gauge.
pub fn set(metric: u32, value: u64) {
    // SAFETY: it takes numbers.
    let _ = unsafe { proxy_record_metric(metric, value) };
}

/// Opens a gRPC stream and gives its number.
///
/// # Errors
///
/// When the proxy does not even try.
pub fn open_stream(target: &[u8], service: &str, method: &str) -> Result<u32, Failed> {
    let mut stream = 0;
    let metadata = pairs(&[]);
    // SAFETY: the proxy reads all of it and writes one number during the call.
    done(unsafe {
        proxy_grpc_stream(
            target.as_ptr(),
            target.len(),
            service.as_ptr(),
            service.len(),
            method.as_ptr(),
            method.len(),
            metadata.as_ptr(),
            metadata.len(),
            &raw mut stream,
        )
    })?;
    Ok(stream)
}

/// Sends a message on a gRPC stream.
///
/// # Errors
///
/// When the stream is gone.
pub fn send(stream: u32, message: &[u8]) -> Result<(), Failed> {
    // SAFETY: the proxy reads the message during the call.
    done(unsafe { proxy_grpc_send(stream, message.as_ptr(), message.len(), 0) })
}

/// Abandons a gRPC stream.
pub fn cancel(stream: u32) {
    // SAFETY: it takes a number.
    let _ = unsafe { proxy_grpc_cancel(stream) };
}
