use super::*;

const NAME: &str = "write";

fn span(id: u64, fields: Fields) -> Arc<Span> {
    let start = SystemTime::UNIX_EPOCH + Duration::from_secs(id);
    Arc::new(Span { name: NAME, trace: 1, id, parent: None, start, fields })
}

fn ids(recent: &Recent, which: Which) -> Vec<u64> {
    recent.samples(NAME, which).expect("a name").iter().map(|sample| sample.span.id).collect()
}

#[test]
fn spans_are_counted_and_some_are_kept() {
    let recent = Recent::default();
    for id in 0..25 {
        recent.begin(&span(id, Fields::default()));
    }
    assert_eq!(ids(&recent, Which::Running).len(), 25);
    for id in 0..20 {
        recent.end(span(id, Fields::default()), Duration::from_millis(5));
    }
    recent.end(span(20, Fields::default()), Duration::from_secs(3));
    recent.end(span(21, Fields::of_failure()), Duration::from_secs(3));
    let summary = recent.summaries().pop().expect("a name");
    assert_eq!((summary.name, summary.running, summary.failed), (NAME, 3, 1));
    assert_eq!(summary.latencies, [0, 0, 0, 20, 0, 0, 1, 0, 0]);
    assert_eq!(ids(&recent, Which::Running), [24, 23, 22], "the newest first");
    assert_eq!(ids(&recent, Which::Bucket(3)), (10..20).rev().collect::<Vec<_>>(), "the last ten");
    assert_eq!(ids(&recent, Which::Bucket(6)), [20]);
    assert_eq!(ids(&recent, Which::Failed), [21]);
    assert_eq!(ids(&recent, Which::Bucket(BUCKETS)), [0_u64; 0]);
    assert_eq!(recent.samples("other", Which::Failed), None);
}

#[test]
fn nothing_grows_without_end() {
    let recent = Recent::default();
    let many = MAX_RUNNING as u64 + 100;
    for id in 0..many {
        recent.begin(&span(id, Fields::default()));
    }
    assert_eq!(ids(&recent, Which::Running).len(), MAX_RUNNING);
    assert_eq!(recent.summaries()[0].running, many, "those that are not kept are counted");
    for id in 0..many {
        recent.end(span(id, Fields::of_failure()), Duration::ZERO);
    }
    assert_eq!((recent.summaries()[0].running, recent.summaries()[0].failed), (0, many));
    assert_eq!(ids(&recent, Which::Failed).len(), MAX_SAMPLES);

    let names: Vec<&'static str> = (0..MAX_NAMES + 5).map(|n| &*format!("name {n}").leak()).collect();
    for name in names {
        recent.begin(&Arc::new(Span { name, ..(*span(1, Fields::default())).clone() }));
    }
    assert_eq!(recent.summaries().len(), MAX_NAMES);
}
