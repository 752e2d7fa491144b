//! An Envoy of one's own, with the filter and without a control server around it.

use std::net::SocketAddr;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use keyward_integration::headers::Headers;
use keyward_integration::stack::{
    Arrived, Connection, Process, Proxy, Response, TEST_ID_HEADER, Upstream, free_address, wait,
};
use keyward_integration::{examples, paths};
use tempfile::TempDir;

/// The example that is run.
pub(crate) const EXAMPLE: &str = "envoy-standalone.yaml";
/// How long a start may take: Envoy compiles the filter first, on a busy machine.
const START: Duration = Duration::from_secs(40);
/// How long a change may take to be in force.
pub(crate) const SOON: Duration = Duration::from_secs(15);

/// A running Envoy and its upstream.
pub(crate) struct Alone {
    pub(crate) upstream: Upstream,
    pub(crate) process: Process,
    pub(crate) proxy: Proxy,
    gateway: SocketAddr,
    _folder: TempDir,
}

impl Alone {
    /// Starts the example, on ports of the test's own and with other words where they are given.
    pub(crate) fn launch(words: &[(&str, &str)]) -> Self {
        let filter = paths::filter_wasm().unwrap().display().to_string();
        let (folder, upstream) = (tempfile::tempdir().unwrap(), Upstream::start().unwrap());
        let (admin, gateway) = (free_address().unwrap(), free_address().unwrap());
        let ports =
            [admin, gateway, upstream.address()].map(|address| format!("port_value: {}", address.port()));
        let [admin_port, gateway_port, upstream_port] = &ports;
        let filename = format!("filename: {filter} }}");
        let mut all = vec![
            ("port_value: 9901", admin_port.as_str()),
            ("port_value: 10000", gateway_port),
            ("port_value: 8081", upstream_port),
        ];
        if words.iter().all(|(word, _)| !word.starts_with("filename:")) {
            all.push(("filename: keyward_filter.wasm }", &filename));
        }
        all.extend(words);
        let config = folder.path().join(EXAMPLE);
        std::fs::write(&config, examples::with(EXAMPLE, &all).unwrap()).unwrap();
        let proxy = Proxy::new(admin);
        let process = proxy.start_with(folder.path(), &config).unwrap();
        Self { upstream, process, proxy, gateway, _folder: folder }
    }

    /// The same, once it serves.
    pub(crate) fn start(words: &[(&str, &str)]) -> Self {
        let alone = Self::launch(words);
        wait::until(START, "Envoy to be ready", || alone.proxy.ready())
            .unwrap_or_else(|error| panic!("{error:#}\n{}", alone.process.output()));
        alone
    }

    /// A request, and what the upstream got if it got it; the upstream answers with these headers.
    pub(crate) fn send(
        &self,
        path: &str,
        headers: &Headers,
        upstream: &Headers,
    ) -> (Response, Option<Arrived>) {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        let id = NEXT.fetch_add(1, Ordering::Relaxed).to_string();
        self.upstream.answer(&id, upstream);
        let mut all = Headers::new().with("host", "any.test").with(TEST_ID_HEADER, &id);
        for (name, value) in headers.iter() {
            all.add(name, value);
        }
        let response = Connection::open(self.gateway).and_then(|mut open| open.request("GET", path, &all));
        let response = response.unwrap_or_else(|error| panic!("{error:#}\n{}", self.process.output()));
        (response, self.upstream.take(&id))
    }

    /// What a request comes to: all that the upstream got as identity, or the status of the answer.
    pub(crate) fn ask(&self, path: &str, headers: &Headers) -> Result<String, u16> {
        let (response, arrived) = self.send(path, headers, &Headers::new());
        assert_eq!(
            arrived.is_some(),
            response.status == 200,
            "{} and forwarded: {arrived:?}",
            response.status
        );
        let Some(arrived) = arrived else { return Err(response.status) };
        let ids = ["x-user-id", "x_user_id", "x-user_id", "x_user-id"].map(|name| arrived.headers.all(name));
        Ok(ids.concat().iter().map(|id| id.escape_ascii().to_string()).collect())
    }

    /// The same with a key.
    pub(crate) fn ask_with(&self, key: &str) -> Result<String, u16> {
        self.ask("/orders", &with_key(key))
    }

    /// Waits until Envoy has given up, which it has to, and tells what it said.
    pub(crate) fn gives_up(&mut self) -> String {
        let ended = wait::until(START, "Envoy to give up", || {
            self.process.ended()?.ok_or_else(|| anyhow::anyhow!("it runs"))
        });
        let said = self.process.output();
        let status = ended.unwrap_or_else(|error| panic!("{error:#}\n{said}"));
        assert!(!status.success(), "{status}\n{said}");
        said
    }
}

/// The headers of a request with this key.
pub(crate) fn with_key(key: &str) -> Headers {
    Headers::new().with("api-key", key)
}
