//! The results as a table on standard output.

use std::fmt::Write as _;

use crate::results::{Load, Request, Results, Revocations, Step, Store};

/// Prints everything that was measured.
pub(crate) fn print(results: &Results) {
    let text = text(results);
    // A pipe that nobody reads any more is no failure.
    let _ = std::io::Write::write_all(&mut std::io::stdout(), text.as_bytes());
}

fn text(results: &Results) -> String {
    let (machine, settings) = (&results.machine, &results.settings);
    let mut out = String::new();
    let mut say = |line: String| out.push_str(&(line + "\n"));
    say(format!(
        "{}, {} cores, {:.0} GiB, Linux {}; Envoy {}, {} worker; {}",
        machine.processor,
        machine.cores,
        machine.memory_gib,
        machine.kernel,
        machine.envoy,
        settings.envoy_workers,
        machine.keyward,
    ));
    say(format!(
        "{} rounds of {} s a cell, interleaved, {} connections; medians, ratios within a round; load average \
         before: {:.2}",
        settings.rounds, settings.seconds, settings.connections, machine.load_before,
    ));
    for noise in &results.noise {
        say(format!(
            "noise at {} keys: no filter spread over {:.1}% of its median",
            noise.keys, noise.percent
        ));
    }
    requests(&mut out, &results.requests);
    loads(&mut out, &results.loads);
    revocations(&mut out, &results.revocations);
    store(&mut out, &results.store);
    anatomy(&mut out, &results.anatomy);
    out
}

fn requests(out: &mut String, rows: &[Request]) {
    let mut keys = None;
    for row in rows {
        if keys != Some(row.keys) {
            keys = Some(row.keys);
            let _ = writeln!(
                out,
                "\n{:<42} {:>9} {:>17} {:>9} {:>7} {:>8} {:>8} {:>8} {:>8} {:>8} {:>8}",
                format!("requests, {} keys", row.keys),
                "CPU us",
                "min .. max",
                "beside us",
                "x none",
                "x native",
                "req/s",
                "p50 us",
                "p99 us",
                "p99.9 us",
                "RSS MiB"
            );
        }
        let native = row.to_native.map_or_else(String::new, |ratio| format!("{ratio:.2}"));
        let _ = writeln!(
            out,
            "{:<42} {:>9.2} {:>17} {:>9.2} {:>7.2} {native:>8} {:>8.0} {:>8.0} {:>8.0} {:>8.0} {:>8.0}",
            format!("{}, {}, {}", row.peer, row.case, row.answer),
            row.cpu_us,
            format!("{:.2} .. {:.2}", row.cpu_min_us, row.cpu_max_us),
            row.beside_us,
            row.to_none,
            row.requests_per_second,
            row.p50_us,
            row.p99_us,
            row.p999_us,
            row.envoy_mib,
        );
    }
}

fn loads(out: &mut String, rows: &[Load]) {
    if rows.is_empty() {
        return;
    }
    let _ = writeln!(
        out,
        "\n{:<20} {:>7} {:>9} {:>10} {:>12} {:>10} {:>12} {:>9} {:>7} {:>10} {:>12}",
        "full load of a table",
        "answers",
        "load ms",
        "idle p50",
        "idle p99.9",
        "load p50",
        "load p99.9",
        "max us",
        "ratio",
        "Envoy MiB",
        "control MiB"
    );
    for row in rows {
        let _ = writeln!(
            out,
            "{:<20} {:>7} {:>9.1} {:>10.0} {:>12.0} {:>10.0} {:>12.0} {:>9.0} {:>7.2} {:>10.0} {:>12.0}",
            format!("{} keys", row.keys),
            row.answers,
            row.load_ms,
            row.idle_p50_us,
            row.idle_p999_us,
            row.loading_p50_us,
            row.loading_p999_us,
            row.loading_max_us,
            row.ratio,
            row.envoy_mib,
            row.control_mib,
        );
    }
}

fn revocations(out: &mut String, rows: &[Revocations]) {
    if rows.is_empty() {
        return;
    }
    let _ = writeln!(
        out,
        "\n{:<44} {:>24} {:>26} {:>20}",
        "revocations, ms: p50 / p99 / max", "to the first 401", "to the last confirmation", "bytes a change"
    );
    for row in rows {
        let what = if row.under_load { "under load" } else { "idle" };
        let (first, all) = (&row.first_401_ms, &row.confirmed_ms);
        let _ = writeln!(
            out,
            "{:<44} {:>24} {:>26} {:>20}",
            format!("{} keys, {} Envoys, {what}, {} times", row.keys, row.envoys, row.count),
            format!("{:.1} / {:.1} / {:.1}", first.p50, first.p99, first.max),
            format!("{:.1} / {:.1} / {:.1}", all.p50, all.p99, all.max),
            format!("{:.0} + {:.0}", row.received_bytes, row.sent_bytes),
        );
    }
}

fn store(out: &mut String, rows: &[Store]) {
    if rows.is_empty() {
        return;
    }
    let _ = writeln!(
        out,
        "\n{:<20} {:>9} {:>10} {:>12} {:>20} {:>20} {:>20}",
        "store: p50 / p99", "file MiB", "start ms", "control MiB", "list of 500, ms", "get, ms", "change, ms"
    );
    for row in rows {
        let of = |spread: &crate::stats::Spread| format!("{:.2} / {:.2}", spread.p50, spread.p99);
        let _ = writeln!(
            out,
            "{:<20} {:>9.0} {:>10.0} {:>12.0} {:>20} {:>20} {:>20}",
            format!("{} Secrets", row.secrets),
            row.file_mib,
            row.start_ms,
            row.control_mib,
            of(&row.list_500_ms),
            of(&row.get_ms),
            of(&row.change_ms),
        );
    }
}

fn anatomy(out: &mut String, rows: &[Step]) {
    if rows.is_empty() {
        return;
    }
    let _ =
        writeln!(out, "\n{:<34} {:>9} {:>9} {:>9}", "an allowed request, direct", "CPU us", "least", "added");
    for row in rows {
        let _ = writeln!(
            out,
            "{:<34} {:>9.2} {:>9.2} {:>9}",
            row.name,
            row.cpu_us,
            row.cpu_min_us,
            format!("{:+.2}", row.added_us)
        );
    }
}
