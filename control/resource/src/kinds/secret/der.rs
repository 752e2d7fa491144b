//! As much of DER as it takes to see whether a private key belongs to a certificate.
//!
//! Nothing is verified here: the proxy does that. What it would refuse for its form is found before.

/// The elements of a sequence, one after the other.
#[derive(Clone, Copy)]
pub(super) struct Elements<'a>(&'a [u8]);

/// The public half of a key, as much of it as is compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum PublicKey<'a> {
    /// RSA: the modulus, without leading zeros.
    Rsa(&'a [u8]),
    /// A curve that the proxy knows: the point. None where a private key does not tell it.
    Ec(Option<&'a [u8]>),
    /// Any other.
    Other,
}

const INTEGER: u8 = 0x02;
const BIT_STRING: u8 = 0x03;
const OCTET_STRING: u8 = 0x04;
const OID: u8 = 0x06;
const SEQUENCE: u8 = 0x30;
/// `[0]`, in certificates the version and in keys of curves the curve.
const CONTEXT_0: u8 = 0xa0;
/// `[1]`, in keys of curves the public half.
const CONTEXT_1: u8 = 0xa1;

/// 1.2.840.113549.1.1.1
const OID_RSA: &[u8] = &[0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 0x01, 0x01, 0x01];
/// 1.2.840.10045.2.1
const OID_EC: &[u8] = &[0x2a, 0x86, 0x48, 0xce, 0x3d, 0x02, 0x01];
/// P-256, P-384 and P-521; the proxy takes no other.
const OID_CURVES: &[&[u8]] = &[
    &[0x2a, 0x86, 0x48, 0xce, 0x3d, 0x03, 0x01, 0x07],
    &[0x2b, 0x81, 0x04, 0x00, 0x22],
    &[0x2b, 0x81, 0x04, 0x00, 0x23],
];

/// The public key in an X.509 certificate.
pub(super) fn certificate(der: &[u8]) -> Option<PublicKey<'_>> {
    let mut certificate = whole(der)?;
    let mut signed = certificate.sequence()?;
    signed.skip_if(CONTEXT_0);
    signed.expect(INTEGER)?;
    // The signature algorithm, the issuer, the validity and the subject.
    for _ in 0..4 {
        signed.sequence()?;
    }
    let mut key = signed.sequence()?;
    let (algorithm, parameters) = key.algorithm()?;
    let bits = key.expect(BIT_STRING)?.strip_prefix(&[0])?;
    // The signature must be there too.
    certificate.sequence()?;
    certificate.expect(BIT_STRING)?;
    match algorithm {
        OID_RSA => {
            let mut key = whole(bits)?;
            key.expect(INTEGER).map(|modulus| PublicKey::Rsa(without_zeros(modulus)))
        }
        OID_EC if parameters.is_some_and(is_known_curve) => Some(PublicKey::Ec(Some(bits))),
        _ => Some(PublicKey::Other),
    }
}

/// The public half of a PKCS #8 private key.
pub(super) fn pkcs8(der: &[u8]) -> Option<PublicKey<'_>> {
    let mut key = whole(der)?;
    key.expect(INTEGER)?;
    let (algorithm, parameters) = key.algorithm()?;
    let inner = key.expect(OCTET_STRING)?;
    match algorithm {
        OID_RSA => pkcs1(inner),
        OID_EC if parameters.is_some_and(is_known_curve) => ec_point(inner).map(PublicKey::Ec),
        _ => Some(PublicKey::Other),
    }
}

/// The public half of a PKCS #1 RSA private key.
pub(super) fn pkcs1(der: &[u8]) -> Option<PublicKey<'_>> {
    let mut key = whole(der)?;
    key.expect(INTEGER)?;
    let modulus = key.expect(INTEGER)?;
    // The exponents must be there too.
    key.expect(INTEGER)?;
    key.expect(INTEGER)?;
    Some(PublicKey::Rsa(without_zeros(modulus)))
}

/// The public half of a SEC 1 private key of a curve.
pub(super) fn sec1(der: &[u8]) -> Option<PublicKey<'_>> {
    let point = ec_point(der)?;
    let mut key = whole(der)?;
    key.expect(INTEGER)?;
    key.expect(OCTET_STRING)?;
    let curve = key.skip_if(CONTEXT_0).and_then(|inner| Elements(inner).expect(OID));
    Some(if curve.is_some_and(is_known_curve) { PublicKey::Ec(point) } else { PublicKey::Other })
}

fn ec_point(der: &[u8]) -> Option<Option<&[u8]>> {
    let mut key = whole(der)?;
    key.expect(INTEGER)?;
    key.expect(OCTET_STRING)?;
    key.skip_if(CONTEXT_0);
    match key.skip_if(CONTEXT_1) {
        Some(inner) => Elements(inner).expect(BIT_STRING)?.strip_prefix(&[0]).map(Some),
        None => Some(None),
    }
}

fn is_known_curve(oid: &[u8]) -> bool {
    OID_CURVES.contains(&oid)
}

fn without_zeros(number: &[u8]) -> &[u8] {
    let zeros = number.iter().take_while(|byte| **byte == 0).count();
    number.get(zeros..).unwrap_or_default()
}

/// The elements of the one sequence that all of it is.
fn whole(der: &[u8]) -> Option<Elements<'_>> {
    let mut all = Elements(der);
    let sequence = all.sequence()?;
    all.0.is_empty().then_some(sequence)
}

// === impl PublicKey ===

impl PublicKey<'_> {
    /// What is wrong with it for the proxy.
    pub(super) fn problem(&self) -> Option<&'static str> {
        match self {
            // 2048 bits.
            Self::Rsa(modulus) if modulus.len() < 256 => Some("an RSA key needs 2048 bits or more"),
            Self::Rsa(_) | Self::Ec(_) => None,
            Self::Other => Some("must have an RSA key, or one of the curves P-256, P-384 and P-521"),
        }
    }

    /// Whether the private key that tells this belongs to that certificate, as far as it tells.
    pub(super) fn belongs_to(&self, certificate: &Self) -> bool {
        match (self, certificate) {
            (Self::Ec(None), Self::Ec(_)) => true,
            _ => self == certificate,
        }
    }
}

// === impl Elements ===

impl<'a> Elements<'a> {
    fn next(&mut self) -> Option<(u8, &'a [u8])> {
        let (&tag, rest) = self.0.split_first()?;
        let (&first, rest) = rest.split_first()?;
        let (len, rest) = match first {
            0..=0x7f => (usize::from(first), rest),
            0x81..=0x84 => {
                let (bytes, rest) = rest.split_at_checked(usize::from(first & 0x7f))?;
                (bytes.iter().fold(0, |len, byte| (len << 8) | usize::from(*byte)), rest)
            }
            _ => return None,
        };
        let (content, rest) = rest.split_at_checked(len)?;
        self.0 = rest;
        Some((tag, content))
    }

    fn expect(&mut self, tag: u8) -> Option<&'a [u8]> {
        self.next().filter(|(found, _)| *found == tag).map(|(_, content)| content)
    }

    fn sequence(&mut self) -> Option<Self> {
        self.expect(SEQUENCE).map(Self)
    }

    /// Takes the next element if it is of this tag.
    fn skip_if(&mut self, tag: u8) -> Option<&'a [u8]> {
        let mut ahead = *self;
        let content = ahead.expect(tag)?;
        *self = ahead;
        Some(content)
    }

    /// An algorithm and its parameter, where that is an OID too.
    fn algorithm(&mut self) -> Option<(&'a [u8], Option<&'a [u8]>)> {
        let mut algorithm = self.sequence()?;
        let name = algorithm.expect(OID)?;
        Some((name, algorithm.expect(OID)))
    }
}
