//! The session of a key's life in the README, as it stands there; only the ports are those of the test.

use std::process::Command;

use keyward_integration::paths;
use keyward_integration::session::say;
use keyward_integration::stack::{Options, Stack};
use serde_json::json;

use crate::life::{Site, start_with};

/// The block of shell in which the text stands.
fn block<'a>(readme: &'a str, text: &str) -> &'a str {
    let mut blocks = readme.split("```sh\n").skip(1).filter_map(|rest| rest.split("\n```").next());
    blocks.find(|block| block.contains(text)).unwrap_or_else(|| panic!("no block holds {text}"))
}

/// Runs a command as somebody who has the program on the path.
fn run(stack: &Stack, index: usize, command: &str) -> (String, i32) {
    let program = paths::keyward().unwrap();
    let folder = program.parent().unwrap();
    let mut shell = Command::new("sh");
    shell
        .current_dir(stack.folder())
        .env("HOME", stack.folder())
        .env("PATH", format!("{}:{}", folder.display(), std::env::var("PATH").unwrap_or_default()))
        .env("KEYWARD_SERVER", format!("http://{}", stack.rest().address()));
    say(&mut shell, command, &stack.folder().join(format!("{index}.log"))).unwrap()
}

#[test]
fn the_routes_of_the_readme_are_made_as_it_says() {
    let readme = std::fs::read_to_string(paths::workspace_root().join("README.md")).unwrap();
    let stack = Stack::start(Options { no_envoy: true, ..Options::default() }).unwrap();
    let commands: Vec<&str> = block(&readme, "keyward add route").lines().collect();
    for (index, command) in commands.iter().enumerate() {
        let (said, code) = run(&stack, index, command);
        assert_eq!(code, 0, "{command}: {said}\n{}", stack.logs());
        assert!(!command.contains("get") || said.contains("/orders"), "{said}");
    }
    let (left, _) = run(&stack, commands.len(), "keyward get virtualservice route site");
    assert!(left.contains("| /  ") && !left.contains("/orders"), "{left}");
}

#[test]
fn the_session_of_the_readme_goes_as_it_says() {
    let readme = std::fs::read_to_string(paths::workspace_root().join("README.md")).unwrap();
    let stack = start_with(&Site { domain: "*", labels: json!({ "team": "demo" }) });
    let session = block(&readme, "keyward secret apikey rotate");
    let mut answers = 0;
    for (index, line) in session.lines().enumerate() {
        if line.is_empty() || line.starts_with('#') || line.starts_with("export PATH") {
            continue;
        }
        let command = line
            .replace("http://127.0.0.1:8080", &format!("http://{}", stack.gateway()))
            .replace("--wait", "--wait=20s");
        let (said, code) = run(&stack, index, &command);
        assert_eq!(code, 0, "{line}: {said}\n{}", stack.logs());
        if let Some((_, expected)) = line.split_once(":8080/") {
            let status: String = expected.chars().filter(char::is_ascii_digit).take(3).collect();
            assert!(said.contains(&format!("HTTP/1.1 {status} ")), "{line}: {said}");
            answers += 1;
        }
        if line.contains("--wait") {
            assert!(said.contains("confirmed by 3 of 3 workers in "), "{line}: {said}");
        }
    }
    assert_eq!(answers, 4);
}
