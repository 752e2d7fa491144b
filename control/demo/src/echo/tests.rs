//! The echo over real connections, because framing and trailers are the server's work.

use std::net::SocketAddr;
use std::time::Duration;

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::oneshot;
use tokio::task::JoinHandle;
use tokio::time::timeout;

use super::{BodyEncoding, Echo, serve};

const PATIENCE: Duration = Duration::from_secs(10);

struct Server {
    address: SocketAddr,
    stop: oneshot::Sender<()>,
    task: JoinHandle<std::io::Result<()>>,
}

async fn start() -> Server {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let (stop, stopped) = oneshot::channel();
    let task = tokio::spawn(serve(listener, async move {
        let _ = stopped.await;
    }));
    Server { address, stop, task }
}

/// Sends bytes as they are and reads until the server closes.
async fn exchange(request: &[u8]) -> (String, Vec<String>, Vec<u8>) {
    let server = start().await;
    let mut stream = TcpStream::connect(server.address).await.unwrap();
    stream.write_all(request).await.unwrap();
    let mut answer = Vec::new();
    timeout(PATIENCE, stream.read_to_end(&mut answer)).await.expect("the answer ends").unwrap();
    let end = answer.windows(4).position(|four| four == b"\r\n\r\n").expect("the head ends");
    let head = String::from_utf8_lossy(&answer[..end]).into_owned();
    let mut lines = head.split("\r\n").map(str::to_owned);
    (lines.next().unwrap(), lines.collect(), answer[end + 4..].to_vec())
}

async fn echo(request: &[u8]) -> Echo {
    let (status, _, body) = exchange(request).await;
    assert_eq!(status, "HTTP/1.1 200 OK");
    serde_json::from_slice(&body).unwrap()
}

#[tokio::test]
async fn says_what_was_asked() {
    let echo = echo(
        b"PUT /a%20b/c?x=1&y HTTP/1.1\r\nhost: one\r\nX-Many: 1\r\nother: z\r\nx-many: 2\r\n\
          content-length: 5\r\nconnection: close\r\n\r\nhello",
    )
    .await;
    assert_eq!(
        (echo.method.as_str(), echo.path.as_str(), echo.query.as_deref()),
        ("PUT", "/a%20b/c", Some("x=1&y"))
    );
    assert_eq!(echo.header("x-many").collect::<Vec<_>>(), ["1", "2"]);
    assert_eq!(echo.header("host").collect::<Vec<_>>(), ["one"]);
    assert_eq!((echo.body.as_str(), echo.body_encoding), ("hello", BodyEncoding::Utf8));
    assert_eq!(echo.trailers, []);
}

#[tokio::test]
async fn has_a_line_for_each_header() {
    let (_, _, body) =
        exchange(b"GET /x HTTP/1.1\r\nhost: one\r\nx-quote: a\"b\r\nconnection: close\r\n\r\n").await;
    let text = String::from_utf8(body).unwrap();
    assert!(text.contains("\n  \"path\": \"/x\""), "{text}");
    assert!(text.contains("\n    [\"host\",\"one\"],\n    [\"x-quote\",\"a\\\"b\"]"), "{text}");
    assert!(text.ends_with("\n}\n"), "{text}");
}

#[tokio::test]
async fn writes_bytes_that_are_no_text() {
    let echo = echo(
        b"POST / HTTP/1.1\r\nhost: one\r\nx-bytes: a\xffb\xc3\xa4\r\ncontent-length: 2\r\nconnection: close\r\n\r\n\xfe\xff",
    )
    .await;
    assert_eq!(echo.header("x-bytes").collect::<Vec<_>>(), ["a\\xffb\u{e4}"]);
    assert_eq!((echo.body.as_str(), echo.body_encoding), ("/v8=", BodyEncoding::Base64));
    assert_eq!(echo.query, None);
}

#[tokio::test]
async fn reports_trailers() {
    let echo = echo(
        b"POST / HTTP/1.1\r\nhost: one\r\ntransfer-encoding: chunked\r\ntrailer: x-late\r\nconnection: close\r\n\r\n\
          3\r\nabc\r\n0\r\nx-late: yes\r\n\r\n",
    )
    .await;
    assert_eq!(echo.body, "abc");
    assert_eq!(echo.trailers, [("x-late".to_owned(), "yes".to_owned())]);
}

#[tokio::test]
async fn a_request_shapes_the_answer() {
    let (status, headers, _) = exchange(
        b"GET / HTTP/1.1\r\nhost: one\r\nx-echo-status: 418\r\nx-echo-response-header: x-user-id: mallory\r\n\
          x-echo-response-header: X-User-Id:eve\r\nconnection: close\r\n\r\n",
    )
    .await;
    assert_eq!(status, "HTTP/1.1 418 I'm a teapot");
    let ids: Vec<_> = headers.iter().filter(|line| line.starts_with("x-user-id")).collect();
    assert_eq!(ids, ["x-user-id: mallory", "x-user-id: eve"]);
}

#[tokio::test]
async fn refuses_orders_it_cannot_follow() {
    for (header, says) in [
        ("x-echo-status: 99", "x-echo-status must be a status from 200 to 599\n"),
        ("x-echo-status: many", "x-echo-status must be a status from 200 to 599\n"),
        ("x-echo-response-header: no colon", "x-echo-response-header must read `name: value`\n"),
        ("x-echo-response-header: b@d name: x", "x-echo-response-header must read `name: value`\n"),
    ] {
        let request = format!("GET / HTTP/1.1\r\nhost: one\r\n{header}\r\nconnection: close\r\n\r\n");
        let (status, _, body) = exchange(request.as_bytes()).await;
        assert_eq!(status, "HTTP/1.1 400 Bad Request", "{header}");
        assert_eq!(String::from_utf8_lossy(&body), says, "{header}");
    }
}

#[tokio::test]
async fn a_long_body_is_refused_and_not_kept() {
    let length = super::MAX_BODY + 1;
    let mut request =
        format!("POST / HTTP/1.1\r\nhost: one\r\ncontent-length: {length}\r\nconnection: close\r\n\r\n")
            .into_bytes();
    request.resize(request.len() + length, b'a');
    let (status, _, _) = exchange(&request).await;
    assert_eq!(status, "HTTP/1.1 413 Payload Too Large");
}

#[tokio::test]
async fn speaks_http2_without_tls() {
    let server = start().await;
    let client =
        reqwest::Client::builder().http2_prior_knowledge().no_proxy().timeout(PATIENCE).build().unwrap();
    let echo: Echo =
        client.get(format!("http://{}/two", server.address)).send().await.unwrap().json().await.unwrap();
    assert_eq!(echo.path, "/two");
}

#[tokio::test]
async fn stops_although_a_connection_hangs() {
    let server = start().await;
    let mut stream = TcpStream::connect(server.address).await.unwrap();
    // Half a request: it never ends by itself.
    stream.write_all(b"POST / HTTP/1.1\r\nhost: one\r\ncontent-length: 5\r\n\r\nhe").await.unwrap();
    tokio::time::sleep(Duration::from_millis(50)).await;
    server.stop.send(()).unwrap();
    timeout(PATIENCE, server.task).await.expect("it stops").unwrap().unwrap();
}
