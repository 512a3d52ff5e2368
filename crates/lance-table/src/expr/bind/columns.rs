//! Names to columns.

use arrow_schema::{DataType, Fields};

use super::super::print::Name;
use super::super::problem::closest;
use super::super::source::Source;
use super::super::typed::{Kind, Typed};
use super::super::types::loaded;
use super::Binder;
use crate::Result;

/// So many names are listed at most.
const LISTED: usize = 20;

impl Binder<'_> {
    /// The column, or the field of one, that `names` stands for.
    pub(super) fn column(&mut self, names: &[String], at: usize) -> Result<Typed> {
        let Some((first, rest)) = names.split_first() else { return Err(self.problem(at, "no name")) };
        let fields = self.schema.fields();
        let Some(column) = outermost(fields, first) else {
            return Err(self.problem(at, unknown("column", names, fields, "")));
        };
        let mut found = vec![column.name().clone()];
        let mut data_type = column.data_type();
        for (index, name) in rest.iter().enumerate() {
            let outer = found.iter().map(|name| Name(name).to_string()).collect::<Vec<_>>().join(".");
            let DataType::Struct(fields) = data_type else {
                let problem = format!("{outer} has no fields, it is of type {data_type}");
                return Err(self.problem(at, problem));
            };
            let Some((_, field)) = fields.find(name) else {
                let rest = rest.get(index..).unwrap_or_default();
                return Err(self.problem(at, unknown("field", rest, fields, &format!("{outer}."))));
            };
            found.push(name.clone());
            data_type = field.data_type();
        }
        let source = Source::new(found, data_type.clone(), self.schema);
        let number = self.sources.iter().position(|other| *other == source).unwrap_or_else(|| {
            self.sources.push(source);
            self.sources.len() - 1
        });
        Ok(Typed::new(Kind::Column(number), loaded(data_type), at))
    }
}

/// The column `name`; if there is none, in lower case, and then the first that differs only in case. The reference
/// does the same with columns, and not with fields below them.
fn outermost<'f>(fields: &'f Fields, name: &str) -> Option<&'f arrow_schema::FieldRef> {
    let exact = |name: &str| fields.find(name).map(|(_, field)| field);
    exact(name)
        .or_else(|| exact(&name.to_lowercase()))
        .or_else(|| fields.iter().find(|field| field.name().to_lowercase() == name.to_lowercase()))
}

/// That the first of `names` is not among `fields`, and what might be meant.
fn unknown(what: &str, names: &[String], fields: &Fields, outer: &str) -> String {
    let name = names.first().map(String::as_str).unwrap_or_default();
    let problem = format!("no {what} {outer}{}", Name(name));
    let all = || fields.iter().map(|field| field.name().as_str());
    // A name with dots in it needs quotes.
    let dotted = names.join(".");
    let meant = all().find(|other| names.len() > 1 && *other == dotted).or_else(|| closest(name, all()));
    if let Some(meant) = meant {
        return format!("{problem}; did you mean {outer}{}?", Name(meant));
    }
    let listed = all().take(LISTED).map(|name| Name(name).to_string()).collect::<Vec<_>>().join(", ");
    let more = if fields.len() > LISTED { ", …" } else { "" };
    if fields.is_empty() { problem } else { format!("{problem}; there are {listed}{more}") }
}
