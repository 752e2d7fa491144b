//! Random changes of files and of objects, against a model of what must come of them.

use std::collections::BTreeMap;

use proptest::prelude::*;

use super::*;

const FILES: [&str; 3] = ["a.json", "b.json", "c/d.json"];
const OBJECTS: usize = 4;

/// Somebody does something.
#[derive(Debug, Clone)]
enum Act {
    /// Writes a file with these objects, each with its port.
    Write(usize, Vec<(usize, u16)>),
    /// Leaves a file half-written.
    Break(usize),
    /// Writes an object with a mistake beside a good one.
    Spoil(usize, usize),
    Delete(usize),
    Rename(usize, usize),
    /// Over REST: makes the object or changes the field that a file says.
    Steal(usize, u16),
    /// Over REST: a field that no file says.
    Label(usize, u16),
    /// Over REST.
    Remove(usize),
    Restart,
}

/// An object as it should be.
#[derive(Debug, Clone, PartialEq)]
struct Expected {
    port: u64,
    label: Option<String>,
    /// The file and the origin, when it is the folder's.
    mark: Option<(String, bool)>,
}

/// What should be.
#[derive(Debug, Default)]
struct Model {
    /// The objects of each file; none when it is broken.
    files: BTreeMap<String, Option<Vec<(usize, u16)>>>,
    objects: BTreeMap<usize, Expected>,
    /// What the running server knows of the folder's objects.
    known: BTreeMap<usize, String>,
}

fn name(object: usize) -> String {
    format!("u{object}")
}

fn act() -> impl Strategy<Value = Act> {
    let file = 0..FILES.len();
    let one = 0..OBJECTS;
    let ports = proptest::collection::btree_map(0..OBJECTS, 1..9_u16, 0..3);
    prop_oneof![
        5 => (file.clone(), ports).prop_map(|(file, ports)| Act::Write(file, ports.into_iter().collect())),
        1 => file.clone().prop_map(Act::Break),
        1 => (file.clone(), one.clone()).prop_map(|(file, object)| Act::Spoil(file, object)),
        2 => file.clone().prop_map(Act::Delete),
        1 => (file.clone(), file).prop_map(|(from, to)| Act::Rename(from, to)),
        2 => (one.clone(), 1..9_u16).prop_map(|(object, port)| Act::Steal(object, port)),
        1 => (one.clone(), 1..9_u16).prop_map(|(object, label)| Act::Label(object, label)),
        1 => one.prop_map(Act::Remove),
        1 => Just(Act::Restart),
    ]
}

// === impl Model ===

impl Model {
    fn is_held(&self, object: usize) -> bool {
        let file = self.known.get(&object).and_then(|file| self.files.get(file));
        matches!(file, Some(None))
    }

    /// What the folder must have made of it.
    fn settle(&mut self) {
        for object in 0..OBJECTS {
            if self.is_held(object) {
                continue;
            }
            let wanted = self.files.iter().find_map(|(file, objects)| {
                let (_, port) = objects.iter().flatten().find(|(other, _)| *other == object)?;
                Some((file.clone(), *port))
            });
            if let Some((file, port)) = wanted {
                let created = match self.objects.get(&object) {
                    None => true,
                    Some(expected) => expected.mark.as_ref().is_some_and(|(_, created)| *created),
                };
                let label = self.objects.get(&object).and_then(|expected| expected.label.clone());
                let mark = Some((file.clone(), created));
                self.objects.insert(object, Expected { port: port.into(), label, mark });
                self.known.insert(object, file);
            } else if self.known.remove(&object).is_some()
                && let Some(expected) = self.objects.get_mut(&object)
            {
                // What was there before the folder stays.
                if let Some((_, true)) = expected.mark.take() {
                    self.objects.remove(&object);
                }
            }
        }
    }
}

/// The files as they are read.
fn texts(model: &Model, spoilt: &BTreeMap<String, String>) -> Files {
    let text = |(path, objects): (&String, &Option<Vec<(usize, u16)>>)| {
        let text = match objects {
            Some(objects) => objects
                .iter()
                .map(|(object, port)| super::object(&name(*object), *port).to_string())
                .collect(),
            None => spoilt.get(path).cloned().unwrap_or_default(),
        };
        (path.clone(), Arc::new(read(path, text.as_bytes(), Format::Json, NAMESPACE)))
    };
    model.files.iter().map(text).collect()
}

async fn expected(bench: &Bench) -> BTreeMap<usize, Expected> {
    let mut objects = BTreeMap::new();
    for object in 0..OBJECTS {
        let Some(stored) = bench.get(&name(object)).await else { continue };
        let label = stored.object.pointer("/metadata/labels/team").and_then(Value::as_str).map(str::to_owned);
        let mark = Mark::read(&stored).map(|mark| (mark.file, mark.origin == Origin::Created));
        objects.insert(object, Expected { port: port(&stored), label, mark });
    }
    objects
}

async fn run(acts: Vec<Act>) {
    let mut bench = Bench::new().await;
    let mut model = Model::default();
    let mut spoilt = BTreeMap::new();
    for (step, act) in acts.iter().enumerate() {
        match act.clone() {
            Act::Write(file, objects) => drop(model.files.insert(FILES[file].to_owned(), Some(objects))),
            Act::Break(file) => {
                spoilt.insert(FILES[file].to_owned(), object(&name(0), 1).to_string() + "{\"kind\":");
                model.files.insert(FILES[file].to_owned(), None);
            }
            Act::Spoil(file, spoilt_one) => {
                let mut bad = object(&name(spoilt_one), 1);
                bad["spec"]["unknown"] = 1.into();
                let good = object(&name((spoilt_one + 1) % OBJECTS), 1);
                spoilt.insert(FILES[file].to_owned(), format!("{good}\n{bad}"));
                model.files.insert(FILES[file].to_owned(), None);
            }
            Act::Delete(file) => drop(model.files.remove(FILES[file])),
            Act::Rename(from, to) => {
                if let Some(objects) = model.files.remove(FILES[from]) {
                    let text = spoilt.get(FILES[from]).cloned().unwrap_or_default();
                    spoilt.insert(FILES[to].to_owned(), text);
                    model.files.insert(FILES[to].to_owned(), objects);
                }
            }
            Act::Steal(one, port) => {
                bench.apply(object(&name(one), port)).await;
                let before = model.objects.get(&one).cloned();
                let fresh = Expected { port: 0, label: None, mark: None };
                let after = Expected { port: port.into(), ..before.unwrap_or(fresh) };
                model.objects.insert(one, after);
            }
            Act::Label(one, label) => {
                if let Some(expected) = model.objects.get_mut(&one) {
                    let mut labelled = object(&name(one), 1);
                    labelled["metadata"]["labels"] = json!({ "team": label.to_string() });
                    labelled.as_object_mut().expect("an object").remove("spec");
                    let options = WriteOptions::internal("labeller");
                    let target = target(&labelled);
                    let applied = bench.writer.apply(&target, labelled, true, &options).await;
                    applied.expect("it is applied");
                    expected.label = Some(label.to_string());
                }
            }
            Act::Remove(one) => {
                if model.objects.remove(&one).is_some() {
                    bench.delete(object(&name(one), 1)).await;
                }
            }
            Act::Restart => {
                bench.restart().await;
                let objects = model.objects.iter();
                model.known = objects
                    .filter_map(|(one, expected)| Some((*one, expected.mark.as_ref()?.0.clone())))
                    .collect();
            }
        }
        let files = texts(&model, &spoilt);
        let problems = bench.settle(&files).await;
        model.settle();
        assert_eq!(expected(&bench).await, model.objects, "step {step}: {act:?} of {acts:?}");
        let is_broken = model.files.values().any(Option::is_none);
        assert!(!is_broken || !problems.is_empty(), "a broken file is told");
        let revision = bench.store.revision().await.expect("a revision");
        bench.settle(&files).await;
        let again = bench.store.revision().await.expect("a revision");
        assert_eq!(revision, again, "step {step}: another look changes nothing");
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 192, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn the_store_says_what_the_files_say(acts in proptest::collection::vec(act(), 1..24)) {
        let runtime = tokio::runtime::Builder::new_current_thread().build().expect("a runtime");
        runtime.block_on(run(acts));
    }
}
