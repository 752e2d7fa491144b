//! To be filled below.
