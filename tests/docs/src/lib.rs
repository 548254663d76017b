//! The Rust blocks of the repository's pages, which `cargo test --doc` compiles and runs.
//!
//! `build.rs` makes a copy of each page with nothing but its Rust blocks, at the same lines. A
//! comment right before a block holds set-up that readers need not see:
//!
//! ````markdown
//! <!-- hidden
//! let image = trazar::BinaryImage::from_art("#.#")?;
//! -->
//! ```rust
//! let contours = Engine::cpu().trace(&image, &TraceOptions::default())?;
//! ```
//! ````
//!
//! A block may use `?`: it ends with `Ok` of any error, unless it has a `main`. The blocks in other
//! languages are tested by `cli/tests/command/docs.rs`.

include!(concat!(env!("OUT_DIR"), "/pages.rs"));
