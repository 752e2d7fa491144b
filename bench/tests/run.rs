//! The program as a whole, with tiny numbers: every row is there, and nothing is left behind. What the
//! numbers are is not looked at, only that there are some.

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

/// A tiny run takes seconds; on a machine that is full of builds more of them.
const LIMIT: Duration = Duration::from_secs(240);

/// What is measured at each number of keys: peer, case, who answers.
const CELLS: [(&str, &str, &str); 20] = [
    ("no filter", "open route", "direct"),
    ("api_key_auth", "open route", "direct"),
    ("api_key_auth", "allowed", "direct"),
    ("api_key_auth", "denied", "direct"),
    ("api_key_auth", "flood", "direct"),
    ("ext_authz", "open route", "direct"),
    ("ext_authz", "allowed", "direct"),
    ("ext_authz", "denied", "direct"),
    ("ext_authz", "flood", "direct"),
    ("keyward", "open route", "direct"),
    ("keyward", "allowed", "direct"),
    ("keyward", "denied", "direct"),
    ("keyward", "flood", "direct"),
    ("no filter", "open route", "upstream"),
    ("api_key_auth", "open route", "upstream"),
    ("api_key_auth", "allowed", "upstream"),
    ("ext_authz", "open route", "upstream"),
    ("ext_authz", "allowed", "upstream"),
    ("keyward", "open route", "upstream"),
    ("keyward", "allowed", "upstream"),
];

/// A run in a folder of its own.
struct Run {
    folder: tempfile::TempDir,
    child: Child,
}

fn program() -> PathBuf {
    PathBuf::from(env!("CARGO_BIN_EXE_keyward-bench"))
}

fn lines(text: &str, beginning: &str) -> usize {
    text.lines().filter(|line| line.starts_with(beginning)).count()
}

/// Processes that were started from a run in a folder, and what starts them: the folder is in the
/// environment of all of them.
fn left(folder: &Path) -> Vec<String> {
    let mark = format!("TMPDIR={}", folder.display());
    let mut found = Vec::new();
    for process in std::fs::read_dir("/proc").unwrap().flatten() {
        // Not a process, gone already, or somebody else's.
        let Ok(environment) = std::fs::read(process.path().join("environ")) else { continue };
        if environment.split(|byte| *byte == 0).any(|entry| entry == mark.as_bytes()) {
            let command = std::fs::read(process.path().join("cmdline")).unwrap_or_default();
            found.push(String::from_utf8_lossy(&command).replace('\0', " "));
        }
    }
    found
}

fn number(row: &Value, path: &str) -> f64 {
    row.pointer(path).and_then(Value::as_f64).unwrap_or_else(|| panic!("no {path}: {row:#}"))
}

// === impl Run ===

impl Run {
    fn start(arguments: &[&str]) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let keyward = program().with_file_name("keyward");
        assert!(keyward.is_file(), "{} is missing: cargo build -p keyward", keyward.display());
        let file = |name: &str| std::fs::File::create(folder.path().join(name)).unwrap();
        let child = Command::new(program())
            .args(arguments)
            .arg("--keyward")
            .arg(keyward)
            .arg("--out")
            .arg(folder.path().join("out"))
            .env("TMPDIR", folder.path())
            .stdin(Stdio::null())
            .stdout(file("stdout"))
            .stderr(file("stderr"))
            .spawn()
            .unwrap();
        Self { folder, child }
    }

    fn said(&self, name: &str) -> String {
        std::fs::read_to_string(self.folder.path().join(name)).unwrap()
    }

    /// Waits for its end: its exit code.
    fn end(&mut self) -> i32 {
        let begin = Instant::now();
        loop {
            if let Some(status) = self.child.try_wait().unwrap() {
                return status.code().unwrap_or_else(|| panic!("{status}"));
            }
            assert!(begin.elapsed() < LIMIT, "it does not end: {}", self.said("stderr"));
            std::thread::sleep(Duration::from_millis(20));
        }
    }
}

impl Drop for Run {
    fn drop(&mut self) {
        if matches!(self.child.try_wait(), Ok(None)) {
            let _ = self.child.kill();
            let _ = self.child.wait();
        }
    }
}

#[test]
fn a_tiny_run_has_every_row() {
    let sizes = ["--keys", "1,20", "--rounds", "1", "--seconds", "0.05"];
    let counts = ["--revocations", "2", "--envoys", "1,2", "--store", "20,40"];
    let parts = ["--only", "requests", "--only", "loads", "--only", "revocations", "--only", "store"];
    let mut run = Run::start(&[&["--quick"], &sizes[..], &counts, &parts].concat());
    assert_eq!(run.end(), 0, "{}", run.said("stderr"));

    let out = run.folder.path().join("out");
    let results = std::fs::read(out.join("results.json")).unwrap();
    let results: Value = serde_json::from_slice(&results).unwrap();
    let rows = |name: &str| results[name].as_array().unwrap_or_else(|| panic!("no {name}")).clone();
    let mut expected = Vec::new();
    for keys in [1, 20] {
        expected.extend(CELLS.map(|(peer, case, answer)| (keys, peer, case, answer)));
    }
    let requests = rows("requests");
    let text = |row: &Value, name: &str| row[name].as_str().unwrap().to_owned();
    for (row, (keys, peer, case, answer)) in requests.iter().zip(&expected) {
        let found = (text(row, "peer"), text(row, "case"), text(row, "answer"));
        assert_eq!(
            (row["keys"].as_u64().unwrap(), found.0.as_str(), found.1.as_str()),
            (*keys, *peer, *case)
        );
        assert_eq!(found.2, *answer);
        let measured =
            ["/cpuUs", "/toNone", "/requestsPerSecond", "/p50Us", "/p99Us", "/p999Us", "/envoyMib"];
        assert!(measured.iter().all(|path| number(row, path) > 0.0), "{row:#}");
        let beside = *peer == "ext_authz" && *case != "open route";
        assert!(!beside || number(row, "/besideUs") > 0.0, "{row:#}");
    }
    assert_eq!(requests.len(), expected.len());
    let loads = rows("loads");
    assert_eq!(loads.len(), 2);
    assert!(
        loads.iter().all(|row| number(row, "/loadMs") > 0.0 && number(row, "/ratio") > 0.0),
        "{loads:#?}"
    );
    let revocations = rows("revocations");
    assert_eq!(revocations.len(), 8);
    for row in &revocations {
        let measured =
            ["/first401Ms/p50", "/first401Ms/p99", "/confirmedMs/max", "/receivedBytes", "/sentBytes"];
        assert!(measured.iter().all(|path| number(row, path) > 0.0), "{row:#}");
    }
    let store = rows("store");
    assert_eq!(store.iter().map(|row| number(row, "/secrets")).collect::<Vec<_>>(), [20.0, 40.0]);
    for row in &store {
        let measured = ["/startMs", "/controlMib", "/list500Ms/p50", "/getMs/p50", "/changeMs/p99"];
        assert!(measured.iter().all(|path| number(row, path) > 0.0), "{row:#}");
    }

    // The table has the same rows.
    let table = run.said("stdout");
    for (peer, case, answer) in CELLS {
        assert_eq!(lines(&table, &format!("{peer}, {case}, {answer} ")), 2, "{table}");
    }
    assert_eq!(lines(&table, "20 keys, 2 Envoys, under load"), 1, "{table}");
    assert_eq!(lines(&table, "40 Secrets"), 1, "{table}");
    for plot in ["cpu-direct.svg", "cpu-upstream.svg", "memory.svg", "revocation.svg"] {
        let svg = std::fs::read_to_string(out.join(plot)).unwrap();
        assert!(svg.starts_with("<svg") && svg.trim_end().ends_with("</svg>"), "{plot}");
        assert!(!svg.contains("NaN"), "{plot}");
    }
    assert_eq!(left(run.folder.path()), [""; 0]);
}

#[test]
fn an_interrupted_run_leaves_nothing_behind() {
    let mut run = Run::start(&["--keys", "5", "--seconds", "2", "--only", "requests"]);
    let begin = Instant::now();
    while !run.said("stderr").contains("5 keys: cells") {
        assert!(run.child.try_wait().unwrap().is_none(), "it ended: {}", run.said("stderr"));
        assert!(begin.elapsed() < LIMIT, "it does not begin: {}", run.said("stderr"));
        std::thread::sleep(Duration::from_millis(20));
    }
    // Itself, the upstream, three peers, the ext_authz server, the control server and its Envoy.
    assert_eq!(left(run.folder.path()).len(), 8, "{:#?}", left(run.folder.path()));
    let pid = Pid::from_raw(i32::try_from(run.child.id()).unwrap()).unwrap();
    kill_process(pid, Signal::INT).unwrap();
    assert_eq!(run.end(), 130, "{}", run.said("stderr"));
    assert_eq!(left(run.folder.path()), [""; 0]);
    let temporary = std::fs::read_dir(run.folder.path()).unwrap().flatten();
    let names: Vec<_> = temporary.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
    assert!(names.iter().all(|name| !name.starts_with("keyward-bench-")), "{names:?}");
}
