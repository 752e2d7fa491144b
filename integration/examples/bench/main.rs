//! Measures what a request costs: CPU time of the Envoy under test per request served, through
//! no filter, through Envoy's own `api_key_auth` and through Keyward, in turn and in one run.
//!
//! ```text
//! wrk ─▶ Envoy under test (1 worker) ─▶ an Envoy that answers 200
//! ```
//!
//! `./x bench [--keys 1,1000,100000] [--rounds N] [--seconds N]`. Needs `wrk`. Absolute numbers
//! depend on the machine; the ratios, taken in the same run, much less.
//!
//! With `--revocations N` it measures instead how long a revocation takes: from the API call to the
//! first 401, and until every worker has confirmed it, idle and under load.

mod envoys;
mod gateway;
mod load;
mod process;
mod revocation;

use anyhow::Context as _;
use load::Sample;

/// What one run is told.
struct Options {
    keys: Vec<usize>,
    rounds: usize,
    seconds: u32,
    /// Revocations to measure, and nothing else.
    revocations: usize,
}

/// One thing that is measured.
struct Subject {
    name: String,
    /// The process whose CPU time counts.
    pid: u32,
    url: String,
    key: Option<String>,
    samples: Vec<Sample>,
}

fn options() -> anyhow::Result<Options> {
    let mut options = Options { keys: vec![1, 1_000, 100_000], rounds: 5, seconds: 3, revocations: 0 };
    let mut words = std::env::args().skip(1);
    while let Some(flag) = words.next() {
        let value = words.next().with_context(|| format!("{flag} needs a value"))?;
        match flag.as_str() {
            "--keys" => options.keys = value.split(',').map(str::parse).collect::<Result<_, _>>()?,
            "--rounds" => options.rounds = value.parse()?,
            "--seconds" => options.seconds = value.parse()?,
            "--revocations" => options.revocations = value.parse()?,
            other => {
                anyhow::bail!("{other} is unknown; there are --keys, --rounds, --seconds and --revocations")
            }
        }
    }
    Ok(options)
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or(f64::NAN)
}

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    let options = options()?;
    let folder = tempfile::tempdir().context("no folder for temporary files")?;
    let upstream = envoys::upstream(folder.path()).await?;
    for keys in &options.keys {
        let names: Vec<String> = (0..*keys).map(gateway::key).collect();
        if options.revocations > 0 {
            let keyward = gateway::start(folder.path(), upstream.port, &names).await?;
            revocation::measure(&keyward, *keys, options.revocations).await?;
            keyward.stop().await?;
            continue;
        }
        let asked = names.get(keys / 2).context("at least one key is needed")?.clone();
        let none = envoys::plain(folder.path(), upstream.port).await?;
        let native = envoys::native(folder.path(), upstream.port, &names).await?;
        let keyward = gateway::start(folder.path(), upstream.port, &names).await?;
        let subject = |name: &str, pid, port: u16, path: &str, key: Option<&str>| Subject {
            name: name.to_owned(),
            pid,
            url: format!("http://127.0.0.1:{port}{path}"),
            key: key.map(str::to_owned),
            samples: Vec::new(),
        };
        let mut subjects = vec![
            subject("no filter", none.id(), none.port, "/", Some(&asked)),
            subject("envoy api_key_auth, allowed", native.id(), native.port, "/", Some(&asked)),
            subject("envoy api_key_auth, denied", native.id(), native.port, "/", Some("unknown")),
            subject("keyward, open route", keyward.envoy, keyward.port, "/open", Some(&asked)),
            subject("keyward, allowed", keyward.envoy, keyward.port, "/", Some(&asked)),
            subject("keyward, denied: unknown", keyward.envoy, keyward.port, "/", Some("unknown")),
            subject("keyward, denied: missing", keyward.envoy, keyward.port, "/", None),
        ];
        // The first round warms up and is not counted.
        for round in 0..=options.rounds {
            for subject in &mut subjects {
                let seconds = if round == 0 { 1 } else { options.seconds };
                let sample = load::run(subject.pid, &subject.url, subject.key.as_deref(), seconds)?;
                if round > 0 {
                    subject.samples.push(sample);
                }
            }
        }
        report(*keys, &subjects);
        keyward.stop().await?;
    }
    Ok(())
}

#[expect(clippy::print_stdout, reason = "the result of the program")]
fn report(keys: usize, subjects: &[Subject]) {
    println!("\n{keys} keys");
    println!(
        "{:<30} {:>10} {:>22} {:>8} {:>10} {:>9} {:>9} {:>8}",
        "", "CPU us/req", "min .. max", "ratio", "requests/s", "p50 us", "p99 us", "RSS MB"
    );
    let Some(base) = subjects.first() else { return };
    let base = median(base.samples.iter().map(Sample::cpu_us).collect());
    for subject in subjects {
        let of = |value: fn(&Sample) -> f64| subject.samples.iter().map(value).collect::<Vec<_>>();
        let cpu = of(Sample::cpu_us);
        let (min, max) =
            cpu.iter().fold((f64::MAX, 0.0_f64), |(min, max), cpu| (min.min(*cpu), max.max(*cpu)));
        let cpu = median(cpu);
        println!(
            "{:<30} {cpu:>10.2} {:>22} {:>8.2} {:>10.0} {:>9.0} {:>9.0} {:>8.0}",
            subject.name,
            format!("{min:.2} .. {max:.2}"),
            cpu / base,
            median(of(|sample| sample.requests_per_second)),
            median(of(|sample| sample.p50_us)),
            median(of(|sample| sample.p99_us)),
            median(of(|sample| sample.rss_mb)),
        );
    }
}
