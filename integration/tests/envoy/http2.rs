//! HTTP/2: the same rules, with names in lower case only and trailers on every request.

use std::time::Duration;

use anyhow::Context as _;
use bytes::Bytes;
use http::{HeaderMap, HeaderValue, Request};
use keyward_integration::stack::{Arrived, Options, Stack, TEST_ID_HEADER};
use tokio::net::TcpStream;
use tokio::time::timeout;

use crate::kit::{HOST, OPEN_HOST, site};

const PATIENCE: Duration = Duration::from_secs(10);

/// Names and values of headers.
type Fields<'a> = &'a [(&'a str, &'a [u8])];

/// One request with a body and trailers: its status, and what arrived.
async fn send(
    stack: &Stack,
    id: &str,
    host: &str,
    headers: Fields<'_>,
    trailers: &[(&str, &str)],
) -> anyhow::Result<(u16, HeaderMap, Option<Arrived>)> {
    let stream = TcpStream::connect(stack.gateway()).await?;
    let (mut client, connection) = h2::client::handshake(stream).await?;
    let driver = tokio::spawn(connection);
    let mut request = Request::post(format!("http://{host}/")).header(TEST_ID_HEADER, id);
    for (name, value) in headers {
        request = request.header(*name, HeaderValue::from_bytes(value)?);
    }
    let (response, mut body) = client.send_request(request.body(())?, false)?;
    let sent = async {
        body.send_data(Bytes::from_static(b"body"), false)?;
        let mut map = HeaderMap::new();
        for (name, value) in trailers {
            map.append(name.parse::<http::HeaderName>()?, value.parse()?);
        }
        anyhow::Ok(body.send_trailers(map)?)
    };
    // An answer may come before the body was sent.
    let _ = sent.await;
    let response = timeout(PATIENCE, response).await.context("no answer in time")??;
    driver.abort();
    Ok((response.status().as_u16(), response.headers().clone(), stack.upstream().take(id)))
}

#[tokio::test]
async fn trailers_bring_no_identity_and_no_key() {
    let stack = Stack::start(Options::default()).unwrap();
    site(&stack, &[("alice", "alice-key")]);
    let spoof = [("x-user-id", "root"), ("x-user-id", "admin"), ("x_user_id", "root"), ("x-kept", "yes")];
    let key = ("api-key", b"alice-key".as_slice());

    let (status, _, arrived) = send(&stack, "h2-1", HOST, &[key], &spoof).await.unwrap();
    let arrived = arrived.expect("the request passed");
    assert_eq!(status, 200);
    assert_eq!(arrived.headers.all("x-user-id"), [b"alice"]);
    assert_eq!(arrived.body, b"body");
    for name in ["x-user-id", "x_user_id"] {
        assert!(arrived.trailers.all(name).is_empty(), "{name} came in a trailer: {:?}", arrived.trailers);
    }

    let (status, _, arrived) = send(&stack, "h2-2", OPEN_HOST, &[], &spoof).await.unwrap();
    assert_eq!(status, 200);
    let arrived = arrived.expect("an open route");
    for headers in [&arrived.headers, &arrived.trailers] {
        assert!(headers.all("x-user-id").is_empty() && headers.all("x_user_id").is_empty());
    }

    let late = [("api-key", "alice-key"), ("x-user-id", "alice")];
    let (status, _, arrived) = send(&stack, "h2-3", HOST, &[], &late).await.unwrap();
    assert_eq!((status, arrived), (401, None), "a key in a trailer is no key");
}

#[tokio::test]
async fn headers_over_http2_mean_the_same() {
    let stack = Stack::start(Options::default()).unwrap();
    site(&stack, &[("alice", "alice-key")]);
    let (key, wrong) = (("api-key", b"alice-key".as_slice()), ("api-key", b"wrong".as_slice()));
    let spoof = [("x-user-id", b"root".as_slice()), ("x-user-id", b"\xff"), ("x_user_id", b"root")];
    let empty = ("api-key", b"".as_slice());
    let cases: [(Fields<'_>, bool); 11] = [
        (&[key], true),
        (&[key, wrong], false),
        (&[wrong, key], false),
        (&[key, key], true),
        (&[key, spoof[0], key, wrong], false),
        (&[empty, key, empty], true),
        (&[("api-key", b"alice-key,alice-key")], false),
        (&[("api-key", b"\xff\x80")], false),
        (&[("host", b"open.test")], false),
        (&[], false),
        (&[spoof[0], spoof[1], spoof[2], key], true),
    ];
    for (index, (headers, passes)) in cases.into_iter().enumerate() {
        let (status, reply, arrived) =
            send(&stack, &format!("h2-{index}"), HOST, headers, &[]).await.unwrap();
        assert_eq!(status, if passes { 200 } else { 401 }, "{headers:?}");
        assert_eq!(arrived.is_some(), passes, "{headers:?}");
        match arrived {
            Some(arrived) => {
                assert_eq!(arrived.headers.all("x-user-id"), [b"alice"], "{headers:?}");
                assert!(
                    arrived.headers.all("x_user_id").is_empty() && arrived.headers.all("api-key").is_empty()
                );
            }
            None => assert_eq!(reply["www-authenticate"], "API key is missing or invalid"),
        }
    }
}
