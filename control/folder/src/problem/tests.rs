use super::*;

fn told(text: &str, line: usize, column: usize) -> String {
    Problem::of_file("a.json", "wrong").at(Place { line, column }, Some(text)).to_string()
}

#[test]
fn a_line_is_shown_with_a_mark() {
    assert_eq!(told("a\n  b: \tc \n", 2, 6), "wrong\n  --> a.json:2:6\n   |\n 2 |   b:  c\n   |      ^");
}

#[test]
fn of_a_long_line_the_part_around_the_mistake_is_shown() {
    let line = format!("{}X{}", "a".repeat(500), "b".repeat(500));
    let told = told(&line, 1, 501);
    let lines: Vec<_> = told.lines().collect();
    assert_eq!(lines[3], format!(" 1 | {}X{}", "a".repeat(60), "b".repeat(39)));
    assert_eq!(lines[4].find('^'), lines[3].find('X'));
}

#[test]
fn a_place_behind_the_end_shows_no_line() {
    assert_eq!(told("a\n\n", 2, 1), "wrong\n  --> a.json:2:1");
    assert_eq!(told("a", 9, 9), "wrong\n  --> a.json:9:9");
    assert!(told("a", 1, 50).ends_with('^'), "a parser may stand behind the last column");
}
