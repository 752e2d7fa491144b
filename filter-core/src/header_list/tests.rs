use proptest::collection::vec;
use proptest::prelude::*;

use super::*;

fn list(headers: &[(&str, &[u8])]) -> Vec<u8> {
    let length = |bytes: &[u8]| u32::try_from(bytes.len()).expect("short").to_le_bytes();
    let mut list = u32::try_from(headers.len()).expect("few").to_le_bytes().to_vec();
    for (name, value) in headers {
        list.extend(length(name.as_bytes()));
        list.extend(length(value));
    }
    for text in headers.iter().flat_map(|(name, value)| [name.as_bytes(), value]) {
        list.extend_from_slice(text);
        list.push(0);
    }
    list
}

#[test]
fn every_value_of_a_header_is_found_and_no_other() {
    let list = list(&[("a", b"1"), ("b", b""), ("a", b"2,3"), ("ab", b"4"), ("a", b"\xff")]);
    assert_eq!(values(&list, "a"), Some(vec![b"1".to_vec(), b"2,3".to_vec(), b"\xff".to_vec()]));
    assert_eq!(values(&list, "b"), Some(vec![Vec::new()]));
    assert_eq!(values(&list, "c"), Some(Vec::new()));
    assert_eq!(values(&[0; 4], "a"), Some(Vec::new()));
}

#[test]
fn what_is_cut_off_is_no_list() {
    let list = list(&[("a", b"1"), ("b", b"2")]);
    for length in 0..list.len() {
        assert_eq!(values(&list[..length], "a"), None, "{length}");
    }
    assert_eq!(values(&[0xff; 12], "a"), None);
}

proptest! {
    #[test]
    fn any_headers_are_read_as_they_are(headers in vec(("[ab]{1,2}", vec(any::<u8>(), 0..9)), 0..9)) {
        let headers: Vec<(&str, &[u8])> = headers.iter().map(|(name, value)| (name.as_str(), &value[..])).collect();
        for name in ["a", "ab"] {
            let expected = headers.iter().filter(|(other, _)| *other == name).map(|(_, value)| value.to_vec());
            prop_assert_eq!(values(&list(&headers), name), Some(expected.collect()));
        }
    }

    #[test]
    fn any_bytes_are_survived(bytes in vec(any::<u8>(), 0..60), few in 0..4_u32) {
        let _ = values(&bytes, "a");
        let _ = values(&[&few.to_le_bytes()[..], &bytes].concat(), "a");
    }
}
