//! A request that is asked about.

use std::fmt;

use keyward_filter_core::place::{COOKIE, Place};

/// A request. Its headers may hold keys, so it cannot be printed.
#[derive(Clone)]
pub struct Request {
    /// The method.
    pub method: String,
    /// The host, with a port or without.
    pub host: String,
    /// The path, with the query.
    pub path: String,
    /// The server name of the handshake; none without TLS, and nothing where the client says none.
    pub tls: Option<String>,
    /// Its headers. The names are in lower case.
    headers: Vec<(String, Vec<u8>)>,
}

/// A request that cannot be one.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum RequestError {
    /// The name of a header.
    #[error("{0:?} is not the name of a header")]
    HeaderName(String),
    /// A header that is said otherwise.
    #[error("the header {0} is said by the host, the method or the path of the request")]
    Pseudo(String),
    /// A value with control characters.
    #[error("the value of the header {0} has a control character in it")]
    HeaderValue(String),
}

fn is_token(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte)
}

/// A byte as it may stand in a query.
fn escaped(byte: u8) -> String {
    if byte.is_ascii_alphanumeric() || b"-._~".contains(&byte) {
        char::from(byte).to_string()
    } else {
        format!("%{byte:02X}")
    }
}

// === impl Request ===

impl Request {
    /// A request without headers and without TLS.
    #[must_use]
    pub fn new(method: &str, host: &str, path: &str) -> Self {
        Self {
            method: method.to_owned(),
            host: host.to_owned(),
            path: path.to_owned(),
            tls: None,
            headers: Vec::new(),
        }
    }

    /// Adds a header.
    ///
    /// # Errors
    ///
    /// When no request can have it. The error does not say the value, which may be a key.
    pub fn add_header(&mut self, name: &str, value: &[u8]) -> Result<(), RequestError> {
        if name.is_empty() || !name.bytes().all(is_token) {
            return Err(RequestError::HeaderName(name.to_owned()));
        }
        let name = name.to_ascii_lowercase();
        if name == "host" {
            return Err(RequestError::Pseudo(name));
        }
        if value.iter().any(|byte| (*byte < b' ' && *byte != b'\t') || *byte == 0x7f) {
            return Err(RequestError::HeaderValue(name));
        }
        self.headers.push((name, value.trim_ascii().to_vec()));
        Ok(())
    }

    /// Puts a key where it may stand.
    ///
    /// # Errors
    ///
    /// When it cannot stand there. The error does not say the key.
    pub fn put_key(&mut self, place: &Place, key: &[u8]) -> Result<(), RequestError> {
        match place {
            Place::Header { name, prefix: None } => self.add_header(name, key),
            Place::Header { name, prefix: Some(prefix) } => {
                self.add_header(name, &[prefix.as_bytes(), key].join(&b' '))
            }
            Place::Query(name) => {
                let mark = if self.path.contains('?') { '&' } else { '?' };
                let key: String = key.iter().map(|byte| escaped(*byte)).collect();
                self.path.push_str(&format!("{mark}{name}={key}"));
                Ok(())
            }
            Place::Cookie(name) => self.add_header(COOKIE, &[name.as_bytes(), key].join(&b'=')),
        }
    }

    /// The headers, names in lower case, in the order in which they were added.
    pub fn headers(&self) -> impl Iterator<Item = (&str, &[u8])> {
        self.headers.iter().map(|(name, value)| (name.as_str(), value.as_slice()))
    }
}

impl fmt::Debug for Request {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<&str> = self.headers().map(|(name, _)| name).collect();
        let path = crate::path::without_query(&self.path);
        f.debug_struct("Request")
            .field("method", &self.method)
            .field("host", &self.host)
            .field("path", &path)
            .field("headers", &names)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headers_are_what_requests_have() {
        let mut request = Request::new("GET", "example.com", "/a?api-key=s3cret");
        assert_eq!(request.add_header("API-Key", b" s3cret "), Ok(()));
        assert_eq!(request.headers().collect::<Vec<_>>(), [("api-key", &b"s3cret"[..])]);
        assert_eq!(request.add_header("a b", b"x"), Err(RequestError::HeaderName("a b".to_owned())));
        assert_eq!(request.add_header("", b"x"), Err(RequestError::HeaderName(String::new())));
        assert_eq!(request.add_header("Host", b"x"), Err(RequestError::Pseudo("host".to_owned())));
        let refused = request.add_header("x", b"s3cret\r\n").unwrap_err();
        assert_eq!(refused, RequestError::HeaderValue("x".to_owned()));
        assert!(!format!("{request:?} {refused}").contains("s3cret"));
    }

    #[test]
    fn a_key_is_put_where_it_is_looked_for() {
        let header = |name: &str, prefix: Option<&str>| Place::Header {
            name: name.to_owned(),
            prefix: prefix.map(str::to_owned),
        };
        let put = |place: &Place| {
            let mut request = Request::new("GET", "example.com", "/a");
            request.put_key(place, b"a+b").expect("a key");
            let headers =
                request.headers().map(|(name, value)| format!("{name}: {}", String::from_utf8_lossy(value)));
            (request.path.clone(), headers.collect::<Vec<_>>())
        };
        assert_eq!(put(&header("api-key", None)), ("/a".to_owned(), vec!["api-key: a+b".to_owned()]));
        let bearer = put(&header("authorization", Some("Bearer")));
        assert_eq!(bearer, ("/a".to_owned(), vec!["authorization: Bearer a+b".to_owned()]));
        assert_eq!(put(&Place::Query("k".to_owned())), ("/a?k=a%2Bb".to_owned(), Vec::new()));
        assert_eq!(put(&Place::Cookie("k".to_owned())), ("/a".to_owned(), vec!["cookie: k=a+b".to_owned()]));
    }
}
