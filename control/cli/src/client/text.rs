//! Answers that are text, all of it or as it comes.

use bytes::Bytes;
use http::header::{ACCEPT, AUTHORIZATION, USER_AGENT};
use http::{HeaderMap, Method, Request, StatusCode};
use http_body_util::{BodyExt as _, Full, Limited};
use hyper::body::Incoming;

use super::{ANSWER_LIMIT, Client, ClientError, LONGEST_ANSWER, Refusal};

/// An answer, whatever its status.
#[derive(Debug)]
pub(crate) struct Text {
    /// Its status.
    pub(crate) status: StatusCode,
    /// Its body.
    pub(crate) body: String,
}

/// An answer that goes on.
#[derive(Debug)]
pub(crate) struct Stream {
    status: StatusCode,
    server: String,
    headers: HeaderMap,
    body: Incoming,
}

// === impl Client ===

impl Client {
    /// Asks for something that is answered in text.
    pub(crate) async fn text(&self, method: Method, path: &str) -> Result<Text, ClientError> {
        let all = async {
            let stream = self.opened(method, path).await?;
            let body = Limited::new(stream.body, LONGEST_ANSWER).collect().await;
            let body = body.map_err(|source| ClientError::Broken { server: stream.server, source })?;
            let body = String::from_utf8_lossy(&body.to_bytes()).into_owned();
            Ok(Text { status: stream.status, body })
        };
        let slow = |_| ClientError::Slow { server: self.server.clone(), limit: ANSWER_LIMIT };
        self.told(tokio::time::timeout(ANSWER_LIMIT, all)).await.map_err(slow)?
    }

    /// Asks for lines, which are answered for as long as somebody reads.
    pub(crate) async fn lines(&self, path: &str) -> Result<Stream, ClientError> {
        let opened = async {
            let stream = self.opened(Method::GET, path).await?;
            if stream.status.is_success() {
                return Ok(stream);
            }
            let (server, status) = (stream.server.clone(), stream.status);
            let body = Limited::new(stream.body, LONGEST_ANSWER).collect().await;
            let body = body.map_err(|source| ClientError::Broken { server: server.clone(), source })?;
            let said = serde_json::from_slice(&body.to_bytes()).unwrap_or_default();
            Err(self.refused(status, Refusal::read(status, said)))
        };
        let slow = |_| ClientError::Slow { server: self.server.clone(), limit: ANSWER_LIMIT };
        self.told(tokio::time::timeout(ANSWER_LIMIT, opened)).await.map_err(slow)?
    }

    /// What an answer of failure means.
    fn refused(&self, status: StatusCode, refusal: Refusal) -> ClientError {
        let (server, with_token) = (self.server.clone(), self.authorization.is_some());
        match status {
            StatusCode::UNAUTHORIZED => ClientError::Unknown { server, with_token, refusal },
            _ => ClientError::Refused { server, refusal },
        }
    }

    async fn opened(&self, method: Method, path: &str) -> Result<Stream, ClientError> {
        let mut request = Request::builder()
            .method(method)
            .uri(format!("{}{path}", self.server))
            .header(ACCEPT, "*/*")
            .header(USER_AGENT, concat!("keyward/", env!("CARGO_PKG_VERSION")));
        if let Some(authorization) = &self.authorization {
            request = request.header(AUTHORIZATION, authorization);
        }
        let request = request.body(Full::new(Bytes::new())).map_err(|source| self.malformed(path, source))?;
        let answer = self.http.request(request).await;
        let answer = answer.map_err(|source| ClientError::of_connection(self.server.clone(), source))?;
        let (head, body) = answer.into_parts();
        self.notice.compare(&self.server, &head.headers);
        Ok(Stream { status: head.status, server: self.server.clone(), headers: head.headers, body })
    }
}

// === impl Stream ===

impl Stream {
    /// What a header of the answer says.
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name)?.to_str().ok()
    }

    /// What comes next; none at the end.
    pub(crate) async fn chunk(&mut self) -> Result<Option<Bytes>, ClientError> {
        loop {
            match self.body.frame().await {
                None => return Ok(None),
                Some(Ok(frame)) => match frame.into_data() {
                    Ok(data) => return Ok(Some(data)),
                    // The end of it has headers of its own.
                    Err(_) => continue,
                },
                Some(Err(error)) => {
                    return Err(ClientError::Broken { server: self.server.clone(), source: error.into() });
                }
            }
        }
    }
}
