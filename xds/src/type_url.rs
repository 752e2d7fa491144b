//! Type URLs of the resource types that a typical Envoy asks for.
//!
//! The machines in this crate work with any type URL. The ones below get the order and the
//! grouping that the xDS protocol prescribes for them; any other is treated like
//! [`EXTENSION_CONFIG`], that is, as something that listeners may refer to.

/// Clusters (CDS).
pub const CLUSTER: &str = "type.googleapis.com/envoy.config.cluster.v3.Cluster";

/// Endpoints of a cluster (EDS).
pub const ENDPOINT: &str = "type.googleapis.com/envoy.config.endpoint.v3.ClusterLoadAssignment";

/// Configuration of one filter (ECDS).
pub const EXTENSION_CONFIG: &str = "type.googleapis.com/envoy.config.core.v3.TypedExtensionConfig";

/// TLS secrets (SDS).
pub const SECRET: &str = "type.googleapis.com/envoy.extensions.transport_sockets.tls.v3.Secret";

/// Listeners (LDS).
pub const LISTENER: &str = "type.googleapis.com/envoy.config.listener.v3.Listener";

/// Route configurations (RDS).
pub const ROUTE: &str = "type.googleapis.com/envoy.config.route.v3.RouteConfiguration";

/// Virtual hosts on their own (VHDS).
pub const VIRTUAL_HOST: &str = "type.googleapis.com/envoy.config.route.v3.VirtualHost";

/// The name that subscribes to every resource of a type.
pub const WILDCARD: &str = "*";
