//! Every command that a document quotes is one that this program takes.

use std::path::{Path, PathBuf};

use clap::error::ErrorKind;
use clap::{CommandFactory as _, Parser as _};

use crate::Cli;

/// Where a shell ends a command, or sends something elsewhere.
const ENDS: [&str; 10] = ["|", "<", ">", "2>", ">>", "||", "&&", "&", "#", ";"];

/// A command as a document quotes it.
struct Quote {
    page: String,
    text: String,
    /// It stands in a block of shell, and so as people type it, and not within a sentence.
    is_whole: bool,
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn pages() -> Vec<PathBuf> {
    let mut pages =
        vec![root().join("README.md"), root().join("ARCHITECTURE.md"), root().join("bench/README.md")];
    for entry in std::fs::read_dir(root().join("docs")).expect("docs") {
        let path = entry.expect("an entry").path();
        if path.extension().is_some_and(|it| it == "md") {
            pages.push(path);
        }
    }
    pages.sort();
    pages
}

/// The commands of a page: lines of blocks, and what stands in backticks.
fn quotes(page: &str, text: &str) -> Vec<Quote> {
    let mut found = Vec::new();
    let mut block: Option<String> = None;
    let quote = |text: &str, is_whole| Quote { page: page.to_owned(), text: text.to_owned(), is_whole };
    for line in text.replace("\\\n", " ").lines() {
        if let Some(language) = line.trim_start().strip_prefix("```") {
            block = if block.is_some() { None } else { Some(language.to_owned()) };
        } else if block.is_some() {
            let command = line.trim_start().trim_start_matches("$ ");
            if command.starts_with("keyward ") {
                found.push(quote(command, true));
            }
        } else {
            let spans = line.split('`').skip(1).step_by(2);
            found.extend(spans.filter(|span| span.starts_with("keyward ")).map(|span| quote(span, false)));
        }
    }
    found
}

/// The words of the first command of a line, as a shell splits them.
fn words(line: &str) -> Vec<String> {
    let (mut words, mut word, mut open) = (Vec::new(), None::<String>, None);
    for char in line.chars() {
        match (open, char) {
            (Some(quote), char) if quote == char => open = None,
            (Some(_), char) => word.get_or_insert_default().push(char),
            (None, '\'' | '"') => {
                open = Some(char);
                word.get_or_insert_default();
            }
            (None, char) if char.is_whitespace() => words.extend(word.take()),
            (None, char) => word.get_or_insert_default().push(char),
        }
    }
    words.extend(word);
    let end = words.iter().position(|word| ENDS.contains(&word.as_str())).unwrap_or(words.len());
    words.truncate(end);
    words
}

/// Whether it is no mistake: within a sentence some of a command may be left out, and stand for itself.
fn may_be(kind: ErrorKind, quote: &Quote) -> bool {
    match kind {
        ErrorKind::DisplayHelp | ErrorKind::DisplayVersion => true,
        ErrorKind::MissingRequiredArgument
        | ErrorKind::MissingSubcommand
        | ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand => !quote.is_whole,
        // `keyward serve --envoy PATH`.
        ErrorKind::InvalidValue | ErrorKind::ValueValidation => {
            let is_placeholder = |word: &str| {
                let part = word.rsplit('=').next().unwrap_or_default();
                part.len() > 1 && part.chars().all(|char| char.is_ascii_uppercase() || ":_-".contains(char))
            };
            let is_flag_alone =
                quote.text.split_whitespace().last().is_some_and(|word| word.starts_with("--"));
            !quote.is_whole && (is_flag_alone || quote.text.split_whitespace().any(is_placeholder))
        }
        _ => false,
    }
}

#[test]
fn every_command_that_a_document_quotes_can_be_run() {
    let (mut count, mut wrong) = (0, Vec::new());
    for page in pages() {
        let text = std::fs::read_to_string(&page).expect("a page");
        let name = page.file_name().unwrap_or_default().to_string_lossy().into_owned();
        for quote in quotes(&name, &text) {
            count += 1;
            if let Err(error) = Cli::try_parse_from(words(&quote.text))
                && !may_be(error.kind(), &quote)
            {
                wrong.push(format!("{}: {}: {error}", quote.page, quote.text));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(count > 60, "only {count} commands are found");
}

/// Commands that have no others below them.
fn leaves(command: &clap::Command, path: &str, found: &mut Vec<(String, clap::Command)>) {
    for inner in command.get_subcommands().filter(|inner| inner.get_name() != "help") {
        let path = format!("{path} {}", inner.get_name());
        if inner.has_subcommands() { leaves(inner, &path, found) } else { found.push((path, inner.clone())) }
    }
}

/// Where the page lists them.
const MARKS: [&str; 2] = ["<!-- commands -->\n", "<!-- end of commands -->\n"];

#[test]
fn the_page_of_commands_lists_every_command() {
    let path = root().join("docs/cli.md");
    let page = std::fs::read_to_string(&path).expect("docs/cli.md");
    let (head, rest) = page.split_once(MARKS[0]).expect("a mark before the commands");
    let (listed, tail) = rest.split_once(MARKS[1]).expect("a mark behind the commands");
    let mut found = Vec::new();
    leaves(&Cli::command(), "keyward", &mut found);
    let mut expected = String::from("| command | what it does |\n|---|---|\n");
    for (path, command) in &found {
        let about = command.get_about().map(ToString::to_string).unwrap_or_default();
        expected.push_str(&format!("| `{path}` | {} |\n", about.trim_end_matches('.')));
    }
    if std::env::var_os("UPDATE_GOLDENS").is_some() {
        let page = format!("{head}{}{expected}{}{tail}", MARKS[0], MARKS[1]);
        std::fs::write(&path, page).expect("the page can be written");
        return;
    }
    assert_eq!(listed, expected, "UPDATE_GOLDENS=1 brings docs/cli.md up to date");
}

#[test]
fn what_means_the_same_is_called_the_same() {
    let mut found = Vec::new();
    leaves(&Cli::command(), "keyward", &mut found);
    let mut wrong = Vec::new();
    let client =
        |path: &str| !["keyward serve", "keyward demo", "keyward pki"].iter().any(|it| path.starts_with(it));
    for (path, command) in &found {
        for arg in command.get_arguments().filter(|arg| !arg.is_hide_set()) {
            let (long, short) = (arg.get_long().unwrap_or_default(), arg.get_short());
            let right = match long {
                // Of the module it is a file.
                "output" if path == "keyward filter wasm" => short == Some('o'),
                "output" => short == Some('o') && !arg.get_possible_values().is_empty(),
                "namespace" => short == Some('n'),
                "selector" => short == Some('l'),
                "all-namespaces" => short == Some('A'),
                "filename" | "file" => short == Some('f'),
                // The admin of a proxy has one name; `serve` and `pki` say where it is to be.
                "admin" | "admin-url" | "url-of-admin" => !client(path),
                "format" => {
                    matches!(path.as_str(), "keyward secret apikey import" | "keyward secret apikey export")
                }
                _ => true,
            };
            if !right {
                wrong.push(format!("{path} --{long}"));
            }
        }
        let forms = command.get_arguments().find(|arg| arg.get_id() == "output").map(|arg| {
            let names = arg.get_possible_values();
            names.iter().map(|it| it.get_name().to_owned()).collect::<Vec<_>>().join("|")
        });
        // Objects, reports, documents.
        if let Some(forms) = forms.filter(|forms| !forms.is_empty())
            && !["table|wide|yaml|json|kube-yaml", "table|json|yaml", "yaml|json"].contains(&forms.as_str())
        {
            wrong.push(format!("{path} -o {forms}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    let server =
        found.iter().filter(|(_, command)| command.get_arguments().any(|arg| arg.get_id() == "server"));
    for (path, command) in server {
        for name in ["token", "token_file", "context", "ca"] {
            let has = command.get_arguments().any(|arg| arg.get_id() == name);
            assert!(
                has || path.starts_with("keyward pki") || path.starts_with("keyward config"),
                "{path} has no {name}"
            );
        }
    }
}
