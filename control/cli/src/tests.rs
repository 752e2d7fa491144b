//! All commands, as clap knows them.

use clap::{CommandFactory as _, Parser};

/// The commands as the program has them.
#[derive(Debug, Parser)]
#[command(name = "keyward")]
struct Cli {
    #[command(subcommand)]
    command: super::Command,
}

/// Where a shell ends a command, or sends something elsewhere.
const ENDS: [&str; 7] = ["|", "<", ">", "2>", "&&", "&", "#"];

/// Commands that have no others below them, each with the words that lead to it.
fn leaves(command: &clap::Command, path: &[String], found: &mut Vec<(Vec<String>, clap::Command)>) {
    let path = [path, &[command.get_name().to_owned()]].concat();
    if !command.has_subcommands() {
        found.push((path, command.clone()));
        return;
    }
    for inner in command.get_subcommands().filter(|inner| inner.get_name() != "help") {
        leaves(inner, &path, found);
    }
}

/// The lines of an example, which begin with the program.
fn examples(command: &clap::Command) -> Vec<String> {
    let texts = [command.get_after_help(), command.get_after_long_help(), command.get_long_about()];
    let text: String = texts.into_iter().flatten().map(|text| format!("{text}\n")).collect();
    let text = text.replace("\\\n", " ");
    text.lines()
        .filter(|line| line.trim_start().starts_with("keyward "))
        .map(|line| line.trim().to_owned())
        .collect()
}

/// The words of the first command of a line, as a shell splits them.
fn words(line: &str) -> Vec<String> {
    let mut words = Vec::new();
    let mut word: Option<String> = None;
    let mut quote = None;
    for char in line.chars() {
        match (quote, char) {
            (Some(open), char) if open == char => quote = None,
            (Some(_), char) => word.get_or_insert_default().push(char),
            (None, '\'' | '"') => {
                quote = Some(char);
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

/// Columns of a usual terminal.
const WIDTH: usize = 80;

#[test]
fn all_commands_are_well_formed() {
    Cli::command().debug_assert();
}

#[test]
fn every_command_has_an_example_in_its_help_that_is_right() {
    let mut found = Vec::new();
    leaves(&Cli::command(), &[], &mut found);
    assert!(found.len() > 30, "only {} commands", found.len());
    let mut wrong = Vec::new();
    for (path, command) in &found {
        let path = path.join(" ");
        // Wrapped by a terminal they could not be pasted.
        let help = command.get_after_help().map(ToString::to_string).unwrap_or_default();
        let long = help.lines().filter(|line| line.chars().count() > WIDTH);
        wrong.extend(long.map(|line| format!("{path}: longer than {WIDTH}: {line}")));
        let examples = examples(command);
        let names =
            |word: &String| word == command.get_name() || command.get_all_aliases().any(|it| it == word);
        if !examples.iter().any(|example| words(example).iter().any(names)) {
            wrong.push(format!("{path}: there is no example in its help"));
        }
        for example in examples {
            // The other commands of the program are not known here.
            let words = words(&example);
            let known = Cli::command();
            let is_known = words.get(1).is_some_and(|word| known.find_subcommand(word).is_some());
            if is_known && let Err(error) = Cli::try_parse_from(&words) {
                wrong.push(format!("{path}: {example}: {error}"));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn a_line_is_split_as_a_shell_does() {
    assert_eq!(words("keyward a 'b c' \"d\"e '' | keyward f"), ["keyward", "a", "b c", "de", ""]);
    assert_eq!(words("keyward a < b"), ["keyward", "a"]);
}

#[test]
fn completion_scripts_know_the_commands() {
    for shell in ["bash", "zsh", "fish"] {
        let Ok(Cli { command: super::Command::Completion(args) }) =
            Cli::try_parse_from(["keyward", "completion", shell])
        else {
            panic!("{shell} is a shell");
        };
        let script = args.script(Cli::command()).expect("a script");
        // What fish reads goes no deeper than that.
        for word in ["virtualservice", "use-context", "client"] {
            assert!(script.contains(word), "{shell} does not know {word}");
        }
    }
}
