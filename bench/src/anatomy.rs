//! What each part of a verified request costs: Envoys that do one thing more, one after the other.
//!
//! ```text
//!  no filter ─▶ + a module that is not called ─▶ + it is called ─▶ + it reads … sets … takes away ─▶ + guard ─▶ Keyward
//! ```
//!
//! The modules do nothing but those calls: what is left between the last of them and Keyward is what Keyward
//! itself does, the digest and the look-up among it, and what its listener has besides.

use std::path::Path;
use std::time::Duration;

use anyhow::Context as _;
use serde_json::{Value, json};

use crate::gateway::Gateway;
use crate::load::{Key, Load};
use crate::options::Plan;
use crate::peers::{self, DIRECT};
use crate::process::{self, Server};
use crate::progress::Progress;
use crate::requests::CONNECTIONS;
use crate::results::Step;
use crate::stats::median;

/// All of them ask with this one key.
const KEYS: usize = 1;
const WARM_UP: Duration = Duration::from_millis(200);
/// In which the calls of the steps have their place.
const MODULE: &str = include_str!("anatomy/module.wat");

/// A step: what it is called, what its module does, and what comes after that.
struct Kind {
    name: &'static str,
    /// Exported callbacks besides those that every module has.
    callbacks: &'static [&'static str],
    /// What is done with the headers of a request.
    calls: &'static [&'static str],
    guard: Guard,
}

#[derive(Clone, Copy)]
enum Guard {
    None,
    /// As Keyward has it: rules that deny everybody, left out where the header stands.
    Matcher,
    /// Rules that ask for the header themselves.
    Rules,
}

/// One Envoy, and what was measured of it.
struct Stage {
    name: &'static str,
    pid: u32,
    port: u16,
    samples: Vec<f64>,
    /// Ends it.
    _server: Option<Server>,
}

const HEADERS: &str = "proxy_on_request_headers";
const CONTEXTS: [&str; 3] = [HEADERS, "proxy_on_context_create", "proxy_on_delete"];
const ROUTE: &str = "(drop (call $property (i32.const 0) (i32.const 14) (i32.const 256) (i32.const 260)))";
const KEY: &str = "(drop (call $property (i32.const 32) (i32.const 23) (i32.const 256) (i32.const 260)))";
const SET: &str =
    "(drop (call $set (i32.const 0) (i32.const 64) (i32.const 9) (i32.const 96) (i32.const 5)))";
const REMOVE: &str = "(drop (call $remove (i32.const 0) (i32.const 48) (i32.const 7)))";

const STEPS: [Kind; 9] = [
    Kind { name: "a module that is not called", callbacks: &[], calls: &[], guard: Guard::None },
    Kind { name: "+ called with the headers", callbacks: &[HEADERS], calls: &[], guard: Guard::None },
    Kind { name: "+ told of begin and end", callbacks: &CONTEXTS, calls: &[], guard: Guard::None },
    Kind { name: "+ reads the name of the route", callbacks: &CONTEXTS, calls: &[ROUTE], guard: Guard::None },
    Kind { name: "+ reads the key", callbacks: &CONTEXTS, calls: &[ROUTE, KEY], guard: Guard::None },
    Kind { name: "+ sets the identity", callbacks: &CONTEXTS, calls: &[ROUTE, KEY, SET], guard: Guard::None },
    Kind {
        name: "+ takes the key away",
        callbacks: &CONTEXTS,
        calls: &[ROUTE, KEY, REMOVE, SET],
        guard: Guard::None,
    },
    Kind {
        name: "+ guard by a matcher",
        callbacks: &CONTEXTS,
        calls: &[ROUTE, KEY, REMOVE, SET],
        guard: Guard::Matcher,
    },
    Kind {
        name: "(guard by rules instead)",
        callbacks: &CONTEXTS,
        calls: &[ROUTE, KEY, REMOVE, SET],
        guard: Guard::Rules,
    },
];

/// Measures all steps in turn, round by round; each is compared with the one before it, and a step in
/// parentheses is nobody's measure.
pub(crate) async fn measure(
    plan: &Plan,
    folder: &Path,
    gateway: &Gateway,
    upstream: u16,
) -> anyhow::Result<Vec<Step>> {
    let mut stages = stages(plan, folder, gateway, upstream).await?;
    let progress = Progress::new("what each part costs: samples", stages.len() * (plan.rounds + 1));
    for round in 0..=plan.rounds {
        for stage in &mut stages {
            let load = Load {
                port: stage.port,
                path: DIRECT,
                key: Key::Known(KEYS),
                status: 200,
                connections: CONNECTIONS,
                pause: Duration::ZERO,
            };
            let before = process::cpu(stage.pid)?;
            let answers = load.run(if round == 0 { WARM_UP.min(plan.time) } else { plan.time }).await?;
            let took = process::cpu(stage.pid)?.saturating_sub(before);
            if round > 0 {
                stage.samples.push(took.as_secs_f64() * 1e6 / answers.len() as f64);
            }
            progress.one();
        }
    }
    Ok(rows(&stages))
}

async fn stages(plan: &Plan, folder: &Path, gateway: &Gateway, upstream: u16) -> anyhow::Result<Vec<Stage>> {
    let up = [peers::cluster("upstream", upstream, &json!({}))];
    let of = |name, server: Server| Stage {
        name,
        pid: server.id(),
        port: server.port,
        samples: Vec::new(),
        _server: Some(server),
    };
    let none = peers::start(plan, folder, "step-none", &peers::routes(None), &[], &up).await?;
    let native = peers::native_filter(KEYS);
    let filters = std::slice::from_ref(&native);
    let native =
        peers::start(plan, folder, "step-native", &peers::routes(Some(&native)), filters, &up).await?;
    let mut stages = vec![of("no filter", none), of("(api_key_auth)", native)];
    for (number, kind) in STEPS.iter().enumerate() {
        let name = format!("step-{number}");
        let module = folder.join(format!("{name}.wasm"));
        std::fs::write(&module, kind.module()?).with_context(|| module.display().to_string())?;
        let filters = kind.filters(&module);
        let routes = peers::routes(filters.last());
        let server = peers::start(plan, folder, &name, &routes, &filters, &up)
            .await
            .with_context(|| format!("the Envoy of {}", kind.name))?;
        stages.push(of(kind.name, server));
    }
    stages.push(Stage {
        name: "Keyward",
        pid: gateway.envoy()?,
        port: gateway.port,
        samples: Vec::new(),
        _server: None,
    });
    Ok(stages)
}

fn rows(stages: &[Stage]) -> Vec<Step> {
    let mut last: Option<&Stage> = None;
    let mut rows = Vec::new();
    for stage in stages {
        let added = last.map_or(0.0, |last| {
            median(stage.samples.iter().zip(&last.samples).map(|(own, before)| own - before))
        });
        rows.push(Step {
            name: stage.name,
            cpu_us: median(stage.samples.iter().copied()),
            cpu_min_us: stage.samples.iter().copied().fold(f64::INFINITY, f64::min),
            added_us: added,
        });
        if !stage.name.starts_with('(') {
            last = Some(stage);
        }
    }
    rows
}

// === impl Kind ===

impl Kind {
    fn module(&self) -> anyhow::Result<Vec<u8>> {
        let callback = |name: &&str| match *name {
            HEADERS => format!(
                "(func (export \"{HEADERS}\") (param i32 i32 i32) (result i32) {} (i32.const 0))",
                self.calls.concat()
            ),
            "proxy_on_context_create" => format!("(func (export \"{name}\") (param i32 i32))"),
            _ => format!("(func (export \"{name}\") (param i32))"),
        };
        let callbacks: Vec<String> = self.callbacks.iter().map(callback).collect();
        Ok(wat::parse_str(MODULE.replace(";; callbacks", &callbacks.join("\n")))?)
    }

    fn filters(&self, module: &Path) -> Vec<Value> {
        let plugin = json!({
            "name": "step",
            "vm_config": {
                "vm_id": "step",
                "runtime": "envoy.wasm.runtime.v8",
                "code": { "local": { "filename": module } },
            },
        });
        let wasm = json!({
            "name": "step",
            "typed_config": {
                "@type": "type.googleapis.com/envoy.extensions.filters.http.wasm.v3.Wasm",
                "config": plugin,
            },
        });
        let guard = match self.guard {
            Guard::None => None,
            Guard::Matcher => Some(by_matcher()),
            Guard::Rules => Some(by_rules()),
        };
        [wasm].into_iter().chain(guard).collect()
    }
}

fn by_matcher() -> Value {
    let header = json!({
        "@type": "type.googleapis.com/envoy.type.matcher.v3.HttpRequestHeaderMatchInput",
        "header_name": "x-user-id",
    });
    let skip = json!({ "@type": "type.googleapis.com/envoy.extensions.filters.common.matcher.action.v3.SkipFilter" });
    let matcher = json!({
        "predicate": { "single_predicate": {
            "input": { "name": "header", "typed_config": header },
            "value_match": { "safe_regex": { "google_re2": {}, "regex": "\\C*" } },
        } },
        "on_match": { "action": { "name": "skip", "typed_config": skip } },
    });
    json!({
        "name": "guard",
        "typed_config": {
            "@type": "type.googleapis.com/envoy.extensions.common.matching.v3.ExtensionWithMatcher",
            "extension_config": { "name": "rules", "typed_config": rules(&json!({})) },
            "xds_matcher": { "matcher_list": { "matchers": [matcher] } },
        },
    })
}

fn by_rules() -> Value {
    let identified = json!({
        "permissions": [{ "any": true }],
        "principals": [{ "header": { "name": "x-user-id", "present_match": true } }],
    });
    json!({ "name": "guard", "typed_config": rules(&json!({ "policies": { "identified": identified } })) })
}

fn rules(rules: &Value) -> Value {
    json!({ "@type": "type.googleapis.com/envoy.extensions.filters.http.rbac.v3.RBAC", "rules": rules })
}
