//! The one-command stack: `keyward demo up` and `keyward demo down`.
//!
//! | file | what |
//! |---|---|
//! | `args` | the flags and the ports |
//! | `up`, `down` | the two commands |
//! | `children` | what `up` starts, and how it fails |
//! | `running` | judging a stack that runs already |
//! | `process` | finding, starting, tying and stopping processes |
//! | `state` | what is written down about a running stack |
//! | `quickstart` | the objects, and how they get into the store |
//! | `probe` | waiting until the gateway answers right |
//! | `logs` | log files, and showing them |
//!
//! Invariant: every process of a stack carries its data folder in its environment, so that none
//! can be lost, whoever started it and whatever died before.

mod args;
mod children;
mod down;
mod logs;
mod ports;
mod probe;
mod process;
mod quickstart;
mod rest;
mod running;
mod state;
mod terminal;
mod up;

pub use args::{DemoArgs, DemoCommand, DownArgs, Ports, TetheredArgs, UpArgs};

/// Runs one of the commands. Must be called on the thread that lives as long as the process (in
/// `main`'s own future), because the processes it starts die with the thread that started them.
///
/// # Errors
///
/// When the command fails; the text says what to do.
pub async fn run(args: DemoArgs) -> anyhow::Result<()> {
    match args.command {
        DemoCommand::Up(args) => up::run(args).await,
        DemoCommand::Down(args) => down::run(&args).await,
        DemoCommand::Tethered(args) => process::become_tethered(&args),
    }
}
