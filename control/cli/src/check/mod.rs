//! `keyward check`.

mod gather;

use std::collections::BTreeSet;
use std::time::Duration;

use clap::{Args, Parser};
use jiff::Timestamp;
use keyward_check::{Choice, Outcome, PodSelector, SECTIONS, Section, Verdict, check};
use tokio::time::{Instant, sleep, timeout_at};

use self::gather::{Gathered, Gatherer};
use crate::client::{Client, Environment, ServerArgs, USUAL_NAMESPACE};
use crate::ended::Ended;
use crate::output::{Format, Output};
use crate::slow;

pub(super) const EXAMPLES: &str = "\
Examples:
  # Looks at everything, and says what is wrong and what to do about it:
  keyward check

  # The objects of one namespace, without Secrets:
  keyward check -r team -x secrets

  # For programs; the exit code is the same:
  keyward check -o json | jq -r '.findings[] | .code + \" \" + .message'

Exit codes: 0 no problems, 1 problems, 2 it could not run. docs/check.md lists
the codes of problems.";

/// What is found once is looked at again after this, so that nothing counts that is over in a moment.
const AGAIN: Duration = Duration::from_millis(250);
/// What passes by itself, such as a proxy that has not answered yet, is waited for so long.
const PATIENCE: Duration = Duration::from_secs(2);
/// What the original product looks at too, and is not here.
const ELSEWHERE: [&str; 3] = ["kube-gateway-classes", "kube-gateways", "kube-http-routes"];

/// What is looked at.
#[derive(Debug, Clone, Args)]
pub struct CheckArgs {
    /// Leaves out what is named; may be repeated, or a list with commas: deployments, pods, upstreams,
    /// upstreamgroup, auth-configs, rate-limit-configs, virtual-host-options, route-options, secrets,
    /// virtual-services, route-tables, gateways, proxies, xds-metrics.
    #[arg(long, short = 'x', value_name = "WHAT", value_delimiter = ',', value_parser = left_out)]
    exclude: Vec<LeftOut>,

    /// The namespace of the installation [default: as the server says].
    #[arg(long, short, value_name = "NAMESPACE")]
    namespace: Option<String>,

    /// Looks at the objects of this namespace alone; may be repeated [default: all].
    #[arg(long, short, value_name = "NAMESPACE", value_delimiter = ',')]
    resource_namespaces: Vec<String>,

    /// Looks at components and proxies with these labels alone: keyward=NAME, role=ROLE, node=NODE.
    #[arg(long, short, value_name = "SELECTOR", default_value = PodSelector::DEFAULT)]
    pod_selector: PodSelector,

    /// How it looks.
    #[arg(long, short, value_name = "FORMAT", default_value = "table")]
    output: Format,

    /// How long it may take.
    #[arg(long, value_name = "DURATION", default_value = "60s", value_parser = limit)]
    timeout: Duration,

    /// Does not ask how proxies stand.
    #[arg(long)]
    read_only: bool,

    /// Looks at all Secrets, however many there are.
    #[arg(long)]
    all_secrets: bool,

    #[command(flatten)]
    server: ServerArgs,
}

/// The flags by themselves.
#[derive(Parser)]
struct Alone {
    #[command(flatten)]
    check: CheckArgs,
}

/// A section, or what there is elsewhere.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct LeftOut(Option<Section>);

fn left_out(word: &str) -> Result<LeftOut, String> {
    if ELSEWHERE.contains(&word) {
        return Ok(LeftOut(None));
    }
    Section::of_word(word).map(|section| LeftOut(Some(section))).ok_or_else(|| {
        let known: Vec<_> = SECTIONS.iter().map(|section| section.word()).collect();
        format!("nothing of that name is looked at; there are {}", known.join(", "))
    })
}

/// Reads `30s` or `2m`; `0` means a year.
fn limit(text: &str) -> Result<Duration, String> {
    const YEAR: Duration = Duration::from_secs(365 * 24 * 3600);
    if matches!(text, "0" | "0s") {
        return Ok(YEAR);
    }
    let wrong = || format!("{text:?} is no time: write such as 30s or 2m, or 0 for no limit");
    let limit = text.parse::<jiff::SignedDuration>().map_err(|_| wrong())?;
    Duration::try_from(limit)
        .ok()
        .filter(|limit| !limit.is_zero())
        .map(|limit| limit.min(YEAR))
        .ok_or_else(wrong)
}

pub(super) async fn run(args: &CheckArgs, output: &mut Output) -> anyhow::Result<()> {
    let until = Instant::now() + args.timeout;
    let looking = "still looking; -x leaves something out (of many Secrets: -x secrets)";
    let looked = slow::told(looking, timeout_at(until, look(args))).await;
    let looked = looked.unwrap_or_else(|_| {
        Err(anyhow::anyhow!(
            "the check did not come to an end within {:?}\nhint: --timeout gives it more time, -x leaves something \
             out (of many Secrets: -x secrets)",
            args.timeout
        ))
    });
    let outcome = looked.map_err(|error| Ended::with(2, error))?;
    output.show(args.output, &outcome.json(), || outcome.text())?;
    if let Some(errors) = outcome.errors().filter(|_| args.output == Format::Table) {
        output.note(errors.trim_end());
    }
    match outcome.verdict() {
        Verdict::Healthy => Ok(()),
        Verdict::Problems(_) => Err(Ended::told(1)),
    }
}

/// All that a check of a server says, as it is without flags.
pub(super) async fn report(server: ServerArgs) -> anyhow::Result<String> {
    let Alone { check } = Alone::try_parse_from(["check"])?;
    let args = CheckArgs { server, ..check };
    let outcome = timeout_at(Instant::now() + args.timeout, look(&args)).await??;
    Ok(format!("{}\n{}", outcome.text(), outcome.errors().unwrap_or_default()))
}

/// Looks until nothing is found, or until it is still there.
async fn look(args: &CheckArgs) -> anyhow::Result<Outcome> {
    let client = Client::new(&args.server.target(&Environment::of_process())?)?;
    let gatherer = Gatherer {
        client,
        secrets: !args.exclude.contains(&LeftOut(Some(Section::Secrets))),
        all_secrets: args.all_secrets,
        proxies: !args.read_only,
        namespace: args.namespace.clone(),
    };
    let began = Instant::now();
    let first = gatherer.gather().await?;
    let mut outcome = args.judge(&first);
    let again = |outcome: &Outcome| match outcome.verdict() {
        Verdict::Healthy => false,
        Verdict::Problems(_) => outcome.may_pass() && began.elapsed() < PATIENCE,
    };
    let mut looks = 1;
    while (looks == 1 && outcome.verdict() != Verdict::Healthy) || again(&outcome) {
        sleep(AGAIN).await;
        outcome = args.judge(&gatherer.gather().await?);
        looks += 1;
    }
    Ok(outcome)
}

// === impl CheckArgs ===

impl CheckArgs {
    fn judge(&self, gathered: &Gathered) -> Outcome {
        let says = || gathered.state.as_ref().and_then(|state| state.namespace()).unwrap_or(USUAL_NAMESPACE);
        let choice = Choice {
            namespace: self.namespace.as_deref().unwrap_or_else(says).to_owned(),
            namespaces: self.resource_namespaces.iter().cloned().collect(),
            exclude: self.exclude.iter().filter_map(|left_out| left_out.0).collect::<BTreeSet<_>>(),
            pods: self.pod_selector.clone(),
        };
        let now = u64::try_from(Timestamp::now().as_millisecond()).unwrap_or_default();
        check(&gathered.world, gathered.state.as_ref(), &choice, now)
    }
}

#[cfg(test)]
mod tests;
