use super::*;

fn cells(texts: &[&str]) -> Vec<Cell> {
    texts.iter().map(|text| text.lines().map(str::to_owned).collect()).collect()
}

#[test]
fn a_table_is_drawn_as_the_original_draws_it() {
    let mut table = Bordered::new(["Upstream", "type", "status", "details"]);
    let hosts = ["hosts:", "- jsonplaceholder.typicode.com:80", ""].map(str::to_owned);
    table.row([line("jsonplaceholder-80"), line("Static"), line("Pending"), hosts.to_vec()]);
    let expected = "\
+--------------------+--------+---------+---------------------------------+
|      UPSTREAM      |  TYPE  | STATUS  |             DETAILS             |
+--------------------+--------+---------+---------------------------------+
| jsonplaceholder-80 | Static | Pending | hosts:                          |
|                    |        |         | -                               |
|                    |        |         | jsonplaceholder.typicode.com:80 |
|                    |        |         |                                 |
+--------------------+--------+---------+---------------------------------+";
    assert_eq!(table.to_string(), expected);
}

#[test]
fn a_table_without_rows_has_its_headings() {
    let table = Bordered::new(["Secret", "Type"]);
    assert_eq!(
        table.to_string(),
        "+--------+------+\n| SECRET | TYPE |\n+--------+------+\n+--------+------+"
    );
}

#[test]
fn long_lines_are_broken_between_words_unless_they_may_be_long() {
    let text = "a long line that goes on behind the border";
    let drawn = |mut table: Bordered| {
        table.row(cells(&[text]));
        table.to_string().lines().skip(3).map(str::to_owned).collect::<Vec<_>>()
    };
    let wrapped = drawn(Bordered::new(["x"]));
    assert_eq!(wrapped[..2], ["| a long line that goes on |", "| behind the border        |"]);
    let whole = drawn(Bordered::new(["x"]).unwrapped());
    assert_eq!(whole[0], format!("| {text} |"));
}

#[test]
fn what_terminals_take_for_commands_is_not_in_a_table() {
    let mut table = Bordered::new(["x"]);
    table.row([line("a\u{1b}[2Jb\rc\tdé")]);
    assert!(table.to_string().contains("| a [2Jb c dé |"), "{table}");
}
