//! What commands say: each that there is has to be in the list, and is run in each of its forms.

use std::collections::{BTreeMap, BTreeSet};
use std::io::Read as _;
use std::path::Path;

use anyhow::{Context as _, ensure};
use keyward_resource::KINDS;

use crate::list::List;
use crate::scene::Scene;

/// A line for a shell.
#[derive(Debug, Clone)]
pub(crate) struct Line {
    line: String,
    code: i32,
    /// A file in which it writes.
    written: Option<String>,
}

/// The commands of the program, as its script for bash has them.
pub(crate) struct Grammar {
    /// By the command above and a word: the command below, by the name that the script gives it.
    below: BTreeMap<(String, String), String>,
    /// By such a name: the words that lead there.
    paths: BTreeMap<String, String>,
    /// By such a name: what can stand behind `-o`.
    forms: BTreeMap<String, Vec<String>>,
}

/// Every line that is run. Fails where there is a command that nobody has listed.
pub(crate) fn all(scene: &Scene, list: &List) -> Vec<(String, Line)> {
    let grammar = Grammar::read(scene);
    let there = grammar.leaves();
    let mut known: BTreeSet<String> = list.commands.iter().map(|line| grammar.command_of(line).0).collect();
    let twice: Vec<_> = list.silent.keys().filter(|path| known.contains(*path)).collect();
    assert!(twice.is_empty(), "run, and said to be silent: {twice:?}");
    known.extend(list.silent.keys().cloned());
    let (missing, gone) = (&there - &known, &known - &there);
    assert!(
        missing.is_empty() && gone.is_empty(),
        "testdata/surfaces/surfaces.yaml: of the commands it lacks {missing:?}, and has {gone:?} in vain"
    );
    list.commands
        .iter()
        .flat_map(|line| lines(&grammar, line))
        .map(|line| (line.line.clone(), line))
        .collect()
}

/// A line of the list for each kind and each form.
fn lines(grammar: &Grammar, text: &str) -> Vec<Line> {
    let (line, code) = text.split_once("  (exit ").unwrap_or((text, "0"));
    let code = code.trim_end_matches(')').parse().unwrap();
    let forms = grammar.command_of(line).1;
    let kinds: Vec<&str> =
        if line.contains("{kind}") { KINDS.iter().map(|kind| kind.plural).collect() } else { vec![""] };
    let mut all = Vec::new();
    for kind in kinds {
        let line = line.replace("{kind}", kind);
        let written = line.split_once(" -f ").and_then(|(_, file)| file.strip_suffix(".zip"));
        let written = written.map(|file| format!("{file}.zip"));
        let with = |form: &str| match line.split_once(" < ") {
            Some((command, rest)) => format!("{command} -o {form} < {rest}"),
            None => format!("{line} -o {form}"),
        };
        let each: Vec<String> =
            if forms.is_empty() { vec![line.clone()] } else { forms.iter().map(|form| with(form)).collect() };
        all.extend(each.into_iter().map(|line| Line { line, code, written: written.clone() }));
    }
    all
}

fn unzipped(path: &Path) -> anyhow::Result<Vec<u8>> {
    let mut zip = zip::ZipArchive::new(std::fs::File::open(path)?)?;
    let mut all = Vec::new();
    for index in 0..zip.len() {
        zip.by_index(index)?.read_to_end(&mut all)?;
    }
    Ok(all)
}

// === impl Grammar ===

impl Grammar {
    fn read(scene: &Scene) -> Self {
        let script = scene.shell("keyward completion bash").output().unwrap();
        let script = String::from_utf8(script.stdout).unwrap();
        let (mut below, mut forms) = (BTreeMap::new(), BTreeMap::new());
        let mut paths = BTreeMap::from([("keyward".to_owned(), String::new())]);
        let (mut place, mut section) = (None, String::new());
        let mut is_output = false;
        for line in script.lines() {
            let pattern = line.trim().strip_suffix(')');
            if let Some(name) = line.trim().strip_prefix("cmd=\"").and_then(|name| name.strip_suffix('"')) {
                if let Some(place) = place.take() {
                    below.insert(place, name.to_owned());
                }
            } else if let Some((above, word)) = pattern.and_then(|pattern| pattern.split_once(',')) {
                place = Some((above.to_owned(), word.to_owned()));
            } else if let Some(name) = pattern.filter(|name| name.starts_with("keyward")) {
                section = name.to_owned();
            } else if line.contains("COMPREPLY=") {
                if let Some((_, words)) = line.split_once("compgen -W \"").filter(|_| is_output) {
                    let words = words.split('"').next().unwrap_or_default().split(' ').map(str::to_owned);
                    forms.insert(section.clone(), words.collect());
                }
            } else if let Some(option) = pattern {
                is_output = option == "--output";
            }
        }
        // The name of a command holds its word, and not its aliases; whatever is above is named first.
        for ((above, word), name) in &below {
            let is_own = *name == format!("{above}__subcmd__{}", word.replace('-', "__subcmd__"));
            if let Some(path) = paths.get(above).filter(|_| is_own && word != "help") {
                let path = format!("{path} {word}").trim().to_owned();
                paths.insert(name.clone(), path);
            }
        }
        assert!(paths.len() > 60 && forms.len() > 20, "the script is not understood: {paths:?} {forms:?}");
        Self { below, paths, forms }
    }

    /// The commands that have no others below them, by the words that lead to them.
    fn leaves(&self) -> BTreeSet<String> {
        let has_others = |name: &str| {
            self.below.iter().any(|((above, word), name_below)| {
                above == name && word != "help" && self.paths.contains_key(name_below)
            })
        };
        self.paths.iter().filter(|(name, _)| !has_others(name)).map(|(_, path)| path.clone()).collect()
    }

    /// The command that a line runs, by the words that lead to it, and its forms.
    fn command_of(&self, line: &str) -> (String, Vec<String>) {
        let mut name = "keyward".to_owned();
        for word in line.split_whitespace().skip(1) {
            let Some(next) = self.below.get(&(name.clone(), word.to_owned())) else { break };
            name.clone_from(next);
        }
        (self.paths[&name].clone(), self.forms.get(&name).cloned().unwrap_or_default())
    }
}

// === impl Line ===

impl Line {
    pub(crate) fn run(&self, scene: &Scene) -> anyhow::Result<Vec<u8>> {
        let said = scene.shell(&self.line).stdin(std::process::Stdio::null()).output()?;
        let mut all = [said.stdout.clone(), said.stderr].concat();
        let told = || all.escape_ascii().to_string().chars().take(600).collect::<String>();
        ensure!(said.status.code() == Some(self.code), "{}: {}", said.status, told());
        // What prints where it has written to.
        let printed = str::from_utf8(&said.stdout)?.trim().to_owned();
        let written = self.written.clone().or_else(|| printed.ends_with(".zip").then_some(printed));
        if let Some(file) = written {
            all.extend(unzipped(&scene.folder().join(&file)).context(file)?);
        }
        Ok(all)
    }
}
