//! Who may have the configuration and the keys of a role: who says to be it, or only who has a
//! certificate for it.

use keyward_tls::Peer;
use keyward_xds::printable;
use tonic::{Extensions, Status};

/// So much of what somebody claims is repeated.
const MAX_ROLE: usize = 256;

/// Who may have a stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Admission {
    /// Everybody who reaches the port.
    Anybody,
    /// Who has a certificate for the role that they claim.
    Certified,
}

// === impl Admission ===

impl Admission {
    /// Decides about a client that claims a role, by what its connection says.
    ///
    /// # Errors
    ///
    /// When it may not; the client is told.
    pub(crate) fn admit(self, claimed: &str, transport: &Extensions) -> Result<(), Status> {
        if self == Self::Anybody {
            return Ok(());
        }
        let certified = transport.get::<Peer>().and_then(|peer| peer.proxy.as_ref()).map(ToString::to_string);
        if certified.as_deref() == Some(claimed) {
            return Ok(());
        }
        let holder = certified.as_deref().unwrap_or("nobody");
        let claimed = printable(claimed, MAX_ROLE);
        tracing::warn!(%claimed, certified = holder, "a proxy is refused: its certificate is for another role");
        Err(Status::permission_denied(format!(
            "the certificate is for the role {holder:?}, and the node says {claimed:?}"
        )))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn transport(role: Option<&str>) -> Extensions {
        let proxy = role.map(|role| role.parse().unwrap());
        let mut extensions = Extensions::new();
        extensions.insert(Peer { address: "10.0.0.1:1".parse().unwrap(), proxy });
        extensions
    }

    #[test]
    fn only_the_holder_of_the_certificate_is_who_it_says() {
        for (claimed, certified, admitted) in [
            ("a~b", Some("a~b"), true),
            ("a~c", Some("a~b"), false),
            ("A~B", Some("a~b"), false),
            ("", Some("a~b"), false),
            ("a~b", None, false),
            ("nobody", None, false),
        ] {
            let outcome = Admission::Certified.admit(claimed, &transport(certified));
            assert_eq!(outcome.is_ok(), admitted, "{claimed} {certified:?}");
            assert!(outcome.is_ok_and(|()| admitted) || !admitted);
            assert!(Admission::Anybody.admit(claimed, &transport(certified)).is_ok());
        }
        let status = Admission::Certified.admit("a~b", &Extensions::new()).unwrap_err();
        assert_eq!(status.code(), tonic::Code::PermissionDenied);
    }
}
