use super::*;

fn frame(function: &str, line: u32) -> Frame {
    Frame { function: function.to_owned(), file: "src/a.rs".to_owned(), line }
}

fn sample() -> Profile {
    let types =
        [ValueType { name: "samples", unit: "count" }, ValueType { name: "cpu", unit: "nanoseconds" }];
    let stack = |frames: Vec<Frame>, count: i64| Stack {
        frames,
        thread: "worker".to_owned(),
        values: vec![count, count * 10],
    };
    let stacks = [
        stack(vec![frame("inner<u8; 4>", 3), frame("outer", 9)], 2),
        stack(vec![frame("inner<u8; 4>", 4), frame("outer", 9)], 1),
        stack(vec![frame("outer", 9)], 5),
    ];
    Profile::new(&types, 10, UNIX_EPOCH + Duration::from_secs(5), Duration::from_secs(2), &stacks)
}

#[test]
fn stacks_become_what_pprof_reads() {
    let Profile(profile) = sample();
    let text = |index: i64| profile.string_table[usize::try_from(index).unwrap()].as_str();
    assert_eq!(profile.string_table[0], "");
    let types: Vec<_> = profile.sample_type.iter().map(|of| (text(of.r#type), text(of.unit))).collect();
    assert_eq!(types, [("samples", "count"), ("cpu", "nanoseconds")]);
    assert_eq!(
        (profile.period, profile.time_nanos, profile.duration_nanos),
        (10, 5_000_000_000, 2_000_000_000)
    );
    assert_eq!((profile.function.len(), profile.location.len(), profile.sample.len()), (2, 3, 3));
    for location in &profile.location {
        assert_eq!(location.mapping_id, profile.mapping[0].id);
        assert!(profile.function.iter().any(|function| function.id == location.line[0].function_id));
    }
    let ids = &profile.sample[0].location_id;
    let innermost = profile.location.iter().find(|location| location.id == ids[0]).unwrap();
    assert_eq!(innermost.line[0].line, 3);
}

#[test]
fn what_is_written_is_read_again() {
    let profile = sample();
    assert_eq!(Profile::read(&profile.gzipped()).unwrap(), profile);
    assert!(Profile::read(b"no gzip").is_err());
}

#[test]
fn noise_at_the_end_of_a_stack_is_taken_off() {
    let quiet = sample().without_leaves(|name| name.starts_with("inner"));
    assert_eq!(quiet.folded(), "worker;outer 80\n");
    assert_eq!(sample().without_leaves(|_| true), sample(), "but a stack of noise alone is left");
    assert_eq!(sample().without_leaves(|name| name == "outer").folded().lines().count(), 2);
}

#[test]
fn folded_stacks_begin_outside_and_are_added_up() {
    assert_eq!(sample().folded(), "worker;outer 50\nworker;outer;inner<u8: 4> 30\n");
}
