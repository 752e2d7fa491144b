//! The `kube` crate as a second client of the resource API: what its types and its watcher take for
//! granted of a Kubernetes server.

mod kit;
mod reads;
mod watches;
mod writes;
