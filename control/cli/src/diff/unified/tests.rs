use super::*;

#[test]
fn the_same_has_no_difference() {
    assert_eq!(unified("a\nb\n", "a\nb\n", "x", "y"), None);
    assert_eq!(unified("", "", "x", "y"), None);
}

#[test]
fn a_change_is_shown_with_the_lines_around_it() {
    let before = "1\n2\n3\n4\n5\n6\n7\n8\n9\n";
    let after = "1\n2\n3\n4\nfive\n6\n7\n8\n9\n";
    let expected = "--- old\n+++ new\n@@ -2,7 +2,7 @@\n 2\n 3\n 4\n-5\n+five\n 6\n 7\n 8";
    assert_eq!(unified(before, after, "old", "new").as_deref(), Some(expected));
}

#[test]
fn what_is_new_or_gone_as_a_whole_has_a_range_of_nothing() {
    assert_eq!(unified("", "a\nb", "o", "n").as_deref(), Some("--- o\n+++ n\n@@ -0,0 +1,2 @@\n+a\n+b"));
    assert_eq!(unified("a", "", "o", "n").as_deref(), Some("--- o\n+++ n\n@@ -1 +0,0 @@\n-a"));
}

#[test]
fn changes_far_apart_are_shown_apart() {
    let before: Vec<String> = (0..30).map(|number| number.to_string()).collect();
    let mut after = before.clone();
    after[3] = "three".to_owned();
    after.remove(20);
    let text = unified(&before.join("\n"), &after.join("\n"), "o", "n").unwrap();
    let heads: Vec<_> = text.lines().filter(|line| line.starts_with("@@")).collect();
    assert_eq!(heads, ["@@ -1,7 +1,7 @@", "@@ -18,7 +18,6 @@"]);
}

/// Applies a comparison: what stays and comes is the text after, what stays and goes the text before.
#[test]
fn nothing_is_lost_whatever_the_texts_are() {
    let words = ["a", "b", "c", "d"];
    let mut seed = 7_u32;
    let mut next = |most: usize| {
        seed = seed.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (seed >> 16) as usize % most
    };
    for round in 0..500 {
        let mut text = || -> Vec<&str> { (0..next(12)).map(|_| next(4)).map(|at| words[at]).collect() };
        let (before, after) = (text(), text());
        let lines = compare(&before, &after);
        let side = |skip: fn(&Line<'_>) -> bool| -> Vec<&str> {
            let kept = lines.iter().filter(|line| !skip(line));
            kept.map(|(Line::Stays(line) | Line::Goes(line) | Line::Comes(line))| *line).collect()
        };
        assert_eq!(side(|line| matches!(line, Line::Comes(_))), before, "round {round}");
        assert_eq!(side(|line| matches!(line, Line::Goes(_))), after, "round {round}");
    }
}
