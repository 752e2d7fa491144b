use super::*;

#[test]
fn columns_are_as_wide_as_what_is_in_them() {
    let mut table = Table::new(&["NAME", "X"]);
    table.row(["a".to_owned(), "1".to_owned()]);
    table.row(["längerer".to_owned(), String::new()]);
    assert_eq!(table.to_string(), "NAME       X\na          1\nlängerer");
}
