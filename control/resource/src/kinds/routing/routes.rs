//! Reads routes.

use super::matcher::{self, PathRule};
use super::{Context, Scope, action, all, alternative, delegate, idle, redirect, refs, route_options};
use crate::kinds::options::RouteOptions;
use crate::kinds::route::{Action, Route};
use crate::reader::{Node, Object};
use crate::schema::{Field, Message, Type};

/// A list of routes.
pub(crate) const LIST: Type = Type::List(&Type::Object(&ROUTE));

static ROUTE: Message = Message {
    name: "Route",
    doc: "What a request must be like, and what becomes of it: one of `routeAction`, `redirectAction`, \
          `directResponseAction` and `delegateAction`.",
    fields: &[
        Field::new("name", Type::String, "A name for people, which stands in statistics and messages."),
        Field::new(
            "matchers",
            Type::List(&Type::Object(&matcher::MATCHER)),
            "The route matches when one of these does. None stands for the prefix `/`. A route that delegates \
             has at most one, with a prefix or without a path.",
        ),
        Field::new(
            "inheritableMatchers",
            Type::Boolean,
            "Whether the headers and query parameters of the delegating route are demanded in addition to a \
             route's own, and its methods are allowed beside them: a request may have a method of either. \
             Default: what the delegating route says of itself, false in the end.",
        ),
        Field::new(
            "inheritablePathMatchers",
            Type::Boolean,
            "Whether the path of the delegating route stands in place of a route's own. Default: what the \
             delegating route says of itself, false in the end.",
        ),
        Field::new("routeAction", Type::Object(&action::ROUTE_ACTION), "Requests are forwarded."),
        Field::new(
            "redirectAction",
            Type::Object(&redirect::REDIRECT),
            "The client is told to go elsewhere.",
        ),
        Field::new(
            "directResponseAction",
            Type::Object(&redirect::DIRECT_RESPONSE),
            "The proxy answers by itself.",
        ),
        Field::new("delegateAction", Type::Object(&delegate::DELEGATE), "RouteTables decide."),
        Field::new("options", Type::Object(&route_options::OPTIONS), "How requests are treated on the way."),
        Field::new(
            "optionsConfigRefs",
            Type::Object(&refs::DELEGATE_OPTIONS),
            "RouteOption objects that fill in what `options` leaves unset.",
        ),
    ],
    unsupported: &[],
};

const ACTIONS: &[&str] = &["routeAction", "redirectAction", "directResponseAction", "delegateAction"];

/// Reads a list of routes.
pub(crate) fn read(node: Node<'_>, scope: Scope<'_>, warnings: &mut Vec<String>) -> Option<Vec<Route>> {
    let mut index = 0;
    all(node, |item| {
        let mut of_route = Vec::new();
        let mut context = Context { meta: scope.meta(), warnings: &mut of_route };
        let place = item.place();
        let route = route(item, scope, &mut context);
        if let Some(route) = &route {
            of_route.extend(idle::options(route));
            let label = route.label(index);
            warnings.extend(of_route.iter().map(|warning| name(warning, &place, &label)));
        }
        index += 1;
        route
    })
}

/// A warning that calls a route by its name, as all others do, and not by its place in the object.
fn name(warning: &str, place: &str, label: &str) -> String {
    let rest = warning.strip_prefix(place).unwrap_or(warning);
    format!("{label}: {}", rest.trim_start_matches(['.', ':', ' ']))
}

fn route(node: Node<'_>, scope: Scope<'_>, context: &mut Context<'_>) -> Option<Route> {
    let fields = node.object(&ROUTE)?;
    let name = fields.text("name");
    let inheritable_matchers = fields.maybe("inheritableMatchers", |node| node.boolean());
    let inheritable_path_matchers = fields.maybe("inheritablePathMatchers", |node| node.boolean());
    let delegates = fields.optional("delegateAction").is_some();
    let rule = match inheritable_path_matchers {
        _ if delegates => PathRule::Delegates,
        Some(Some(false)) => PathRule::Needed,
        _ => PathRule::Inherited,
    };
    let matchers = fields.or("matchers", Vec::new(), |list| matcher::list(list, rule, scope, context));
    let action = action(&fields, context);
    let options =
        fields.or("options", RouteOptions::default(), |options| route_options::read(options, context));
    let options_refs =
        fields.or("optionsConfigRefs", Vec::new(), |node| refs::delegate_options(node, context.meta));
    if matches!(scope, Scope::Host(_)) && !delegates {
        without_effect(&fields, context);
    }
    Some(Route {
        name: name?,
        matchers: matchers?,
        inheritable_matchers: inheritable_matchers?,
        inheritable_path_matchers: inheritable_path_matchers?,
        action: action?,
        options: options?,
        options_refs: options_refs?,
    })
}

fn action(fields: &Object<'_>, context: &mut Context<'_>) -> Option<Action> {
    let action = alternative(fields, ACTIONS, |kind, node| match kind {
        "routeAction" => action::target(node, context).map(Action::Forward),
        "redirectAction" => redirect::redirect(node, context).map(Action::Redirect),
        "directResponseAction" => redirect::direct_response(node).map(Action::DirectResponse),
        _ => delegate::read(node, context).map(Action::Delegate),
    })?;
    if action.is_none() {
        fields.choice("routeAction", "invalid route: route must specify an action");
    }
    action
}

/// Nobody delegates to a route of a virtual host, and it delegates to nobody.
fn without_effect(fields: &Object<'_>, context: &mut Context<'_>) {
    for key in ["inheritableMatchers", "inheritablePathMatchers"] {
        if let Some(node) = fields.optional(key) {
            context.warnings.push(format!("{} has no effect: the route inherits from nothing", node.place()));
        }
    }
}
