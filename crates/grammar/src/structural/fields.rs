//! The fields of one JSON object, which are all read or refused.

use serde_json::{Map, Value};

use crate::error::GrammarError;

pub(super) fn invalid(path: &str, problem: &str) -> GrammarError {
    GrammarError::Invalid(format!("{path}: {problem}"))
}

/// An object at a path. Fields with null are absent.
pub(super) struct Fields<'value> {
    path: &'value str,
    of: &'value Map<String, Value>,
}

impl<'value> Fields<'value> {
    /// Refuses fields that are not `known`.
    pub(super) fn of(value: &'value Value, path: &'value str, known: &[&str]) -> Result<Self, GrammarError> {
        let Value::Object(of) = value else {
            return Err(invalid(path, "must be an object"));
        };
        let unknown = of
            .iter()
            .find(|(name, value)| !known.contains(&name.as_str()) && !value.is_null());
        match unknown {
            Some((name, _)) => Err(invalid(
                &format!("{path}.{name}"),
                &format!("not available; known here are {}", known.join(", ")),
            )),
            None => Ok(Fields { path, of }),
        }
    }

    pub(super) fn path(&self, name: &str) -> String {
        format!("{}.{name}", self.path)
    }

    pub(super) fn optional(&self, name: &str) -> Option<&'value Value> {
        self.of.get(name).filter(|value| !value.is_null())
    }

    pub(super) fn required(&self, name: &str) -> Result<&'value Value, GrammarError> {
        self.optional(name)
            .ok_or_else(|| invalid(&self.path(name), "is missing"))
    }

    pub(super) fn text(&self, name: &str) -> Result<String, GrammarError> {
        text(self.required(name)?, &self.path(name))
    }

    pub(super) fn list(&self, name: &str) -> Result<&'value [Value], GrammarError> {
        match self.required(name)? {
            Value::Array(values) if !values.is_empty() => Ok(values),
            _ => Err(invalid(&self.path(name), "must be a list that is not empty")),
        }
    }

    /// Texts that are not empty; none if the field is absent.
    pub(super) fn texts(&self, name: &str) -> Result<Vec<String>, GrammarError> {
        let path = self.path(name);
        match self.optional(name) {
            None => Ok(Vec::new()),
            Some(Value::Array(values)) => values
                .iter()
                .enumerate()
                .map(|(at, value)| filled(value, &format!("{path}[{at}]")))
                .collect(),
            Some(_) => Err(invalid(&path, "must be a list of texts")),
        }
    }

    pub(super) fn flag(&self, name: &str) -> Result<bool, GrammarError> {
        match self.optional(name) {
            None => Ok(false),
            Some(Value::Bool(flag)) => Ok(*flag),
            Some(_) => Err(invalid(&self.path(name), "must be true or false")),
        }
    }
}

pub(super) fn text(value: &Value, path: &str) -> Result<String, GrammarError> {
    let text = value.as_str().ok_or_else(|| invalid(path, "must be a text"))?;
    Ok(text.to_owned())
}

pub(super) fn filled(value: &Value, path: &str) -> Result<String, GrammarError> {
    let text = text(value, path)?;
    if text.is_empty() {
        return Err(invalid(path, "must not be empty"));
    }
    Ok(text)
}
