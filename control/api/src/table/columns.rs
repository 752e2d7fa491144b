//! The columns of each kind.

use jiff::Timestamp;
use keyward_resource::Kind;
use serde_json::{Value, json};

use super::age;

/// A column of a table.
#[derive(Clone, Copy)]
pub(super) struct Column {
    name: &'static str,
    ty: &'static str,
    /// What it shows, in a full sentence.
    doc: &'static str,
    /// Zero is shown always, anything more with `-o wide`.
    priority: u8,
    source: Source,
}

/// Where a cell comes from.
#[derive(Clone, Copy)]
enum Source {
    /// The name of the object.
    Name,
    /// How old the object is.
    Age,
    /// This text at this JSON pointer, or else this.
    Text(&'static str, &'static str),
    /// How many items the list at this JSON pointer has.
    Count(&'static str),
    /// Whatever of the object.
    Made(fn(&Value) -> Value),
}

/// How many of a list a cell shows.
const SHOWN: usize = 3;

const NAME: Column =
    Column { name: "Name", ty: "string", doc: "The name of the object.", priority: 0, source: Source::Name };
const AGE: Column = Column {
    name: "Age",
    ty: "string",
    doc: "How long ago it was created.",
    priority: 0,
    source: Source::Age,
};
const STATUS: Column =
    Column::text("Status", "What the control server says of it.", "/status/state", "Pending");
const REASON: Column = Column::text("Reason", "Why the status is what it is.", "/status/reason", "").wide();

/// What stands between name and age. Secrets show their type and nothing of their data.
static COLUMNS: &[(&str, &[Column])] = &[
    ("Secret", &[Column::text("Type", "What the data is for.", "/type", "Opaque")]),
    ("Namespace", &[Column::text("Status", "The phase of its life.", "/status/phase", "Active")]),
    (
        "AuthConfig",
        &[
            Column::made("Type", "How clients are authenticated.", auth_types),
            Column::made("Header", "The request headers that hold the keys.", auth_headers),
            STATUS,
            REASON,
        ],
    ),
    (
        "Upstream",
        &[
            Column::made("Type", "How its addresses are known.", upstream_type),
            Column::made("Hosts", "Its addresses.", upstream_hosts),
            STATUS,
            REASON,
        ],
    ),
    (
        "UpstreamGroup",
        &[Column::made("Destinations", "The upstreams and their weights.", destinations), STATUS, REASON],
    ),
    (
        "VirtualService",
        &[
            Column::made("Domains", "The host names that it answers to.", domains),
            STATUS,
            Column::count("Routes", "How many routes it has.", "/spec/virtualHost/routes").wide(),
            REASON,
        ],
    ),
    (
        "RouteTable",
        &[
            Column::count("Routes", "How many routes it has.", "/spec/routes"),
            STATUS,
            Column::made("Weight", "Its place among tables that are selected together.", weight).wide(),
            REASON,
        ],
    ),
    (
        "Gateway",
        &[
            Column::made("Address", "Where its proxies listen.", gateway_address),
            Column::made("Proxies", "The proxies that serve it.", gateway_proxies),
            STATUS,
            Column::made("TLS", "Whether it terminates TLS.", gateway_tls).wide(),
            REASON,
        ],
    ),
    ("Proxy", &[Column::count("Listeners", "How many listeners it has.", "/spec/listeners"), STATUS, REASON]),
    ("VirtualHostOption", &[Column::made("Options", "What it sets.", options), STATUS, REASON]),
    ("RouteOption", &[Column::made("Options", "What it sets.", options), STATUS, REASON]),
];

/// The columns of a kind: of one that is not in the table, its name, status and age.
pub(super) fn columns_of(kind: &Kind) -> Vec<Column> {
    let own = COLUMNS.iter().find(|(name, _)| *name == kind.name).map(|(_, columns)| *columns);
    let (mut columns, mut wide) = (vec![NAME], Vec::new());
    for column in own.unwrap_or(&[STATUS, REASON]) {
        if column.priority == 0 { columns.push(*column) } else { wide.push(*column) }
    }
    columns.push(AGE);
    columns.append(&mut wide);
    columns
}

fn list(value: &Value) -> impl Iterator<Item = &Value> {
    value.as_array().into_iter().flatten()
}

/// The first few, and how many more there are.
fn joined(all: &[String], none: &str) -> Value {
    let shown = all.iter().take(SHOWN).map(String::as_str).collect::<Vec<_>>().join(",");
    match all.len() {
        0 => none.into(),
        len if len > SHOWN => format!("{shown} + {} more...", len - SHOWN).into(),
        _ => shown.into(),
    }
}

fn texts(value: &Value, none: &str) -> Value {
    let all: Vec<_> = list(value).filter_map(Value::as_str).map(str::to_owned).collect();
    joined(&all, none)
}

fn host_and_port(host: &str, port: &Value) -> String {
    // An IPv6 address needs brackets before a port.
    let host = if host.contains(':') { format!("[{host}]") } else { host.to_owned() };
    if port.is_null() { host } else { format!("{host}:{port}") }
}

/// The name of whatever the fields of a oneof hold, less what is not part of the oneof.
fn methods(config: &Value) -> impl Iterator<Item = &str> {
    config.as_object().into_iter().flatten().map(|(name, _)| name.as_str()).filter(|name| *name != "name")
}

fn auth_types(object: &Value) -> Value {
    let mut types: Vec<String> = Vec::new();
    for method in list(&object["spec"]["configs"]).flat_map(methods) {
        let shown = match method {
            "apiKeyAuth" => "API key",
            other => other,
        };
        if types.iter().all(|known| known != shown) {
            types.push(shown.to_owned());
        }
    }
    joined(&types, "<none>")
}

fn auth_headers(object: &Value) -> Value {
    let keys =
        list(&object["spec"]["configs"]).map(|config| &config["apiKeyAuth"]).filter(|auth| auth.is_object());
    let headers: Vec<_> =
        keys.map(|auth| auth["headerName"].as_str().unwrap_or("api-key").to_owned()).collect();
    joined(&headers, "<none>")
}

fn upstream_type(object: &Value) -> Value {
    const TYPES: &[(&str, &str)] = &[
        ("static", "Static"),
        ("kube", "Kubernetes"),
        ("consul", "Consul"),
        ("aws", "AWS"),
        ("pipe", "Pipe"),
    ];
    let found = TYPES.iter().find(|(field, _)| object["spec"].get(field).is_some());
    found.map_or("<none>", |(_, shown)| *shown).into()
}

fn upstream_hosts(object: &Value) -> Value {
    let hosts = list(&object["spec"]["static"]["hosts"]);
    let hosts: Vec<_> =
        hosts.map(|host| host_and_port(host["addr"].as_str().unwrap_or_default(), &host["port"])).collect();
    joined(&hosts, "<none>")
}

fn destinations(object: &Value) -> Value {
    let all = list(&object["spec"]["destinations"]);
    let all: Vec<_> = all
        .map(|item| {
            let name = item["destination"]["upstream"]["name"].as_str().unwrap_or("?");
            if item["weight"].is_null() { name.to_owned() } else { format!("{name}={}", item["weight"]) }
        })
        .collect();
    joined(&all, "<none>")
}

fn domains(object: &Value) -> Value {
    texts(&object["spec"]["virtualHost"]["domains"], "*")
}

fn weight(object: &Value) -> Value {
    object["spec"]["weight"].as_i64().unwrap_or_default().into()
}

fn gateway_address(object: &Value) -> Value {
    let spec = &object["spec"];
    host_and_port(spec["bindAddress"].as_str().unwrap_or("::"), &spec["bindPort"]).into()
}

fn gateway_proxies(object: &Value) -> Value {
    texts(&object["spec"]["proxyNames"], "gateway-proxy")
}

fn gateway_tls(object: &Value) -> Value {
    if object["spec"]["ssl"] == true { "yes" } else { "no" }.into()
}

fn options(object: &Value) -> Value {
    let all: Vec<_> = methods(&object["spec"]["options"]).map(str::to_owned).collect();
    joined(&all, "<none>")
}

// === impl Column ===

impl Column {
    const fn text(name: &'static str, doc: &'static str, pointer: &'static str, or: &'static str) -> Self {
        Self { name, ty: "string", doc, priority: 0, source: Source::Text(pointer, or) }
    }

    const fn count(name: &'static str, doc: &'static str, pointer: &'static str) -> Self {
        Self { name, ty: "integer", doc, priority: 0, source: Source::Count(pointer) }
    }

    const fn made(name: &'static str, doc: &'static str, make: fn(&Value) -> Value) -> Self {
        Self { name, ty: "string", doc, priority: 0, source: Source::Made(make) }
    }

    const fn wide(self) -> Self {
        Self { priority: 1, ..self }
    }

    /// The definition of the column, as a table begins with it.
    pub(super) fn definition(&self) -> Value {
        let format = if matches!(self.source, Source::Name) { "name" } else { "" };
        json!({
            "name": self.name,
            "type": self.ty,
            "format": format,
            "description": self.doc,
            "priority": self.priority,
        })
    }

    /// What the column shows of an object.
    pub(super) fn cell(&self, object: &Value, now: Timestamp) -> Value {
        match self.source {
            Source::Name => object["metadata"]["name"].clone(),
            Source::Age => age::since(object["metadata"]["creationTimestamp"].as_str(), now).into(),
            Source::Text(pointer, or) => object.pointer(pointer).and_then(Value::as_str).unwrap_or(or).into(),
            Source::Count(pointer) => {
                object.pointer(pointer).and_then(Value::as_array).map_or(0, Vec::len).into()
            }
            Source::Made(make) => make(object),
        }
    }
}
