use std::time::Duration;

use tokio::net::TcpStream;
use tokio::time::timeout;
use tokio_stream::StreamExt as _;

use super::*;

#[tokio::test]
async fn what_is_written_to_a_proxy_goes_out_at_once() {
    let listener = listen(([127, 0, 0, 1], 0).into(), "a test", "nothing").await.unwrap();
    let address = listener.local_addr().unwrap();
    let mut incoming = plain(listener);
    let _client = TcpStream::connect(address).await.unwrap();
    let accepted = timeout(Duration::from_secs(20), incoming.next()).await.unwrap().unwrap().unwrap();
    assert!(accepted.nodelay().unwrap());
}
