//! Label selectors, as Kubernetes writes them: `app=web,tier!=db,env in (a,b),!draft`.

use std::collections::BTreeMap;

use keyward_resource::ApiStatus;

/// Which labels an object must have. Without requirements it has them always.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct LabelSelector {
    requirements: Vec<Requirement>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct Requirement {
    key: String,
    test: Test,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Test {
    Exists,
    Missing,
    In(Vec<String>),
    NotIn(Vec<String>),
    Above(i64),
    Below(i64),
}

/// Walks over the text of a selector.
struct Parser<'a> {
    rest: &'a str,
}

// === impl LabelSelector ===

impl LabelSelector {
    /// Reads a selector.
    pub(crate) fn parse(text: &str) -> Result<Self, ApiStatus> {
        let requirements = Parser { rest: text }.requirements();
        requirements
            .map(|requirements| Self { requirements })
            .map_err(|why| ApiStatus::bad_request(format!("labelSelector: unable to parse {text:?}: {why}")))
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.requirements.is_empty()
    }

    /// Whether an object with these labels is selected.
    pub(crate) fn matches<'a>(&self, labels: impl IntoIterator<Item = (&'a str, &'a str)>) -> bool {
        if self.requirements.is_empty() {
            return true;
        }
        let labels: BTreeMap<&str, &str> = labels.into_iter().collect();
        self.requirements
            .iter()
            .all(|requirement| requirement.test.holds(labels.get(requirement.key.as_str()).copied()))
    }
}

// === impl Test ===

impl Test {
    fn holds(&self, value: Option<&str>) -> bool {
        let is_among = |values: &[String]| value.is_some_and(|value| values.iter().any(|one| one == value));
        let number = || value.and_then(|value| value.parse::<i64>().ok());
        match self {
            Self::Exists => value.is_some(),
            Self::Missing => value.is_none(),
            Self::In(values) => is_among(values),
            Self::NotIn(values) => !is_among(values),
            Self::Above(bound) => number().is_some_and(|number| number > *bound),
            Self::Below(bound) => number().is_some_and(|number| number < *bound),
        }
    }
}

// === impl Parser ===

impl<'a> Parser<'a> {
    fn requirements(mut self) -> Result<Vec<Requirement>, String> {
        let mut requirements = Vec::new();
        self.skip_space();
        while !self.rest.is_empty() {
            requirements.push(self.requirement()?);
            self.skip_space();
            if self.rest.is_empty() {
                break;
            }
            if !self.take(",") {
                return Err(format!("expected ',' before {:?}", self.rest));
            }
            self.skip_space();
            if self.rest.is_empty() {
                return Err("nothing follows the last ','".to_owned());
            }
        }
        Ok(requirements)
    }

    fn requirement(&mut self) -> Result<Requirement, String> {
        if self.take("!") {
            self.skip_space();
            return Ok(Requirement { key: self.key()?, test: Test::Missing });
        }
        let key = self.key()?;
        self.skip_space();
        let test = if self.take("==") || self.take("=") {
            Test::In(vec![self.value()?])
        } else if self.take("!=") {
            Test::NotIn(vec![self.value()?])
        } else if self.take(">") {
            Test::Above(self.number()?)
        } else if self.take("<") {
            Test::Below(self.number()?)
        } else if self.rest.is_empty() || self.rest.starts_with(',') {
            Test::Exists
        } else {
            match self.word() {
                "in" => Test::In(self.values()?),
                "notin" => Test::NotIn(self.values()?),
                other => return Err(format!("{other:?} is none of =, ==, !=, in, notin, < and >")),
            }
        };
        Ok(Requirement { key, test })
    }

    fn key(&mut self) -> Result<String, String> {
        let key = self.word();
        if key.is_empty() {
            return Err(format!("expected the key of a label before {:?}", self.rest));
        }
        let legal = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.' | b'/');
        if key.len() > 317 || !key.bytes().all(legal) {
            return Err(format!("{key:?} is no key of a label"));
        }
        Ok(key.to_owned())
    }

    /// A value, which may be empty.
    fn value(&mut self) -> Result<String, String> {
        self.skip_space();
        let value = self.word();
        let legal = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.');
        if value.len() > 63 || !value.bytes().all(legal) {
            return Err(format!("{value:?} is no value of a label"));
        }
        Ok(value.to_owned())
    }

    fn number(&mut self) -> Result<i64, String> {
        let value = self.value()?;
        value.parse().map_err(|_| format!("{value:?} is no whole number"))
    }

    fn values(&mut self) -> Result<Vec<String>, String> {
        self.skip_space();
        if !self.take("(") {
            return Err("expected '(' after in or notin".to_owned());
        }
        let mut values = vec![self.value()?];
        loop {
            self.skip_space();
            if self.take(")") {
                return Ok(values);
            }
            if !self.take(",") {
                return Err("expected ',' or ')' among the values".to_owned());
            }
            values.push(self.value()?);
        }
    }

    fn word(&mut self) -> &'a str {
        let end = self.rest.find(|char: char| char.is_whitespace() || "=!,()<>".contains(char));
        let (word, rest) = self.rest.split_at(end.unwrap_or(self.rest.len()));
        self.rest = rest;
        word
    }

    fn take(&mut self, token: &str) -> bool {
        match self.rest.strip_prefix(token) {
            Some(rest) => {
                self.rest = rest;
                true
            }
            None => false,
        }
    }

    fn skip_space(&mut self) {
        self.rest = self.rest.trim_start();
    }
}
