//! A name server that knows every name: each has the address 127.0.0.1 and no other, but for those
//! under `invalid`, which do not exist.

use std::net::{Ipv4Addr, SocketAddr};

use anyhow::Context as _;
use tokio::net::UdpSocket;
use tokio::task::AbortHandle;

/// How long an answer may be kept, in seconds.
const TTL: u32 = 60;
const HEADER: usize = 12;
const TYPE_A: u16 = 1;
const NO_SUCH_NAME: u8 = 3;

/// The name server. It ends when this is dropped.
pub(super) struct Names {
    address: SocketAddr,
    task: AbortHandle,
}

/// The answer to a question; none to what is no question.
fn answer(question: &[u8]) -> Option<Vec<u8>> {
    let mut labels = Vec::new();
    let mut at = HEADER;
    loop {
        let length = usize::from(*question.get(at)?);
        let label = question.get(at + 1..at + 1 + length)?;
        at += 1 + length;
        if length == 0 {
            break;
        }
        labels.push(String::from_utf8_lossy(label).to_lowercase());
    }
    let kind = u16::from_be_bytes(question.get(at..at + 2)?.try_into().ok()?);
    let end = at + 4;
    let exists = labels.last().is_some_and(|last| last != "invalid");
    let count = u8::from(exists && kind == TYPE_A);
    let mut answer = question.get(..2)?.to_vec();
    // A response, with recursion asked for and available.
    answer.extend([0x81, if exists { 0x80 } else { 0x80 | NO_SUCH_NAME }]);
    answer.extend([0, 1, 0, count, 0, 0, 0, 0]);
    answer.extend(question.get(HEADER..end)?);
    if count == 1 {
        // The name is the one at offset 12.
        answer.extend([0xc0, 12, 0, 1, 0, 1]);
        answer.extend(TTL.to_be_bytes());
        answer.extend([0, 4]);
        answer.extend(Ipv4Addr::LOCALHOST.octets());
    }
    Some(answer)
}

// === impl Names ===

impl Names {
    /// Starts it.
    pub(super) async fn start() -> anyhow::Result<Self> {
        let socket = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).await.context("no port for names")?;
        let address = socket.local_addr()?;
        let task = tokio::spawn(async move {
            let mut buffer = [0; 1024];
            while let Ok((count, from)) = socket.recv_from(&mut buffer).await {
                if let Some(answer) = buffer.get(..count).and_then(answer) {
                    // Envoy asks again when nothing comes.
                    let _ = socket.send_to(&answer, from).await;
                }
            }
        });
        Ok(Self { address, task: task.abort_handle() })
    }

    /// Where it is.
    pub(super) fn address(&self) -> SocketAddr {
        self.address
    }
}

impl Drop for Names {
    fn drop(&mut self) {
        self.task.abort();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ask(name: &str, kind: u8) -> Vec<u8> {
        let mut question = vec![7, 7, 1, 0, 0, 1, 0, 0, 0, 0, 0, 0];
        for label in name.split('.') {
            question.push(u8::try_from(label.len()).unwrap());
            question.extend(label.bytes());
        }
        question.extend([0, 0, kind, 0, 1]);
        answer(&question).unwrap()
    }

    #[test]
    fn names_have_one_address() {
        assert!(ask("a.example.com", 1).ends_with(&[0, 4, 127, 0, 0, 1]));
        let no_v6 = ask("a.example.com", 28);
        assert_eq!(no_v6.get(3..8), Some(&[0x80, 0, 1, 0, 0][..]));
        assert_eq!(ask("a.invalid", 1).get(3), Some(&0x83));
        assert_eq!(answer(b"short"), None);
    }
}
