//! The gRPC streams of a VM, from the server's side.

use std::collections::BTreeMap;

use anyhow::Context as _;

use super::grpc::{GrpcMode, GrpcStream};
use super::vm::Vm;

// === impl Vm ===

impl Vm {
    /// What happens when the guest opens a stream from now on.
    pub fn set_grpc_mode(&mut self, mode: GrpcMode) {
        self.store.data_mut().grpc.mode = mode;
    }

    /// The open streams by id.
    #[must_use]
    pub fn grpc_streams(&self) -> &BTreeMap<u32, GrpcStream> {
        &self.store.data().grpc.open
    }

    /// How many streams the guest has opened so far.
    #[must_use]
    pub fn grpc_opened(&self) -> u32 {
        self.store.data().grpc.opened
    }

    /// Takes what the guest sent on a stream since the last time.
    pub fn take_sent(&mut self, stream: u32) -> Vec<Vec<u8>> {
        let stream = self.store.data_mut().grpc.open.get_mut(&stream);
        stream.map(|stream| std::mem::take(&mut stream.sent)).unwrap_or_default()
    }

    /// The server accepts a stream: its response headers arrive.
    ///
    /// # Errors
    ///
    /// When the guest traps, or there is no such stream.
    pub fn grpc_accept(&mut self, stream: u32) -> anyhow::Result<()> {
        self.initial_metadata(stream, 2)
    }

    /// A message arrives on a stream.
    ///
    /// # Errors
    ///
    /// When the guest traps, or there is no such stream.
    pub fn grpc_message(&mut self, stream: u32, message: &[u8]) -> anyhow::Result<()> {
        let context = self.grpc_context(stream)?;
        self.store.data_mut().grpc.receiving = message.to_vec();
        let length = u32::try_from(message.len())?;
        let done = self.enter(context, "proxy_on_grpc_receive", (context, stream, length));
        self.store.data_mut().grpc.receiving = Vec::new();
        done
    }

    /// A stream is closed by the other end.
    ///
    /// # Errors
    ///
    /// When the guest traps, or there is no such stream.
    pub fn grpc_close(&mut self, stream: u32, status: u32) -> anyhow::Result<()> {
        let context = self.grpc_context(stream)?;
        let grpc = &mut self.store.data_mut().grpc;
        grpc.open.remove(&stream);
        grpc.status = status;
        self.enter(context, "proxy_on_grpc_close", (context, stream, status))
    }

    /// What the mode says comes after the guest's callback, as in Envoy: a failure that Envoy found
    /// itself arrives as response headers that are empty, then the close.
    pub(super) fn close_failed_streams(&mut self) -> anyhow::Result<()> {
        for (stream, status) in std::mem::take(&mut self.store.data_mut().grpc.to_close) {
            if self.store.data().grpc.open.contains_key(&stream) {
                self.initial_metadata(stream, 0)?;
                self.grpc_close(stream, status)?;
            }
        }
        Ok(())
    }

    fn initial_metadata(&mut self, stream: u32, headers: u32) -> anyhow::Result<()> {
        let context = self.grpc_context(stream)?;
        self.enter(context, "proxy_on_grpc_receive_initial_metadata", (context, stream, headers))
    }

    fn grpc_context(&self, stream: u32) -> anyhow::Result<u32> {
        let stream = self.store.data().grpc.open.get(&stream);
        Ok(stream.context("no such gRPC stream")?.context)
    }
}
