//! A VirtualService to a virtual host: routes, also those of the tables that it delegates to, their
//! destinations, their authentication.
//!
//! ```text
//! VirtualService ─┬ options ◀ VirtualHostOption        (options)
//!                 └ routes ─▶ own options ◀ RouteOption ◀ delegating route
//!                              ├ delegate ─▶ tables ─▶ their routes, and so on (walk, matchers, tables)
//!                              └ else ─▶ matcher × action × authentication     (leaf, target, guard)
//! ```

mod cors;
mod demand;
mod guard;
mod key_places;
mod leaf;
mod lost_headers;
mod matchers;
mod options;
mod target;
mod walk;

use std::collections::BTreeSet;
use std::sync::Arc;

use keyward_resource::kinds::options::VirtualHostOptions;
use keyward_resource::kinds::route::RouteTableSelector;
use keyward_resource::kinds::virtual_service::VirtualService;
use keyward_resource::{ObjectKey, ObjectRef, Reports, State};

pub(super) use self::demand::{Demand, Mention, Use};
pub(super) use self::key_places::Copying;
use self::walk::Place;
use super::Known;
use super::kind::{ROUTE_TABLE, VIRTUAL_SERVICE};
use super::served::Closed;
use crate::proxy::{Action, Auth, HostOptions, Route, RouteMatcher, VirtualHost, names};

/// More routes than this in one virtual host are a mistake: tables that delegate to each other twice
/// over double with every step.
const MAX_ROUTES: usize = 20_000;

/// A virtual host, what there is to say about the objects that it was made from, and what was looked up
/// on the way.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Compiled {
    pub(super) host: Arc<VirtualHost>,
    pub(super) notes: Vec<Note>,
    pub(super) reads: Reads,
    pub(super) demand: Demand,
}

/// Something to say about an object.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Note {
    object: ObjectKey,
    state: State,
    reason: String,
}

/// Everything that a virtual host depends on, beside its VirtualService: as long as none of it changes,
/// neither does the virtual host.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Reads {
    /// By reference, whether it was found or not.
    pub(super) objects: BTreeSet<ObjectKey>,
    /// What selectors were asked.
    pub(super) selectors: Vec<RouteTableSelector>,
}

/// A virtual host in the making.
struct Compiler<'a> {
    known: &'a Known<'a>,
    virtual_service: &'a VirtualService,
    key: ObjectKey,
    host_name: String,
    options: VirtualHostOptions,
    routes: Vec<Route>,
    notes: Vec<Note>,
    reads: Reads,
    demand: Demand,
    made_from: BTreeSet<ObjectKey>,
    /// How many routes were looked at.
    walked: usize,
}

/// Makes the virtual host of a version of a VirtualService.
pub(super) fn compile(virtual_service: &VirtualService, known: &Known<'_>) -> Compiled {
    let meta = &virtual_service.meta;
    let key = ObjectKey::new(VIRTUAL_SERVICE, &meta.namespace, &meta.name);
    let mut compiler = Compiler {
        known,
        virtual_service,
        host_name: names::virtual_host(&meta.object_ref()),
        key,
        options: VirtualHostOptions::default(),
        routes: Vec::new(),
        notes: Vec::new(),
        reads: Reads::default(),
        demand: Demand::default(),
        made_from: BTreeSet::new(),
        walked: 0,
    };
    for warning in &virtual_service.warnings {
        compiler.warn_top(warning.clone());
    }
    compiler.options = compiler.host_options();
    let top = compiler.key.clone();
    let headers = compiler.options.header_manipulation.clone();
    compiler.note_adds(&top, &[], "the virtual host", headers.as_ref());
    compiler.note_copies(&top, &[], "the virtual host", (None, headers.as_ref()));
    compiler.check_exposed(&top, compiler.options.cors.clone().as_ref(), "the virtual host");
    compiler.routes = compiler.walk(&Place::top(&top), &virtual_service.routes);
    if compiler.walked > MAX_ROUTES {
        compiler.close_all();
    }
    compiler.close_matchers_on_removed_keys();
    compiler.guard_host();
    compiler.finish()
}

/// Builds the virtual host of what is left of a rejected version.
pub(super) fn build_closed(closed: &Closed) -> VirtualHost {
    let reference = &closed.virtual_service;
    let reason = format!("VirtualService {reference} is rejected");
    let name = names::virtual_host(reference);
    let route = closed_route(reference, &name, &[], RouteMatcher::prefix("/"), reason);
    VirtualHost {
        name: names::closed_virtual_host(reference),
        ..VirtualHost::new(reference.clone(), closed.domains.clone(), vec![route])
    }
}

/// A route that lets nobody through.
fn closed_route(
    virtual_service: &ObjectRef,
    host: &str,
    steps: &[names::Step],
    matcher: RouteMatcher,
    reason: String,
) -> Route {
    let auth_id = names::closed_auth_id(virtual_service);
    let first = [names::Step::default()];
    let steps = if steps.is_empty() { &first } else { steps };
    let from = match steps.iter().rev().find_map(|step| step.table.as_ref()) {
        Some(table) => ObjectKey::new(ROUTE_TABLE, &table.namespace, &table.name),
        None => ObjectKey::new(VIRTUAL_SERVICE, &virtual_service.namespace, &virtual_service.name),
    };
    let name = names::route(Some(&auth_id), host, steps, 0);
    let auth = Auth::Denied { auth_id, reason };
    let action = Action::to_cluster(names::closed_cluster(virtual_service));
    let label = steps.last().map(|step| step.label.clone()).unwrap_or_default();
    let path = names::route_path(virtual_service, steps);
    Route { name, path, label, ..Route::new(from, matcher, auth, action) }
}

// === impl Compiler ===

impl<'a> Compiler<'a> {
    fn finish(self) -> Compiled {
        let host = VirtualHost {
            name: self.host_name,
            virtual_service: self.virtual_service.meta.object_ref(),
            made_from: self.made_from.into_iter().collect(),
            domains: self.virtual_service.domains.clone(),
            options: HostOptions {
                header_manipulation: self.options.header_manipulation,
                include_request_attempt_count: self.options.include_request_attempt_count == Some(true),
                include_attempt_count_in_response: self.options.include_attempt_count_in_response
                    == Some(true),
            },
            routes: self.routes,
        };
        Compiled { host: Arc::new(host), notes: self.notes, reads: self.reads, demand: self.demand }
    }

    fn reference(&self) -> ObjectRef {
        self.virtual_service.meta.object_ref()
    }

    /// Says something about the VirtualService.
    fn warn_top(&mut self, reason: String) {
        self.notes.push(Note { object: self.key.clone(), state: State::Warning, reason });
    }

    /// Says something about an object on the way, and of it on the VirtualService.
    fn note(&mut self, object: &ObjectKey, state: State, reason: String) {
        if *object != self.key {
            let table = format!("{}.{}", object.namespace, object.name);
            self.warn_top(format!("on sub route table {table}: {reason}"));
        }
        self.notes.push(Note { object: object.clone(), state, reason });
    }

    fn warn(&mut self, object: &ObjectKey, reason: String) {
        self.note(object, State::Warning, reason);
    }

    /// Looks something up; the virtual host depends on it from now on.
    fn reads(&mut self, kind: &'static str, reference: &ObjectRef) -> ObjectKey {
        let key = ObjectKey::new(kind, &reference.namespace, &reference.name);
        self.reads.objects.insert(key.clone());
        key
    }

    /// The virtual host consists of this object too.
    fn used(&mut self, object: &ObjectKey) {
        self.made_from.insert(object.clone());
    }

    fn guard_host(&mut self) {
        let Some(headers) = self.options.header_manipulation.take() else { return };
        let auth: BTreeSet<&Auth> = self.routes.iter().map(|route| &route.auth).collect();
        let auth: Vec<Auth> = auth.into_iter().cloned().collect();
        let owner = self.key.clone();
        self.options.header_manipulation = self.guarded(&owner, "the virtual host", Some(&headers), &auth);
    }

    /// One route that lets nobody through stands for all.
    fn close_all(&mut self) {
        let reason = format!("it has more than {MAX_ROUTES} routes with those of its route tables");
        self.warn_top(format!("{reason}: every request is denied with 403"));
        let matcher = RouteMatcher::prefix("/");
        self.routes = vec![closed_route(&self.reference(), &self.host_name, &[], matcher, reason)];
        self.demand = Demand::default();
    }
}

// === impl Compiled ===

impl Compiled {
    /// Adds everything that there is to say.
    pub(super) fn report(&self, reports: &mut Reports) {
        for note in &self.notes {
            let object = note.object.clone();
            match note.state {
                State::Pending | State::Accepted => reports.accept(object),
                State::Warning => reports.warn(object, note.reason.clone()),
                State::Rejected => reports.reject(object, note.reason.clone()),
            }
        }
    }
}
