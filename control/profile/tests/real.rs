//! Profiles of this process.

use std::hint::black_box;
use std::io::Read as _;
use std::time::{Duration, Instant};

use keyward_profile::{Allocator, Profile, ProfileError, cpu, heap};

#[global_allocator]
static ALLOCATOR: Allocator = Allocator;

/// Keeps a core busy, and the allocator.
#[inline(never)]
fn burn_time_here(until: Instant) -> usize {
    let mut kept = Vec::new();
    let mut rounds = 0_usize;
    while Instant::now() < until {
        kept.push(black_box(vec![rounds as u8; 64 + rounds % 512]));
        kept.truncate(1_000);
        rounds += black_box(kept.iter().map(Vec::len).sum::<usize>()) % 7 + 1;
    }
    rounds
}

#[inline(never)]
fn hold_memory_here() -> Vec<Vec<u8>> {
    (0..64).map(|_| black_box(vec![1_u8; 1024 * 1024])).collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn time_is_found_where_it_goes_and_one_profile_is_taken_at_a_time() {
    let until = Instant::now() + Duration::from_secs(60);
    let stop = std::sync::Arc::new(std::sync::atomic::AtomicBool::new(false));
    let threads: Vec<_> = (0..2)
        .map(|_| {
            let stop = stop.clone();
            std::thread::spawn(move || {
                while !stop.load(std::sync::atomic::Ordering::Relaxed) {
                    black_box(burn_time_here((Instant::now() + Duration::from_millis(20)).min(until)));
                }
            })
        })
        .collect();
    // Often, and many times: stacks are taken in the middle of everything, allocations included.
    let mut folded = String::new();
    for _ in 0..3 {
        let (one, other) = tokio::join!(cpu(Duration::from_secs(1), 999), async {
            tokio::time::sleep(Duration::from_millis(300)).await;
            cpu(Duration::from_secs(1), 999).await
        });
        assert!(matches!(other, Err(ProfileError::Busy)), "{other:?}");
        folded = one.expect("a profile").folded();
    }
    stop.store(true, std::sync::atomic::Ordering::Relaxed);
    threads.into_iter().for_each(|thread| thread.join().expect("a thread"));
    let total = |text: &str| -> i64 {
        let lines = folded.lines().filter(|line| line.contains(text));
        lines.filter_map(|line| line.rsplit(' ').next()?.parse::<i64>().ok()).sum()
    };
    let (here, all) = (total("burn_time_here"), total(""));
    assert!(here * 2 > all && all > 100_000_000, "{here} of {all} ns:\n{folded}");
    assert!(folded.lines().any(|line| line.contains("std::thread")), "whole stacks:\n{folded}");
}

#[tokio::test]
async fn memory_is_found_where_it_is_held() {
    let held = hold_memory_here();
    let profile = heap().await.expect("a profile");
    let folded = profile.folded();
    let mine = folded.lines().filter(|line| line.contains("hold_memory_here"));
    let bytes: i64 = mine.filter_map(|line| line.rsplit(' ').next()?.parse::<i64>().ok()).sum();
    assert!((48..=80).contains(&(bytes / 1024 / 1024)), "{bytes} of 64 MiB:\n{folded}");
    assert!(!folded.contains("prof_backtrace_impl"), "stacks end where somebody allocates:\n{folded}");
    drop(held);
    let after = heap().await.expect("a profile").folded();
    assert!(!after.contains("hold_memory_here"), "{after}");
    assert_eq!(Profile::read(&profile.gzipped()).expect("a profile"), profile);
    let mut magic = [0; 2];
    profile.gzipped().as_slice().read_exact(&mut magic).expect("bytes");
    assert_eq!(magic, [0x1f, 0x8b]);
}
