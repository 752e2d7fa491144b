//! The ways to say a change instead of an object. Pure.
//!
//! What goes wrong is told with the place and without the values: a patch may hold an API key.

mod json;
mod merge;
mod strategic;

pub(crate) use json::json_patch;
pub(crate) use merge::merge_patch;
pub(crate) use strategic::strategic_merge;

#[cfg(test)]
mod tests;
