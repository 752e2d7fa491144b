//! Reads routes.

use crate::kinds::options::RouteOptions;
use crate::kinds::route::{Action, Route};
use crate::kinds::routing::{Scope, action, matcher, refs, route_options};
use crate::reader::Node;
use crate::schema::{Field, Message, Type};

/// A list of routes.
pub(crate) const LIST: Type = Type::List(&Type::Object(&ROUTE));

static ROUTE: Message = Message {
    name: "Route",
    doc: "What a request must be like, and what becomes of it.",
    fields: &[
        Field::new("name", Type::String, "A name for people, which stands in statistics and messages."),
        Field::new(
            "matchers",
            Type::List(&Type::Object(&matcher::MATCHER)),
            "The route matches when one of these does. None stands for the prefix `/`.",
        ),
        Field::new("routeAction", Type::Object(&action::ROUTE_ACTION), "Requests are forwarded."),
        Field::new("options", Type::Object(&route_options::OPTIONS), "How requests are treated on the way."),
        Field::new(
            "optionsConfigRefs",
            Type::Object(&refs::DELEGATE_OPTIONS),
            "RouteOption objects that fill in what `options` leaves unset.",
        ),
    ],
    unsupported: &[
        "delegateAction",
        "directResponseAction",
        "inheritableMatchers",
        "inheritablePathMatchers",
        "redirectAction",
    ],
};

pub(crate) fn read(node: Node<'_>, scope: Scope<'_>, warnings: &mut Vec<String>) -> Option<Vec<Route>> {
    let list = node.list()?;
    // All are read before the first failure counts, so that every mistake is found.
    let routes: Vec<_> = list.iter().map(|item| route(item, scope, warnings)).collect();
    routes.into_iter().collect()
}

fn route(node: Node<'_>, scope: Scope<'_>, warnings: &mut Vec<String>) -> Option<Route> {
    let meta = scope.meta();
    let fields = node.object(&ROUTE)?;
    let name = fields.or("name", "", |name| name.string());
    let matchers = fields.or("matchers", Vec::new(), matcher::list);
    let action = fields.choice("routeAction", "invalid route: route must specify an action");
    let target = action.and_then(|action| action::target(action, meta));
    let options = fields
        .or("options", RouteOptions::default(), |options| route_options::read(options, meta, warnings));
    let options_refs = fields.or("optionsConfigRefs", Vec::new(), |node| refs::delegate_options(node, meta));
    Some(Route {
        name: Some(name?).filter(|name| !name.is_empty()).map(str::to_owned),
        matchers: matchers?,
        inheritable_matchers: None,
        inheritable_path_matchers: None,
        action: Action::Forward(target?),
        options: options?,
        options_refs: options_refs?,
    })
}
