//! The gRPC streams that a guest opened.

use std::collections::BTreeMap;

use super::Status;

/// What happens when the guest opens a stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum GrpcMode {
    /// It is opened.
    #[default]
    Accept,
    /// The hostcall fails with this code.
    Refuse(Status),
    /// It is opened and closed with this gRPC status as soon as the guest's callback returns, as
    /// Envoy does when the cluster has no host that answers.
    CloseAtOnce(u32),
}

/// One stream.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GrpcStream {
    /// The context that opened it.
    pub context: u32,
    /// The cluster that it goes to.
    pub cluster: String,
    /// Service and method, `package.Service/Method`.
    pub method: String,
    /// What the guest sent and nobody took yet.
    pub sent: Vec<Vec<u8>>,
}

/// All streams of a VM.
#[derive(Debug, Default)]
pub(super) struct Grpc {
    pub(super) mode: GrpcMode,
    pub(super) open: BTreeMap<u32, GrpcStream>,
    /// How many were opened so far.
    pub(super) opened: u32,
    /// Status of the stream that is being closed.
    pub(super) status: u32,
    /// Message that is being received.
    pub(super) receiving: Vec<u8>,
    /// Streams to close when the guest's callback returns.
    pub(super) to_close: Vec<(u32, u32)>,
}

// === impl Grpc ===

impl Grpc {
    pub(super) fn open(&mut self, stream: GrpcStream) -> Result<u32, Status> {
        if let GrpcMode::Refuse(status) = self.mode {
            return Err(status);
        }
        // Envoy numbers streams with odd numbers, calls with even ones.
        let id = self.opened * 2 + 1;
        self.opened += 1;
        self.open.insert(id, stream);
        if let GrpcMode::CloseAtOnce(status) = self.mode {
            self.to_close.push((id, status));
        }
        Ok(id)
    }
}
