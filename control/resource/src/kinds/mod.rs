//! The kinds, one file each: wire type, domain type and the conversion between them.

pub mod auth_config;
pub mod gateway;
pub mod secret;
pub mod upstream;
pub mod virtual_service;
