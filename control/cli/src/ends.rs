//! What tells a command to end that has something to put in order first.

use std::fmt;

use tokio::signal::unix::{Signal, SignalKind, signal};

/// The signals. From when this is there on, none of them ends the process by itself.
pub(crate) struct Ends([Signal; 3]);

/// One of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum End {
    /// Ctrl-C.
    Interrupt,
    /// Somebody asks for it.
    Terminate,
    /// The terminal is gone.
    Hangup,
}

// === impl Ends ===

impl Ends {
    pub(crate) fn new() -> anyhow::Result<Self> {
        let kinds = [SignalKind::interrupt(), SignalKind::terminate(), SignalKind::hangup()];
        let [interrupt, terminate, hangup] = kinds.map(signal);
        Ok(Self([interrupt?, terminate?, hangup?]))
    }

    /// Waits for any of them.
    pub(crate) async fn any(&mut self) -> End {
        let [interrupt, terminate, hangup] = &mut self.0;
        tokio::select! {
            _ = interrupt.recv() => End::Interrupt,
            _ = terminate.recv() => End::Terminate,
            _ = hangup.recv() => End::Hangup,
        }
    }

    /// Passes over a Ctrl-C that has come already.
    pub(crate) async fn forget_interrupt(&mut self) {
        tokio::select! {
            biased;
            _ = self.0[0].recv() => {}
            () = std::future::ready(()) => {}
        }
    }

    /// Waits for any but Ctrl-C, which is for whoever has the terminal meanwhile.
    pub(crate) async fn but_interrupt(&mut self) -> End {
        loop {
            match self.any().await {
                End::Interrupt => {}
                end => return end,
            }
        }
    }
}

// === impl End ===

impl End {
    /// The exit code of a command that it ends.
    pub(crate) fn code(self) -> u8 {
        match self {
            Self::Interrupt => 130,
            Self::Terminate => 143,
            Self::Hangup => 129,
        }
    }
}

impl fmt::Display for End {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Interrupt => "SIGINT",
            Self::Terminate => "SIGTERM",
            Self::Hangup => "SIGHUP",
        })
    }
}
