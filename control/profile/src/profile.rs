//! A profile: stacks, and what was counted at each.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::io::{Read as _, Write as _};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use flate2::Compression;
use flate2::read::GzDecoder;
use flate2::write::GzEncoder;
use prost::Message as _;

use crate::error::ProfileError;
use crate::proto;

#[cfg(test)]
mod tests;

/// What a number means: `cpu` in `nanoseconds`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ValueType {
    /// What is counted.
    pub name: &'static str,
    /// In what unit.
    pub unit: &'static str,
}

/// A function in a stack.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Frame {
    /// Its name.
    pub function: String,
    /// The file of its source; empty when that is not known.
    pub file: String,
    /// The line; 0 when that is not known.
    pub line: u32,
}

/// A stack, and what was counted there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stack {
    /// The innermost function first.
    pub frames: Vec<Frame>,
    /// The thread; empty when that is not known.
    pub thread: String,
    /// A number for each type of value.
    pub values: Vec<i64>,
}

/// A profile, as pprof has it.
#[derive(Debug, Clone, PartialEq)]
pub struct Profile(proto::Profile);

/// The table of strings, of which the first one is empty.
#[derive(Debug)]
struct Strings(HashMap<String, i64>);

fn nanoseconds(duration: Duration) -> i64 {
    i64::try_from(duration.as_nanos()).unwrap_or(i64::MAX)
}

fn number(count: usize) -> u64 {
    count as u64
}

// === impl Profile ===

impl Profile {
    /// A profile of stacks: of these types of values, one sample every `period` of the last type.
    #[must_use]
    pub fn new(
        types: &[ValueType],
        period: i64,
        start: SystemTime,
        took: Duration,
        stacks: &[Stack],
    ) -> Self {
        let mut strings = Strings::new();
        let mut value_type = |ValueType { name, unit }: &ValueType| proto::ValueType {
            r#type: strings.index(name),
            unit: strings.index(unit),
        };
        let sample_type: Vec<_> = types.iter().map(&mut value_type).collect();
        let period_type = types.last().map(&mut value_type);
        let thread_key = strings.index("thread");
        let mut functions: HashMap<(&str, &str), u64> = HashMap::new();
        let mut locations: HashMap<&Frame, u64> = HashMap::new();
        let (mut function, mut location, mut sample) = (Vec::new(), Vec::new(), Vec::new());
        for stack in stacks {
            let mut location_id = Vec::with_capacity(stack.frames.len());
            for frame in &stack.frames {
                let next = number(functions.len()) + 1;
                let function_id = *functions.entry((&frame.function, &frame.file)).or_insert_with(|| {
                    let name = strings.index(&frame.function);
                    let filename = strings.index(&frame.file);
                    // With a system name of its own, tools would take the name for one that is mangled still.
                    function.push(proto::Function { id: next, name, system_name: 0, filename });
                    next
                });
                let next = number(locations.len()) + 1;
                location_id.push(*locations.entry(frame).or_insert_with(|| {
                    let line = vec![proto::Line { function_id, line: i64::from(frame.line) }];
                    location.push(proto::Location { id: next, mapping_id: 1, address: next, line });
                    next
                }));
            }
            let label = match stack.thread.as_str() {
                "" => Vec::new(),
                thread => vec![proto::Label { key: thread_key, str: strings.index(thread) }],
            };
            sample.push(proto::Sample { location_id, value: stack.values.clone(), label });
        }
        let mapping = proto::Mapping {
            id: 1,
            filename: strings.index("keyward"),
            has_functions: true,
            has_filenames: true,
            has_line_numbers: true,
            has_inline_frames: true,
        };
        Self(proto::Profile {
            sample_type,
            sample,
            mapping: vec![mapping],
            location,
            function,
            string_table: strings.table(),
            time_nanos: nanoseconds(start.duration_since(UNIX_EPOCH).unwrap_or_default()),
            duration_nanos: nanoseconds(took),
            period_type,
            period,
        })
    }

    /// Reads what [`gzipped`](Self::gzipped) wrote, or any tool.
    ///
    /// # Errors
    ///
    /// When it is no profile.
    pub fn read(gzipped: &[u8]) -> Result<Self, ProfileError> {
        let mut bytes = Vec::new();
        GzDecoder::new(gzipped)
            .read_to_end(&mut bytes)
            .map_err(|_| ProfileError::Unreadable("it is not gzip"))?;
        let profile = proto::Profile::decode(bytes.as_slice())
            .map_err(|_| ProfileError::Unreadable("it is not of pprof's form"))?;
        Ok(Self(profile))
    }

    /// As tools read it: protobuf, compressed.
    #[must_use]
    pub fn gzipped(&self) -> Vec<u8> {
        let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
        // Writing to memory cannot fail.
        let _ = encoder.write_all(&self.0.encode_to_vec());
        encoder.finish().unwrap_or_default()
    }

    /// A line a stack: its functions from the outermost on, and its last value. Tools that draw flame graphs
    /// read it.
    #[must_use]
    pub fn folded(&self) -> String {
        let mut lines: BTreeMap<String, i64> = BTreeMap::new();
        for (functions, value) in self.stacks() {
            *lines.entry(functions.join(";")).or_default() += value;
        }
        lines.iter().map(|(stack, value)| format!("{stack} {value}\n")).collect()
    }

    /// Takes the innermost functions off each stack for as long as `is_noise` says so of their names.
    #[must_use]
    pub fn without_leaves(mut self, is_noise: impl Fn(&str) -> bool) -> Self {
        let Self(profile) = &mut self;
        let name = |index: i64| {
            let text = usize::try_from(index).ok().and_then(|index| profile.string_table.get(index));
            text.map(String::as_str).unwrap_or_default()
        };
        let noisy: HashSet<u64> = profile
            .function
            .iter()
            .filter(|function| is_noise(name(function.name)))
            .map(|function| function.id)
            .collect();
        let all_noise = |location: &proto::Location| {
            !location.line.is_empty() && location.line.iter().all(|line| noisy.contains(&line.function_id))
        };
        let leaves: HashSet<u64> =
            profile.location.iter().filter(|it| all_noise(it)).map(|location| location.id).collect();
        for sample in &mut profile.sample {
            let kept = sample.location_id.iter().position(|id| !leaves.contains(id));
            // What is nothing else stays as it is.
            sample.location_id.drain(..kept.unwrap_or_default());
        }
        self
    }

    /// Each stack, the outermost function first, and its last value.
    fn stacks(&self) -> impl Iterator<Item = (Vec<String>, i64)> {
        let Self(profile) = self;
        let locations: HashMap<u64, &proto::Location> =
            profile.location.iter().map(|location| (location.id, location)).collect();
        let functions: HashMap<u64, &proto::Function> =
            profile.function.iter().map(|function| (function.id, function)).collect();
        let text = |index: i64| {
            let text = usize::try_from(index).ok().and_then(|index| profile.string_table.get(index));
            // These two have a meaning of their own in a line.
            text.map(|text| text.replace([';', '\n'], ":")).unwrap_or_default()
        };
        profile.sample.iter().map(move |sample| {
            let mut names = Vec::new();
            if let Some(label) = sample.label.first() {
                names.push(text(label.str));
            }
            for id in sample.location_id.iter().rev() {
                let Some(location) = locations.get(id) else { continue };
                if location.line.is_empty() {
                    names.push(format!("{:#x}", location.address));
                }
                for line in location.line.iter().rev() {
                    names.push(functions.get(&line.function_id).map(|it| text(it.name)).unwrap_or_default());
                }
            }
            (names, sample.value.last().copied().unwrap_or_default())
        })
    }
}

// === impl Strings ===

impl Strings {
    fn new() -> Self {
        Self(HashMap::from([(String::new(), 0)]))
    }

    fn index(&mut self, text: &str) -> i64 {
        if let Some(index) = self.0.get(text) {
            return *index;
        }
        let index = i64::try_from(self.0.len()).unwrap_or(i64::MAX);
        self.0.insert(text.to_owned(), index);
        index
    }

    fn table(self) -> Vec<String> {
        let mut indexed: Vec<(String, i64)> = self.0.into_iter().collect();
        indexed.sort_by_key(|(_, index)| *index);
        indexed.into_iter().map(|(text, _)| text).collect()
    }
}
