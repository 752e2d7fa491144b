//! Whatever takes longer than a moment says so, where somebody watches.

use std::io::{IsTerminal as _, Write as _};
use std::pin::pin;
use std::time::Duration;

use tokio::time::sleep;

/// Whoever waits for longer is told what for.
const SILENCE: Duration = Duration::from_secs(1);

/// Does it, and says on a terminal what it is where it takes long.
pub(crate) async fn told<T>(what: &str, doing: impl Future<Output = T>) -> T {
    let somebody = std::io::stderr().is_terminal();
    let tell = || {
        // Nobody may be reading, and nothing depends on it.
        let _ = writeln!(std::io::stderr().lock(), "{what}");
    };
    told_after(SILENCE, somebody, tell, doing).await
}

async fn told_after<T>(
    silence: Duration,
    somebody: bool,
    tell: impl FnOnce(),
    doing: impl Future<Output = T>,
) -> T {
    let mut doing = pin!(doing);
    tokio::select! {
        biased;
        done = &mut doing => done,
        () = sleep(silence), if somebody => {
            tell();
            doing.await
        }
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;
    use std::future::ready;

    use tokio::sync::oneshot;

    use super::*;

    #[tokio::test]
    async fn who_waits_for_long_is_told_what_for() {
        // It is done only after somebody was told.
        let (done, waits) = oneshot::channel();
        let told =
            told_after(Duration::from_millis(1), true, || done.send(7).expect("it waits"), waits).await;
        assert_eq!(told, Ok(7));
        for somebody in [true, false] {
            let is_told = Cell::new(false);
            assert_eq!(told_after(Duration::ZERO, somebody, || is_told.set(true), ready(7)).await, 7);
            assert!(!is_told.get(), "at once is not long");
        }
        let is_told = Cell::new(false);
        let doing = sleep(Duration::from_millis(20));
        told_after(Duration::ZERO, false, || is_told.set(true), doing).await;
        assert!(!is_told.get(), "nobody watches");
    }
}
