use super::*;

/// What a proxy shows after it was told: its metrics by name.
#[derive(Default)]
struct Shown {
    names: Vec<String>,
    values: BTreeMap<String, i64>,
    totals: BTreeMap<&'static str, i64>,
}

impl Shown {
    fn tell(&mut self, decisions: &mut Decisions) {
        let mut added = Vec::new();
        let Self { names, values, totals } = self;
        decisions.show(
            |name| {
                assert!(!names.iter().any(|other| other == name), "{name} is defined once");
                names.push(name.to_owned());
                u32::try_from(names.len() - 1).ok()
            },
            |number, count| added.push((number, count)),
            |reason, count| *totals.entry(reason.name()).or_default() += count,
        );
        for (number, count) in added {
            *values.entry(names[number as usize].clone()).or_default() += count;
        }
    }

    fn values(&self) -> Vec<(&str, i64)> {
        self.values.iter().map(|(name, value)| (name.as_str(), *value)).collect()
    }
}

#[test]
fn decisions_are_told_by_auth_config_and_reason_and_only_those_that_happened() {
    let mut decisions = Decisions::new();
    let (a, b) = (decisions.row("team/a"), decisions.row("team/b"));
    assert_eq!(decisions.row("team/a"), a);
    let mut shown = Shown::default();
    shown.tell(&mut decisions);
    assert_eq!(shown.values(), []);
    for (row, reason) in [
        (a, Metric::Allowed),
        (b, Metric::Allowed),
        (a, Metric::DeniedNotYetValid),
        (a, Metric::Allowed),
        (Row::NONE, Metric::Forbidden),
    ] {
        decisions.count(row, reason);
    }
    shown.tell(&mut decisions);
    let expected = [
        ("keyward.decisions.none|no_policy", 1),
        ("keyward.decisions.team/a|allowed", 2),
        ("keyward.decisions.team/a|not_yet_valid", 1),
        ("keyward.decisions.team/b|allowed", 1),
    ];
    assert_eq!(shown.values(), expected);
    assert_eq!(
        shown.totals,
        BTreeMap::from([
            ("keyward.allowed", 3),
            ("keyward.denied.forbidden", 1),
            ("keyward.denied.not_yet_valid", 1)
        ])
    );
    shown.tell(&mut decisions);
    assert_eq!(shown.values(), expected, "each decision is told once");
    decisions.count(a, Metric::Allowed);
    shown.tell(&mut decisions);
    assert_eq!(shown.values["keyward.decisions.team/a|allowed"], 3);
}

#[test]
fn there_are_so_many_rows_and_the_rest_share_one() {
    let mut decisions = Decisions::new();
    let mut shown = Shown::default();
    for number in 0..3 * MAX_ROWS {
        let row = decisions.row(&format!("team/{number}"));
        decisions.count(row, Metric::Allowed);
    }
    shown.tell(&mut decisions);
    assert_eq!(
        shown.values.len(),
        MAX_ROWS - 1,
        "the row of routes without an AuthConfig has nothing to tell"
    );
    let kept = i64::try_from(MAX_ROWS - 2).expect("a small number");
    let all = i64::try_from(3 * MAX_ROWS).expect("a small number");
    assert_eq!(shown.values["keyward.decisions.other|allowed"], all - kept);
    assert_eq!(shown.totals["keyward.allowed"], all);
}

#[test]
fn what_the_proxy_does_not_define_is_in_the_total_and_is_tried_again() {
    let mut decisions = Decisions::new();
    let row = decisions.row("team/a");
    let mut total = 0;
    for _ in 0..2 {
        let mut tried = 0;
        decisions.count(row, Metric::Allowed);
        decisions.show(
            |_| {
                tried += 1;
                None
            },
            |_, _| panic!("there is nothing to add to"),
            |_, count| total += count,
        );
        assert_eq!(tried, 1);
    }
    assert_eq!(total, 2);
}

#[test]
fn what_is_no_decision_is_not_counted() {
    let mut decisions = Decisions::new();
    decisions.count(Row::NONE, Metric::Parked);
    let mut shown = Shown::default();
    shown.tell(&mut decisions);
    assert_eq!(shown.values(), []);
}
