//! What the two sessions have in common, as the edge sees them.

use crate::{
    delta,
    error::SessionError,
    event::Output,
    memory::Memory,
    options::Options,
    snapshot::Snapshot,
    sotw,
    status::{Protocol, TypeStatus},
};
use envoy_types::pb::envoy::{
    config::core::v3::Node,
    service::discovery::v3::{
        DeltaDiscoveryRequest, DeltaDiscoveryResponse, DiscoveryRequest, DiscoveryResponse,
    },
};
use std::sync::Arc;

/// A session of either protocol.
pub(super) trait Machine: Send + Sized + 'static {
    type Request: Send + 'static;
    type Response: Send + 'static;
    const PROTOCOL: Protocol;

    fn new(options: Arc<Options>) -> Self;
    fn node(request: &Self::Request) -> Option<&Node>;
    fn on_request(
        &mut self,
        request: Self::Request,
        snapshot: Option<&Snapshot>,
        memory: &mut Memory,
    ) -> Result<Vec<Output<Self::Response>>, SessionError>;
    fn on_snapshot(&mut self, snapshot: &Snapshot, memory: &mut Memory) -> Vec<Output<Self::Response>>;
    fn on_grace_over(
        &mut self,
        snapshot: Option<&Snapshot>,
        memory: &mut Memory,
    ) -> Vec<Output<Self::Response>>;
    fn on_tick(&mut self, snapshot: Option<&Snapshot>, memory: &mut Memory) -> Vec<Output<Self::Response>>;
    fn awaits_answer(&self) -> bool;
    fn status(&self, snapshot: Option<&Snapshot>, memory: &Memory) -> Vec<TypeStatus>;
}

macro_rules! machine {
    ($session:ty, $request:ty, $response:ty, $protocol:expr) => {
        impl Machine for $session {
            type Request = $request;
            type Response = $response;
            const PROTOCOL: Protocol = $protocol;

            fn new(options: Arc<Options>) -> Self {
                Self::new(options)
            }

            fn node(request: &$request) -> Option<&Node> {
                request.node.as_ref()
            }

            fn on_request(
                &mut self,
                request: $request,
                snapshot: Option<&Snapshot>,
                memory: &mut Memory,
            ) -> Result<Vec<Output<$response>>, SessionError> {
                self.on_request(request, snapshot, memory)
            }

            fn on_snapshot(&mut self, snapshot: &Snapshot, memory: &mut Memory) -> Vec<Output<$response>> {
                self.on_snapshot(snapshot, memory)
            }

            fn on_grace_over(
                &mut self,
                snapshot: Option<&Snapshot>,
                memory: &mut Memory,
            ) -> Vec<Output<$response>> {
                self.on_grace_over(snapshot, memory)
            }

            fn on_tick(
                &mut self,
                snapshot: Option<&Snapshot>,
                memory: &mut Memory,
            ) -> Vec<Output<$response>> {
                self.on_tick(snapshot, memory)
            }

            fn awaits_answer(&self) -> bool {
                self.awaits_answer()
            }

            fn status(&self, snapshot: Option<&Snapshot>, memory: &Memory) -> Vec<TypeStatus> {
                self.status(snapshot, memory)
            }
        }
    };
}

machine!(delta::Session, DeltaDiscoveryRequest, DeltaDiscoveryResponse, Protocol::Delta);
machine!(sotw::Session, DiscoveryRequest, DiscoveryResponse, Protocol::Sotw);
