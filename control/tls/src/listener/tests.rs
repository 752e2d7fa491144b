use std::path::Path;
use std::time::Instant;

use axum::serve::Listener as _;
use jiff::{SignedDuration, Timestamp};
use keyward_pki::{Authority, Facts, Folder, Issued, Overwrite, ProxyRole, Validity};
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName};
use rustls::{ClientConfig, RootCertStore};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;
use tokio_util::sync::CancellationToken;

use super::*;
use crate::error::TlsError;
use crate::material::{Clients, TlsFiles};

/// The longest that anything may take.
const WAIT: Duration = Duration::from_secs(20);

fn lasting(lifetime: SignedDuration) -> Validity {
    Validity::starting(Timestamp::now(), lifetime).unwrap()
}

fn hour() -> Validity {
    lasting(SignedDuration::from_hours(1))
}

fn role(text: &str) -> ProxyRole {
    text.parse().unwrap()
}

/// A port with its folder of certificates. It answers each byte with the same.
struct Port {
    temporary: tempfile::TempDir,
    authority: Authority,
    address: SocketAddr,
    peers: mpsc::Receiver<Peer>,
    stop: CancellationToken,
}

fn fill(path: &Path) -> (Folder, Authority) {
    let folder = Folder::new(path);
    let authority = Authority::create(hour()).unwrap();
    let server = authority.server(&["localhost".to_owned()], hour()).unwrap();
    folder.create(&authority, &server, Overwrite::Replace).unwrap();
    (folder, authority)
}

fn files(folder: &Folder, proxies: bool) -> TlsFiles {
    let clients = if proxies {
        Clients::Proxies { trust: folder.trust_path(), revoked: folder.revoked_path() }
    } else {
        Clients::Anybody
    };
    TlsFiles { certificate: folder.server_path(), key: folder.server_path(), clients }
}

impl Port {
    async fn open(proxies: bool) -> Self {
        let temporary = tempfile::tempdir().unwrap();
        let (folder, authority) = fill(temporary.path());
        let config = TlsConfig::open("test", files(&folder, proxies)).unwrap();
        let stop = CancellationToken::new();
        tokio::spawn(config.clone().follow(stop.clone()));
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let mut listener = TlsListener::new(listener, config).unwrap();
        let address = listener.local_addr().unwrap();
        let (sender, peers) = mpsc::channel(16);
        tokio::spawn(async move {
            loop {
                let (mut connection, _) = listener.accept().await;
                // Only some tests look at who came.
                let _ = sender.try_send(connection.peer().clone());
                tokio::spawn(async move {
                    let mut byte = [0];
                    while let Ok(1) = connection.read(&mut byte).await {
                        connection.write_all(&byte).await.unwrap();
                        connection.flush().await.unwrap();
                    }
                });
            }
        });
        Self { temporary, authority, address, peers, stop }
    }

    fn folder(&self) -> Folder {
        Folder::new(self.temporary.path())
    }

    /// Connects as whoever holds this certificate, and exchanges a byte: in TLS 1.3 a client hears
    /// only then that it was refused.
    async fn connect(&self, identity: Option<&Issued>) -> io::Result<TlsStream<TcpStream>> {
        self.connect_trusting(&self.authority, identity).await
    }

    async fn connect_trusting(
        &self,
        trusted: &Authority,
        identity: Option<&Issued>,
    ) -> io::Result<TlsStream<TcpStream>> {
        let mut roots = RootCertStore::empty();
        roots.add(CertificateDer::from_pem_slice(trusted.certificate().as_bytes()).unwrap()).unwrap();
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let builder = ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_root_certificates(roots);
        let config = match identity {
            None => builder.with_no_client_auth(),
            Some(issued) => {
                let text = issued.reveal();
                let chain = vec![CertificateDer::from_pem_slice(text.as_bytes()).unwrap()];
                let key = PrivateKeyDer::from_pem_slice(text.as_bytes()).unwrap();
                builder.with_client_auth_cert(chain, key).unwrap()
            }
        };
        let connect = async {
            let stream = TcpStream::connect(self.address).await?;
            let name = ServerName::try_from("localhost").unwrap();
            let mut stream = TlsConnector::from(Arc::new(config)).connect(name, stream).await?;
            exchange(&mut stream).await?;
            Ok(stream)
        };
        timeout(WAIT, connect).await.expect("in time")
    }
}

impl Drop for Port {
    fn drop(&mut self) {
        self.stop.cancel();
    }
}

async fn exchange(stream: &mut TlsStream<TcpStream>) -> io::Result<()> {
    stream.write_all(b"x").await?;
    let mut byte = [0];
    timeout(WAIT, stream.read_exact(&mut byte)).await.expect("in time")?;
    assert_eq!(byte, *b"x");
    Ok(())
}

/// Waits until the stream is ended by the server; nothing is sent meanwhile.
async fn ended(stream: &mut TlsStream<TcpStream>) {
    let read = timeout(WAIT, stream.read(&mut [0])).await.expect("the connection ends in time");
    assert!(matches!(read, Ok(0) | Err(_)), "{read:?}");
}

#[tokio::test]
async fn a_proxy_is_who_its_certificate_says() {
    let mut port = Port::open(true).await;
    let identity = port.authority.proxy(&role("keyward-system~edge"), hour()).unwrap();
    port.connect(Some(&identity)).await.unwrap();
    let peer = port.peers.recv().await.unwrap();
    assert_eq!(peer.proxy, Some(role("keyward-system~edge")));
    assert!(peer.address.ip().is_loopback());
}

#[tokio::test]
async fn nobody_else_comes_in() {
    let mut port = Port::open(true).await;
    let other = Authority::create(hour()).unwrap();
    let forged = other.proxy(&role("keyward-system~edge"), hour()).unwrap();
    let server = port.authority.server(&["localhost".to_owned()], hour()).unwrap();
    let short = lasting(SignedDuration::from_secs(1));
    let old = port.authority.proxy(&role("keyward-system~edge"), short).unwrap();
    tokio::time::sleep(Duration::from_millis(2100)).await;
    for (who, identity) in
        [("nobody", None), ("forged", Some(&forged)), ("the server", Some(&server)), ("expired", Some(&old))]
    {
        assert!(port.connect(identity).await.is_err(), "{who} came in");
    }
    assert!(port.peers.try_recv().is_err(), "somebody was let in");
    // And a server with another authority is none for the client.
    let right = port.authority.proxy(&role("keyward-system~edge"), hour()).unwrap();
    assert!(port.connect_trusting(&other, Some(&right)).await.is_err());
    port.connect(Some(&right)).await.unwrap();
}

#[tokio::test]
async fn a_connection_does_not_outlive_the_clients_certificate() {
    let port = Port::open(true).await;
    let short = lasting(SignedDuration::from_secs(3));
    let identity = port.authority.proxy(&role("a~b"), short).unwrap();
    let lasting = port.authority.proxy(&role("a~c"), hour()).unwrap();
    let mut stays = port.connect(Some(&lasting)).await.unwrap();
    let mut goes = port.connect(Some(&identity)).await.unwrap();
    ended(&mut goes).await;
    assert!(port.connect(Some(&identity)).await.is_err());
    exchange(&mut stays).await.unwrap();
}

#[tokio::test]
async fn new_certificates_are_taken_up_and_connections_go_on() {
    let port = Port::open(false).await;
    let mut before = port.connect(None).await.unwrap();
    let (folder, start) = (port.folder(), Instant::now());
    let next = port.authority.server(&["localhost".to_owned(), "next.example".to_owned()], hour()).unwrap();
    folder.write_server(&next, Overwrite::Replace).unwrap();
    let expected = CertificateDer::from_pem_slice(next.certificate().as_bytes()).unwrap();
    loop {
        let stream = port.connect(None).await.unwrap();
        let (_, session) = stream.get_ref();
        if session.peer_certificates().unwrap()[0] == expected {
            break;
        }
        assert!(start.elapsed() < WAIT, "the new certificate is not taken up");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    exchange(&mut before).await.unwrap();
    // What cannot be used changes nothing.
    std::fs::write(folder.server_path(), "nothing").unwrap();
    tokio::time::sleep(Duration::from_millis(1500)).await;
    port.connect(None).await.unwrap();
    exchange(&mut before).await.unwrap();
}

#[tokio::test]
async fn when_another_authority_is_trusted_everybody_shows_their_certificate_again() {
    let port = Port::open(true).await;
    let identity = port.authority.proxy(&role("a~b"), hour()).unwrap();
    let mut connection = port.connect(Some(&identity)).await.unwrap();
    let next = Authority::create(hour()).unwrap();
    // First both, so that proxies can go over one by one.
    let both = format!("{}{}", port.authority.certificate(), next.certificate());
    std::fs::write(port.folder().trust_path(), both).unwrap();
    ended(&mut connection).await;
    let mut old = port.connect(Some(&identity)).await.unwrap();
    let renewed = next.proxy(&role("a~b"), hour()).unwrap();
    let mut new = port.connect(Some(&renewed)).await.unwrap();
    exchange(&mut new).await.unwrap();
    std::fs::write(port.folder().trust_path(), next.certificate()).unwrap();
    ended(&mut old).await;
    assert!(port.connect(Some(&identity)).await.is_err());
    port.connect(Some(&renewed)).await.unwrap();
}

#[tokio::test]
async fn a_revoked_certificate_opens_nothing_any_more() {
    let port = Port::open(true).await;
    let [goes, stays, first] =
        ["a~goes", "a~stays", "a~first"].map(|name| port.authority.proxy(&role(name), hour()).unwrap());
    let revoke = |issued: &Issued| {
        let facts = Facts::of_pem(issued.certificate().as_bytes()).unwrap();
        assert!(port.folder().revoke(&port.authority, &facts, Timestamp::now()).unwrap());
    };
    let mut before = [port.connect(Some(&goes)).await.unwrap(), port.connect(Some(&stays)).await.unwrap()];
    // When the list comes to be, and when it grows.
    for revoked in [&first, &goes] {
        revoke(revoked);
        // Whoever is connected has to show their certificate again.
        for stream in &mut before {
            ended(stream).await;
        }
        assert!(port.connect(Some(revoked)).await.is_err(), "it came in");
        before[1] = port.connect(Some(&stays)).await.unwrap();
        before[0] = port.connect(Some(&stays)).await.unwrap();
    }
    assert!(port.connect(Some(&first)).await.is_err(), "the first one came in again");
    // A new certificate of the same proxy is another one.
    let renewed = port.authority.proxy(&role("a~goes"), hour()).unwrap();
    port.connect(Some(&renewed)).await.unwrap();
    // A list that cannot be read, is none, or is away takes nothing back.
    let path = port.folder().revoked_path();
    for broken in ["-----BEGIN X509 CRL-----\nAAAA\n-----END X509 CRL-----\n", "no list at all", ""] {
        std::fs::write(&path, broken).unwrap();
        tokio::time::sleep(Duration::from_millis(1500)).await;
        assert!(port.connect(Some(&goes)).await.is_err(), "it came in again: {broken:?}");
    }
    std::fs::remove_file(&path).unwrap();
    tokio::time::sleep(Duration::from_millis(1500)).await;
    assert!(port.connect(Some(&goes)).await.is_err(), "it came in again without the list");
    port.connect(Some(&stays)).await.unwrap();
}

#[tokio::test]
async fn whoever_is_slow_at_shaking_hands_is_in_nobodys_way() {
    let port = Port::open(false).await;
    let mut idle = Vec::new();
    for _ in 0..50 {
        idle.push(TcpStream::connect(port.address).await.unwrap());
    }
    port.connect(None).await.unwrap();
    for stream in &mut idle {
        stream.write_all(b"GET / HTTP/1.1\r\n\r\n").await.unwrap();
    }
    port.connect(None).await.unwrap();
}

#[test]
fn what_is_wrong_with_files_is_said() {
    let temporary = tempfile::tempdir().unwrap();
    let (folder, authority) = fill(temporary.path());
    let tried = |files: TlsFiles| TlsConfig::open("test", files).map(|_| ()).unwrap_err();
    let right = files(&folder, true);
    assert!(TlsConfig::open("test", right.clone()).is_ok());
    let missing = temporary.path().join("missing.pem");
    assert!(matches!(tried(TlsFiles { key: missing, ..right.clone() }), TlsError::Read { .. }));
    let only_trust = folder.trust_path();
    assert!(matches!(tried(TlsFiles { key: only_trust, ..right.clone() }), TlsError::Key { .. }));
    let key = folder.authority_key_path();
    assert!(matches!(
        tried(TlsFiles { certificate: key.clone(), ..right.clone() }),
        TlsError::Certificate { .. }
    ));
    let error = tried(TlsFiles { key, ..right.clone() });
    assert!(matches!(error, TlsError::Pair { .. }) && !format!("{error:?}").contains("PRIVATE"), "{error}");
    std::fs::write(folder.revoked_path(), "none yet").unwrap();
    assert!(matches!(tried(right.clone()), TlsError::Revoked { path } if path == folder.revoked_path()));
    std::fs::remove_file(folder.revoked_path()).unwrap();
    std::fs::write(folder.trust_path(), "").unwrap();
    assert!(matches!(tried(right), TlsError::Certificate { .. }));
    drop(authority);
}
