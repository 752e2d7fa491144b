//! The stream over mutual TLS, on a real port.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::Arc;

use hyper_util::rt::TokioIo;
use jiff::{SignedDuration, Timestamp};
use keyward_filter_core::wire::{Subscribe, TableVersion, Version, client_message, server_message};
use keyward_keys::KeyIndex;
use keyward_pki::{Authority, Folder, Issued, Overwrite, Validity};
use keyward_tls::{Clients, TlsConfig, TlsFiles, TlsListener};
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName};
use rustls::{ClientConfig, RootCertStore};
use tokio::net::{TcpListener, TcpStream};
use tokio::time::timeout;
use tokio_rustls::TlsConnector;
use tonic::Code;
use tonic::transport::{Channel, Endpoint, Server};
use tower::service_fn;

use super::super::*;

/// The longest that anything may take.
const WAIT: Duration = Duration::from_secs(20);
const ROLE: &str = "keyward-system~gateway-proxy";

/// A gRPC port, whose keys are for [`ROLE`].
struct Port {
    _folder: tempfile::TempDir,
    authority: Authority,
    address: SocketAddr,
    workers: WorkersHandle,
    _view: watch::Sender<KeyView>,
}

fn hour() -> Validity {
    Validity::starting(Timestamp::now(), SignedDuration::from_hours(1)).unwrap()
}

impl Port {
    async fn open() -> Self {
        let temporary = tempfile::tempdir().unwrap();
        let folder = Folder::new(temporary.path());
        let authority = Authority::create(hour()).unwrap();
        let server = authority.server(&["localhost".to_owned()], hour()).unwrap();
        folder.create(&authority, &server, Overwrite::Never).unwrap();
        let files = TlsFiles {
            certificate: folder.server_path(),
            key: folder.server_path(),
            clients: Clients::Proxies { trust: folder.trust_path(), revoked: folder.revoked_path() },
        };
        let config = TlsConfig::open("test", files).unwrap();
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let wanted = BTreeMap::from([(ROLE.to_owned(), Default::default())]);
        let (sender, view) = watch::channel(KeyIndex::new().view(wanted));
        let workers = WorkersHandle::new();
        let service = KeyStream::new(view, workers.clone(), Admission::Certified);
        let connections = TlsListener::new(listener, config).unwrap().into_stream();
        tokio::spawn(Server::builder().add_service(service).serve_with_incoming(connections));
        Self { _folder: temporary, authority, address, workers, _view: sender }
    }

    async fn connect(&self, identity: &Issued) -> Channel {
        let mut roots = RootCertStore::empty();
        roots.add(CertificateDer::from_pem_slice(self.authority.certificate().as_bytes()).unwrap()).unwrap();
        let text = identity.reveal();
        let chain = vec![CertificateDer::from_pem_slice(text.as_bytes()).unwrap()];
        let key = PrivateKeyDer::from_pem_slice(text.as_bytes()).unwrap();
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let mut config = ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_root_certificates(roots)
            .with_client_auth_cert(chain, key)
            .unwrap();
        config.alpn_protocols = vec![b"h2".to_vec()];
        let (connector, address) = (TlsConnector::from(Arc::new(config)), self.address);
        let connect = service_fn(move |_| {
            let connector = connector.clone();
            async move {
                let stream = TcpStream::connect(address).await?;
                let name = ServerName::try_from("localhost").unwrap();
                Ok::<_, std::io::Error>(TokioIo::new(connector.connect(name, stream).await?))
            }
        });
        let endpoint = Endpoint::from_static("http://localhost");
        timeout(WAIT, endpoint.connect_with_connector(connect)).await.expect("in time").expect("a connection")
    }

    /// Subscribes as a worker of this role that holds a table which nobody wants any more; tells what
    /// the server says first.
    async fn subscribe(&self, identity: &Issued, role: &str) -> Result<ServerMessage, Status> {
        let subscribe = Subscribe {
            role: role.to_owned(),
            held: vec![TableVersion {
                table: "old".to_owned(),
                version: Some(Version::default()),
                content: None,
            }],
            ..Subscribe::default()
        };
        let message = ClientMessage { kind: Some(client_message::Kind::Subscribe(subscribe)) };
        let (sender, messages) = mpsc::channel(1);
        sender.send(message).await.unwrap();
        let mut client = tonic::client::Grpc::new(self.connect(identity).await);
        client.ready().await.unwrap();
        let codec = ProstCodec::<ClientMessage, ServerMessage>::default();
        let path = format!("/{SERVICE}/{METHOD}").parse().unwrap();
        let call = client.streaming(Request::new(ReceiverStream::new(messages)), path, codec);
        let mut answers = timeout(WAIT, call).await.expect("in time")?.into_inner();
        let first = timeout(WAIT, answers.message()).await.expect("an answer in time")?;
        Ok(first.expect("an answer"))
    }
}

#[tokio::test]
async fn keys_are_for_the_holder_of_the_certificate_and_for_nobody_who_only_says_so() {
    let port = Port::open().await;
    let issue = |role: &str| port.authority.proxy(&role.parse().unwrap(), hour()).unwrap();
    let (right, other) = (issue(ROLE), issue("keyward-system~other"));
    for (identity, claimed) in [(&other, ROLE), (&right, "keyward-system~other"), (&right, "")] {
        let status = port.subscribe(identity, claimed).await.unwrap_err();
        assert_eq!(status.code(), Code::PermissionDenied, "{claimed}: {status:?}");
    }
    let end = Instant::now() + WAIT;
    while port.workers.read(|workers, _| workers.iter().count()) > 0 {
        assert!(Instant::now() < end, "somebody who was refused is among the workers");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    let answer = port.subscribe(&right, ROLE).await.unwrap();
    assert!(matches!(answer.kind, Some(server_message::Kind::Drop(_))), "{answer:?}");
}
