//! Translation as seen from outside: goldens, properties, and what a real Envoy says to it.

mod age;
mod blame;
mod changes;
mod decoded;
mod envoy;
mod fields;
mod generators;
mod golden;
mod headers;
mod isolation;
mod live;
mod properties;
mod routing;
mod support;
mod tls;
mod view;
