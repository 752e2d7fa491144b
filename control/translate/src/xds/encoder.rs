//! Encodings that are kept from one time to the next.

use std::collections::HashMap;
use std::sync::{Arc, Weak};

use prost::bytes::Bytes;

use super::{Encoded, clusters, encode, routes};
use crate::input::Settings;
use crate::proxy::{Cluster, VirtualHost};

/// Below this, nothing that is out of use is looked for.
const MIN_KEPT: usize = 1024;

/// Makes xDS resources again and again, and encodes anew only what is not the same as before. What comes
/// out is the same as from [`crate::xds()`].
#[derive(Debug, Default)]
pub struct Encoder {
    /// By the address, which stays taken as long as there is a weak reference to it.
    hosts: HashMap<usize, (Weak<VirtualHost>, Bytes)>,
    clusters: HashMap<String, (Cluster, EncodedCluster)>,
}

/// A cluster, and its endpoints if it gets them over EDS.
#[derive(Debug, Clone)]
pub(super) struct EncodedCluster {
    pub(super) cluster: Encoded,
    pub(super) endpoints: Option<Encoded>,
}

// === impl Encoder ===

impl Encoder {
    /// The bytes of a virtual host. With other settings there are other virtual hosts.
    pub(super) fn host(&mut self, host: &Arc<VirtualHost>, settings: &Settings) -> Bytes {
        let encode = || (Arc::downgrade(host), encode::part(&routes::virtual_host(host, settings)));
        self.hosts.entry(Arc::as_ptr(host) as usize).or_insert_with(encode).1.clone()
    }

    /// The resources of a cluster.
    pub(super) fn cluster(&mut self, cluster: &Cluster) -> EncodedCluster {
        if let Some((same, encoded)) = self.clusters.get(&cluster.name)
            && same == cluster
        {
            return encoded.clone();
        }
        let endpoints = clusters::load_assignment(cluster);
        let encoded = EncodedCluster {
            cluster: encode::encode(&cluster.name, &clusters::cluster(cluster)),
            endpoints: endpoints.map(|endpoints| encode::encode(&endpoints.cluster_name, &endpoints)),
        };
        self.clusters.insert(cluster.name.clone(), (cluster.clone(), encoded.clone()));
        encoded
    }

    /// Forgets what is out of use, once that is as much as what is in use: so many virtual hosts and
    /// clusters at the most.
    pub(super) fn tidy(&mut self, hosts: usize, clusters: usize) {
        if self.hosts.len() > MIN_KEPT.max(2 * hosts) {
            self.hosts.retain(|_, (host, _)| host.strong_count() > 0);
        }
        if self.clusters.len() > MIN_KEPT.max(2 * clusters) {
            self.clusters.clear();
        }
    }
}
