//! `keyward proxy logs -f`, however it ends.

use std::io::{BufRead as _, BufReader};
use std::process::{Child, Stdio};
use std::sync::mpsc;

use anyhow::{Context as _, ensure};
use rustix::process::{Pid, Signal, kill_process};

use crate::kit::{SOON, Site};

/// Follows the log; waits until the level is raised.
pub(crate) fn follow(site: &Site, more: &[&str]) -> Child {
    let words: Vec<&str> =
        ["proxy", "logs", "-f", "--tail", "0"].into_iter().chain(more.iter().copied()).collect();
    let child = site.command(&words).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    site.soon("the level to be raised", || {
        ensure!(site.level("upstream") == "debug", "it is {}", site.level("upstream"));
        Ok(())
    });
    assert_eq!(site.level("http"), "info");
    child
}

fn ended(site: &Site, mut child: Child) -> String {
    let status = site.soon("the command to end", || child.try_wait()?.context("it runs"));
    let mut said = String::new();
    std::io::Read::read_to_string(&mut child.stderr.take().unwrap(), &mut said).unwrap();
    assert_eq!(status.code(), Some(0), "{said}");
    said
}

pub(crate) fn the_level_is_back_however_it_ends(site: &Site) {
    // Two are not what all others are.
    assert_eq!(site.ask("POST", "/logging?level=warning").0, 200);
    assert_eq!(site.ask("POST", "/logging?paths=main:error,dns:info").0, 200);
    let (_, before) = site.ask("GET", "/logging");

    // By a signal, and with lines until then.
    let mut child = follow(site, &[]);
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let line = lines.next().unwrap().unwrap();
    assert!(line.starts_with("20") && line.contains(" ["), "{line}");
    kill_process(Pid::from_child(&child), Signal::TERM).unwrap();
    // Whatever was on its way is read, as the command waits for a reader.
    let reading = std::thread::spawn(move || lines.for_each(drop));
    let said = ended(site, child);
    reading.join().unwrap();
    assert!(said.contains("is debug until this ends"), "{said}");
    site.becomes("/logging", &before);

    // By a reader who has seen enough.
    let mut child = follow(site, &[]);
    drop(child.stdout.take());
    site.soon("it to notice", || {
        // Something to say.
        site.stack.send(crate::kit::HOST, "/", &keyward_integration::headers::Headers::new())?;
        child.try_wait()?.context("it runs")
    });
    site.becomes("/logging", &before);

    // By a kill, of which it notices nothing; but who follows beside it goes on.
    let (mut killed, mut beside) = (follow(site, &[]), follow(site, &[]));
    let (line, lines) = mpsc::sync_channel(16);
    let followed = BufReader::new(beside.stdout.take().unwrap()).lines();
    let reading = std::thread::spawn(move || {
        let debug = followed.map_while(Result::ok).filter(|text| text.contains(" debug "));
        // What is too much is none of ours.
        debug.for_each(|text| drop(line.try_send(text)));
    });
    lines.recv_timeout(SOON).expect("lines, so it follows");
    killed.kill().unwrap();
    killed.wait().unwrap();
    // What the end of the first one would change takes its time: there are lines at debug after it.
    for _ in 0..3 {
        lines.try_iter().for_each(drop);
        site.stack.send(crate::kit::HOST, "/", &keyward_integration::headers::Headers::new()).unwrap();
        lines.recv_timeout(SOON).expect("it is followed at debug");
    }
    assert_eq!(site.level("upstream"), "debug");
    beside.kill().unwrap();
    beside.wait().unwrap();
    reading.join().unwrap();
    site.becomes("/logging", &before);

    // And where nothing was to be changed, nothing was.
    let mut child = site
        .command(&["proxy", "logs", "-f", "--no-level-change"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut first = String::new();
    BufReader::new(child.stdout.as_mut().unwrap()).read_line(&mut first).unwrap();
    assert_eq!(site.ask("GET", "/logging").1, before);
    kill_process(Pid::from_child(&child), Signal::INT).unwrap();
    drop(child.stdout.take());
    assert_eq!(ended(site, child), "");
    assert!(SOON.as_secs() > 0 && !first.is_empty());
    assert_eq!(site.ask("POST", "/logging?level=warning").0, 200);
}
