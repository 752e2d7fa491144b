//! The stream as a worker sees it.

mod slow;
mod tls;
