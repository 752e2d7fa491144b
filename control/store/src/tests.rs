//! The suite on the store in memory, and the model that both stores are compared with.

use std::collections::BTreeMap;

use proptest::prelude::*;

use crate::contract::{self, body, events};
use crate::error::StoreError;
use crate::memory::MemoryStore;
use crate::record::{Event, Key, Record, Revision, Selector};
use crate::store::Store;

/// Something to do to a store.
#[derive(Debug, Clone)]
pub(crate) enum Action {
    Create(Key, u8),
    /// With the revision that it is at, with one that it is not at, or without.
    Update(Key, Known, u8),
    Delete(Key, Known),
    /// To this part of the log, in hundredths.
    Compact(u64),
    List {
        namespace: Option<String>,
        after: Option<Key>,
        limit: usize,
    },
    Reopen,
}

#[derive(Debug, Clone, Copy)]
pub(crate) enum Known {
    Right,
    Wrong,
    Unsaid,
}

/// What a store is, in the plainest words.
#[derive(Debug, Default)]
pub(crate) struct Model {
    objects: BTreeMap<Key, Record>,
    log: Vec<Event>,
    compacted: Revision,
}

pub(crate) fn actions() -> impl Strategy<Value = Vec<Action>> {
    let key = || {
        let kind = prop::sample::select(vec!["Gateway", "Secret"]);
        let namespace = prop::sample::select(vec!["a", "b"]);
        let name = prop::sample::select(vec!["x", "y", "z"]);
        (kind, namespace, name).prop_map(|(kind, namespace, name)| Key::new(kind, namespace, name))
    };
    let known = || prop::sample::select(vec![Known::Right, Known::Wrong, Known::Unsaid]);
    let namespace = prop::option::of(prop::sample::select(vec!["a".to_owned(), "b".to_owned()]));
    let action = prop_oneof![
        4 => (key(), any::<u8>()).prop_map(|(key, number)| Action::Create(key, number)),
        4 => (key(), known(), any::<u8>()).prop_map(|(key, known, number)| Action::Update(key, known, number)),
        3 => (key(), known()).prop_map(|(key, known)| Action::Delete(key, known)),
        1 => (0..=100_u64).prop_map(Action::Compact),
        2 => (namespace, prop::option::of(key()), 0..4_usize)
            .prop_map(|(namespace, after, limit)| Action::List { namespace, after, limit }),
        1 => Just(Action::Reopen),
    ];
    prop::collection::vec(action, 1..60)
}

// === impl Model ===

impl Model {
    fn revision(&self) -> Revision {
        self.log.last().map(Event::revision).unwrap_or_default()
    }

    /// Does the same to the model and to the store and compares what they say.
    pub(crate) async fn step(&mut self, store: &impl Store, action: Action) {
        match action {
            Action::Create(key, number) => {
                let done = store.create(key.clone(), body(&number.to_string())).await;
                match self.objects.get(&key) {
                    Some(there) => assert!(
                        matches!(&done, Err(StoreError::AlreadyExists { current, .. }) if *current == there.revision),
                        "{done:?}"
                    ),
                    None => self.put(done, key, number),
                }
            }
            Action::Update(key, known, number) => {
                let expected = self.expected(&key, known);
                let done = store.update(key.clone(), expected, body(&number.to_string())).await;
                match self.refusal(&key, known) {
                    Some(is_right) => assert!(done.as_ref().is_err_and(is_right), "{done:?}"),
                    None => self.put(done, key, number),
                }
            }
            Action::Delete(key, known) => {
                let done = store.delete(key.clone(), self.expected(&key, known)).await;
                match self.refusal(&key, known) {
                    Some(is_right) => assert!(done.as_ref().is_err_and(is_right), "{done:?}"),
                    None => {
                        let revision = Revision(self.revision().0 + 1);
                        let last = self.objects.remove(&key).expect("it is there");
                        assert_eq!(done.expect("it is deleted"), (revision, last.clone()));
                        self.log.push(Event::Delete { key, revision, last });
                    }
                }
            }
            Action::Compact(part) => {
                let keep_from = Revision(self.revision().0 * part / 100);
                store.compact(keep_from).await.expect("compact");
                self.compacted = self.compacted.max(keep_from);
            }
            Action::List { namespace, after, limit } => {
                let selector = Selector { kind: "Secret".to_owned(), namespace };
                let expected: Vec<&Record> = self
                    .objects
                    .iter()
                    .filter(|(key, _)| {
                        selector.selects(key) && after.as_ref().is_none_or(|after| *key > after)
                    })
                    .map(|(_, record)| record)
                    .collect();
                let more = expected.len() > limit;
                let page = store.list(selector, after, Some(limit)).await.expect("list");
                assert_eq!((page.more, page.revision), (more, self.revision()));
                assert!(page.records.iter().eq(expected.into_iter().take(limit)), "{:?}", page.records);
            }
            Action::Reopen => {}
        }
    }

    /// Compares everything.
    pub(crate) async fn compare(&self, store: &impl Store) {
        assert_eq!(store.revision().await.expect("revision"), self.revision());
        for kind in ["Gateway", "Secret"] {
            let page = store.list(Selector::kind(kind), None, None).await.expect("list");
            let expected = self.objects.values().filter(|record| record.key.kind == kind);
            assert!(page.records.iter().eq(expected), "{:?}", page.records);
        }
        for record in self.objects.values() {
            let read = store.get(record.key.clone()).await.expect("get");
            assert_eq!(read.as_ref(), Some(record));
        }
        for from in 0..=self.revision().0 {
            let from = Revision(from);
            let watch = store.watch(from).await;
            if from < self.compacted {
                assert!(matches!(watch, Err(StoreError::Compacted { .. })), "{watch:?}");
                continue;
            }
            self.compare_lists(store, from).await;
            let expected = self.log.iter().skip(usize::try_from(from.0).expect("small"));
            let expected: Vec<Event> = expected.cloned().collect();
            assert_eq!(events(&mut watch.expect("watch"), expected.len()).await, expected);
        }
    }

    /// Compares a list of the past, in pages.
    async fn compare_lists(&self, store: &impl Store, at: Revision) {
        let mut objects = BTreeMap::new();
        for event in self.log.iter().take(usize::try_from(at.0).expect("small")) {
            match event {
                Event::Put { record, .. } => drop(objects.insert(record.key.clone(), record.clone())),
                Event::Delete { key, .. } => drop(objects.remove(key)),
            }
        }
        for selector in [Selector::kind("Secret"), Selector::namespaced("Secret", "a")] {
            let expected: Vec<&Record> = objects.values().filter(|one| selector.selects(&one.key)).collect();
            let (mut listed, mut after) = (Vec::new(), None);
            for _ in 0..=expected.len() {
                let page = store.list_at(selector.clone(), after, Some(2), at).await.expect("list");
                assert_eq!(page.revision, at);
                after = page.records.last().map(|record| record.key.clone());
                listed.extend(page.records);
                if !page.more {
                    break;
                }
            }
            assert!(listed.iter().eq(expected), "at {at}: {listed:?}");
        }
    }

    fn put(&mut self, done: Result<Record, StoreError>, key: Key, number: u8) {
        let revision = Revision(self.revision().0 + 1);
        let created = self.objects.get(&key).map_or(revision, |there| there.created);
        let record = Record { key: key.clone(), revision, created, body: body(&number.to_string()) };
        assert_eq!(done.expect("it is written"), record);
        let before = self.objects.insert(key, record.clone());
        self.log.push(Event::Put { record, before });
    }

    fn expected(&self, key: &Key, known: Known) -> Option<Revision> {
        let at = self.objects.get(key).map_or(Revision(1), |there| there.revision);
        match known {
            Known::Right => Some(at),
            Known::Wrong => Some(Revision(at.0 + 1)),
            Known::Unsaid => None,
        }
    }

    fn refusal(&self, key: &Key, known: Known) -> Option<fn(&StoreError) -> bool> {
        match (self.objects.get(key), known) {
            (None, _) => Some(|error| matches!(error, StoreError::NotFound { .. })),
            (Some(_), Known::Wrong) => Some(|error| matches!(error, StoreError::Conflict { .. })),
            _ => None,
        }
    }
}

pub(crate) fn runtime() -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().expect("a runtime")
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn memory_keeps_the_contract() {
    contract::check(async || MemoryStore::new()).await;
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 128, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn memory_is_like_the_model(actions in actions()) {
        runtime().block_on(async {
            let store = MemoryStore::new();
            let mut model = Model::default();
            for action in actions {
                model.step(&store, action).await;
            }
            model.compare(&store).await;
        });
    }
}
