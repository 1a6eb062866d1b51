//! A structural tag as its author writes it.

use serde_json::Value;

use super::fields::{Fields, filled, invalid, text};
use crate::error::GrammarError;

/// Most formats inside each other.
const MAX_NESTING: usize = 32;

/// A format and where it stands in the JSON.
#[derive(Debug)]
pub(super) struct Format {
    pub(super) path: String,
    pub(super) kind: Kind,
}

#[derive(Debug)]
pub(super) enum Kind {
    Literal(String),
    Json(Value),
    Regex(String),
    AnyText { excludes: Vec<String> },
    Sequence(Vec<Format>),
    Or(Vec<Format>),
    Tag(Box<Tag>),
    Triggered(Triggered),
    Separated(Separated),
}

#[derive(Debug)]
pub(super) struct Tag {
    pub(super) path: String,
    pub(super) begin: String,
    pub(super) content: Format,
    /// One of them follows; none: the tag ends with its content.
    pub(super) ends: Vec<String>,
}

/// Free text with tags in it.
#[derive(Debug)]
pub(super) struct Triggered {
    pub(super) triggers: Vec<String>,
    pub(super) tags: Vec<Tag>,
    pub(super) excludes: Vec<String>,
    /// It begins with a tag.
    pub(super) at_least_one: bool,
    pub(super) stop_after_first: bool,
}

/// Tags and nothing between them but a text.
#[derive(Debug)]
pub(super) struct Separated {
    pub(super) separator: String,
    pub(super) tags: Vec<Tag>,
    pub(super) at_least_one: bool,
    pub(super) stop_after_first: bool,
}

/// Both forms of vLLM: `structures` with `triggers`, and `format`.
pub(super) fn read(value: &Value) -> Result<Format, GrammarError> {
    const ROOT: &str = "structural_tag";
    let fields = Fields::of(value, ROOT, &["type", "format", "structures", "triggers"])?;
    if fields.optional("type").is_some_and(|kind| kind != ROOT) {
        return Err(invalid(&fields.path("type"), "must be structural_tag"));
    }
    if let Some(format) = fields.optional("format") {
        if let Some(name) = ["structures", "triggers"]
            .into_iter()
            .find(|name| fields.optional(name).is_some())
        {
            return Err(invalid(&fields.path(name), "not together with format"));
        }
        return read_format(format, fields.path("format"), 0);
    }
    let structures = fields.list("structures")?.iter().enumerate();
    let tags: Result<Vec<Tag>, GrammarError> = structures
        .map(|(at, one)| {
            let path = format!("{ROOT}.structures[{at}]");
            let fields = Fields::of(one, &path, &["begin", "schema", "end"])?;
            Ok(Tag {
                begin: filled(fields.required("begin")?, &fields.path("begin"))?,
                content: Format {
                    kind: Kind::Json(fields.optional("schema").cloned().unwrap_or(Value::Bool(true))),
                    path: fields.path("schema"),
                },
                ends: ends(&fields)?,
                path: path.clone(),
            })
        })
        .collect();
    fields.list("triggers")?;
    Ok(Format {
        path: ROOT.to_owned(),
        kind: Kind::Triggered(Triggered {
            triggers: fields.texts("triggers")?,
            tags: tags?,
            excludes: Vec::new(),
            at_least_one: false,
            stop_after_first: false,
        }),
    })
}

fn read_format(value: &Value, path: String, depth: usize) -> Result<Format, GrammarError> {
    if depth == MAX_NESTING {
        let problem = format!("{path}: at most {MAX_NESTING} formats can be inside each other");
        return Err(GrammarError::TooLarge(problem));
    }
    let name = value.get("type").and_then(Value::as_str);
    let of = |known: &[&str]| Fields::of(value, &path, known);
    let formats = |name: &str| -> Result<Vec<Format>, GrammarError> {
        let list = of(&["type", name])?.list(name)?.iter().enumerate();
        list.map(|(at, one)| read_format(one, format!("{path}.{name}[{at}]"), depth + 1))
            .collect()
    };
    let kind = match name {
        Some("const_string") => Kind::Literal(filled(
            of(&["type", "value"])?.required("value")?,
            &format!("{path}.value"),
        )?),
        Some("json_schema") => json(&of(&["type", "json_schema", "style", "any_order"])?)?,
        Some("regex") => Kind::Regex(of(&["type", "pattern"])?.text("pattern")?),
        Some("any_text") => Kind::AnyText {
            excludes: of(&["type", "excludes"])?.texts("excludes")?,
        },
        Some("sequence") => Kind::Sequence(formats("elements")?),
        Some("or") => Kind::Or(formats("elements")?),
        Some("tag") => Kind::Tag(Box::new(read_tag(value, &path, depth)?)),
        Some("triggered_tags") => {
            let fields = of(&[
                "type",
                "triggers",
                "tags",
                "at_least_one",
                "stop_after_first",
                "excludes",
            ])?;
            fields.list("triggers")?;
            Kind::Triggered(Triggered {
                triggers: fields.texts("triggers")?,
                tags: tags(&fields, depth)?,
                excludes: fields.texts("excludes")?,
                at_least_one: fields.flag("at_least_one")?,
                stop_after_first: fields.flag("stop_after_first")?,
            })
        }
        Some("tags_with_separator") => {
            let fields = of(&["type", "separator", "tags", "at_least_one", "stop_after_first"])?;
            Kind::Separated(Separated {
                separator: fields.text("separator")?,
                tags: tags(&fields, depth)?,
                at_least_one: fields.flag("at_least_one")?,
                stop_after_first: fields.flag("stop_after_first")?,
            })
        }
        Some(name) => return Err(invalid(&format!("{path}.type"), &format!("{name:?} is not available"))),
        None => return Err(invalid(&format!("{path}.type"), "is missing")),
    };
    Ok(Format { path, kind })
}

fn json(fields: &Fields<'_>) -> Result<Kind, GrammarError> {
    if fields.optional("style").is_some_and(|style| style != "json") {
        return Err(invalid(&fields.path("style"), "only json is available"));
    }
    if fields.flag("any_order")? {
        return Err(invalid(&fields.path("any_order"), "not available"));
    }
    Ok(Kind::Json(fields.required("json_schema")?.clone()))
}

fn tags(fields: &Fields<'_>, depth: usize) -> Result<Vec<Tag>, GrammarError> {
    let list = fields.list("tags")?.iter().enumerate();
    list.map(|(at, one)| read_tag(one, &format!("{}[{at}]", fields.path("tags")), depth + 1))
        .collect()
}

fn read_tag(value: &Value, path: &str, depth: usize) -> Result<Tag, GrammarError> {
    let fields = Fields::of(value, path, &["type", "begin", "content", "end"])?;
    if fields.optional("type").is_some_and(|kind| kind != "tag") {
        return Err(invalid(&fields.path("type"), "must be tag"));
    }
    Ok(Tag {
        path: path.to_owned(),
        begin: filled(fields.required("begin")?, &fields.path("begin"))?,
        content: read_format(fields.required("content")?, fields.path("content"), depth + 1)?,
        ends: ends(&fields)?,
    })
}

fn ends(fields: &Fields<'_>) -> Result<Vec<String>, GrammarError> {
    match fields.required("end")? {
        Value::String(end) if end.is_empty() => Ok(Vec::new()),
        Value::Array(_) => {
            fields.list("end")?;
            fields.texts("end")
        }
        end => Ok(vec![text(end, &fields.path("end"))?]),
    }
}
