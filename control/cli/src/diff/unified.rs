//! Two texts as a unified difference: lines that go, lines that come, and a few around them.

use std::fmt::Write as _;
use std::ops::Range;

#[cfg(test)]
mod tests;

/// How many lines are shown around a change.
const CONTEXT: usize = 3;
/// Where comparing would need a larger table, all in between counts as changed.
const LARGEST: usize = 16 * 1024 * 1024;

/// A line, and what becomes of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Line<'a> {
    Stays(&'a str),
    Goes(&'a str),
    Comes(&'a str),
}

/// What differs; none where nothing does. The result has no line end.
pub(super) fn unified(before: &str, after: &str, from: &str, to: &str) -> Option<String> {
    if before == after {
        return None;
    }
    let (before, after): (Vec<_>, Vec<_>) = (before.lines().collect(), after.lines().collect());
    let lines = compare(&before, &after);
    let mut text = format!("--- {from}\n+++ {to}");
    for hunk in hunks(&lines) {
        let (first, shown) = (&lines[..hunk.start], &lines[hunk]);
        let old = place(first, shown, |line| !matches!(line, Line::Comes(_)));
        let new = place(first, shown, |line| !matches!(line, Line::Goes(_)));
        let _ = write!(text, "\n@@ -{old} +{new} @@");
        for line in shown {
            let (mark, line) = match line {
                Line::Stays(line) => (' ', line),
                Line::Goes(line) => ('-', line),
                Line::Comes(line) => ('+', line),
            };
            let _ = write!(text, "\n{mark}{line}");
        }
    }
    Some(text)
}

/// The lines of one of the texts as a hunk names them; where it shows none, the line before.
fn place(first: &[Line<'_>], shown: &[Line<'_>], is_there: fn(&Line<'_>) -> bool) -> String {
    let count = |lines: &[Line<'_>]| lines.iter().filter(|line| is_there(line)).count();
    let before = count(first);
    match count(shown) {
        0 => format!("{before},0"),
        1 => format!("{}", before + 1),
        count => format!("{},{count}", before + 1),
    }
}

/// The parts that are shown: each change with the lines around it, and what overlaps as one.
fn hunks(lines: &[Line<'_>]) -> Vec<Range<usize>> {
    let mut hunks: Vec<Range<usize>> = Vec::new();
    for (index, line) in lines.iter().enumerate() {
        if matches!(line, Line::Stays(_)) {
            continue;
        }
        let around = index.saturating_sub(CONTEXT)..(index + CONTEXT + 1).min(lines.len());
        match hunks.last_mut() {
            Some(last) if around.start <= last.end => last.end = around.end,
            _ => hunks.push(around),
        }
    }
    hunks
}

/// Each line of both texts, so that as many as possible stay.
fn compare<'a>(before: &[&'a str], after: &[&'a str]) -> Vec<Line<'a>> {
    let alike = before.iter().zip(after).take_while(|(one, other)| one == other).count();
    let (begin, before) = before.split_at(alike);
    let after = &after[alike..];
    let alike = before.iter().rev().zip(after.iter().rev()).take_while(|(one, other)| one == other).count();
    let (before, end) = before.split_at(before.len() - alike);
    let after = &after[..after.len() - alike];
    let mut lines: Vec<_> = begin.iter().map(|line| Line::Stays(line)).collect();
    lines.extend(middle(before, after));
    lines.extend(end.iter().map(|line| Line::Stays(line)));
    lines
}

fn middle<'a>(before: &[&'a str], after: &[&'a str]) -> Vec<Line<'a>> {
    let width = after.len() + 1;
    let mut lines = Vec::new();
    let (mut old, mut new) = (0, 0);
    if (before.len() + 1).saturating_mul(width) <= LARGEST {
        // How many lines stay at most of what is behind each pair of lines.
        let mut stay = vec![0_u32; (before.len() + 1) * width];
        for old in (0..before.len()).rev() {
            for new in (0..after.len()).rev() {
                stay[old * width + new] = if before[old] == after[new] {
                    stay[(old + 1) * width + new + 1] + 1
                } else {
                    stay[(old + 1) * width + new].max(stay[old * width + new + 1])
                };
            }
        }
        while old < before.len() && new < after.len() {
            if before[old] == after[new] {
                lines.push(Line::Stays(before[old]));
                (old, new) = (old + 1, new + 1);
            } else if stay[(old + 1) * width + new] >= stay[old * width + new + 1] {
                lines.push(Line::Goes(before[old]));
                old += 1;
            } else {
                lines.push(Line::Comes(after[new]));
                new += 1;
            }
        }
    }
    lines.extend(before[old..].iter().map(|line| Line::Goes(line)));
    lines.extend(after[new..].iter().map(|line| Line::Comes(line)));
    lines
}
