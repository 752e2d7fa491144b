//! The walk.

use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::time::{Duration, Instant};

use anyhow::ensure;
use keyward_integration::stack::wait;

use crate::commands::{self, Line};
use crate::list::{self, List};
use crate::ports::{self, Asked};
use crate::scene::Scene;

/// Fewer would mean that they were not found.
const LEAST: usize = 400;
/// Most of the time a surface waits for a process or a port.
const AT_ONCE: usize = 8;

/// Something that shows something.
enum Surface {
    Port(Asked),
    Command(Line),
    File(PathBuf),
}

fn files(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            files(&path, found);
        } else if path.is_file() {
            found.push(path);
        }
    }
}

/// Everything that there is, by name.
fn surfaces(scene: &Scene, list: &List) -> Vec<(String, Surface)> {
    let asked = ports::all(scene, list).into_iter().map(|(name, asked)| (name, Surface::Port(asked)));
    let lines = commands::all(scene, list).into_iter().map(|(name, line)| (name, Surface::Command(line)));
    let mut all: Vec<_> = asked.chain(lines).collect();
    all.push((
        "log of the control server".to_owned(),
        Surface::File(scene.stack.folder().join("server.log")),
    ));
    all.push(("access log".to_owned(), Surface::File(scene.access_log.clone())));
    let (data, mut found) = (scene.stack.data(), Vec::new());
    files(&data, &mut found);
    let name = |path: &Path| format!("data {}", path.strip_prefix(&data).unwrap().display());
    all.extend(found.into_iter().map(|path| (name(&path), Surface::File(path))));
    all
}

/// Looks at one; what is wrong with it, and whether it showed a key.
fn look(scene: &Scene, name: &str, surface: &Surface) -> anyhow::Result<Option<String>> {
    let bytes = match surface {
        Surface::Port(asked) => asked.run(scene)?,
        Surface::Command(line) => line.run(scene)?,
        Surface::File(path) => std::fs::read(path)?,
    };
    let may_be_empty = matches!(surface, Surface::File(_) | Surface::Command(_));
    ensure!(may_be_empty || !bytes.is_empty(), "nothing is said by {name}");
    Ok(scene.needles.find(&bytes))
}

/// What was found on each: a key or none.
fn walked(scene: &Scene, all: &[(String, Surface)]) -> (Vec<(String, String)>, Vec<String>) {
    let (waiting, found, wrong) = (Mutex::new(all.iter()), Mutex::default(), Mutex::default());
    std::thread::scope(|scope| {
        for _ in 0..AT_ONCE {
            scope.spawn(|| {
                loop {
                    let next = waiting.lock().unwrap().next();
                    let Some((name, surface)) = next else { break };
                    match look(scene, name, surface) {
                        Ok(None) => {}
                        Ok(Some(key)) => {
                            let found: &Mutex<Vec<(String, String)>> = &found;
                            found.lock().unwrap().push((name.clone(), key));
                        }
                        Err(error) => {
                            let wrong: &Mutex<Vec<String>> = &wrong;
                            wrong.lock().unwrap().push(format!("{name}: {error:#}"));
                        }
                    }
                }
            });
        }
    });
    (found.into_inner().unwrap(), wrong.into_inner().unwrap())
}

/// Everything has been written that the requests have caused.
fn settled(scene: &Scene) {
    wait::until(Duration::from_secs(20), "the logs to be written", || {
        let access = std::fs::read_to_string(&scene.access_log)?;
        ensure!(access.contains("\"reason\":\"allowed\""), "{access}");
        let log = std::fs::read_to_string(scene.stack.data().join("envoy/envoy.log"))?;
        ensure!(log.contains("[trace]") || log.lines().any(|line| line.starts_with("trace")), "no trace");
        let own = std::fs::read_to_string(scene.stack.folder().join("server.log"))?;
        ensure!(own.contains("TRACE"), "no trace of our own");
        Ok(())
    })
    .unwrap_or_else(|error| panic!("{error:#}"));
}

#[test]
fn no_surface_shows_a_key() {
    let began = Instant::now();
    let scene = Scene::start();
    settled(&scene);
    let list = list::read();
    let all = surfaces(&scene, &list);
    let walk = Instant::now();
    let (found, wrong) = walked(&scene, &all);
    let shows = |name: &str| list.shown.iter().position(|shown| shown.is_meant(name));
    let mut problems = wrong;
    problems.extend(
        found
            .iter()
            .filter(|(name, _)| shows(name).is_none())
            .map(|(name, key)| format!("{name} shows {key}")),
    );
    for (index, shown) in list.shown.iter().enumerate() {
        if !found.iter().any(|(name, _)| shows(name) == Some(index)) {
            problems.push(format!("nothing shows a key because {:?}", shown.why));
        }
    }
    let took = format!("{} surfaces in {:?}, after {:?}", all.len(), walk.elapsed(), walk - began);
    println!("{took}");
    assert!(problems.is_empty(), "{took}: {} problems:\n\n{}", problems.len(), problems.join("\n\n"));
    assert!(all.len() >= LEAST, "only {took}");
}
