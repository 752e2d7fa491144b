//! No surface ever shows a key: every endpoint of every port, every command in every form, every log and every
//! file, as `testdata/surfaces/surfaces.yaml` lists them, on a running whole into which keys came by every way.

mod commands;
mod list;
mod planted;
mod ports;
mod scene;
mod walk;
