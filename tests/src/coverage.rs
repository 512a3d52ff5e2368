//! Which encodings were met in files, by version, place and type, as `docs/format/coverage.md` tells.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;

use arrow_schema::DataType;
use lance_file::describe::{EncodingTree, PageDescription, describe};
use lance_file::{Field, FileReader, Version};

/// Whose files they are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum By {
    /// The reference wrote them, and we read them.
    Reference,
    /// We wrote them, and the reference reads them.
    Us,
}

/// The types of columns with an encoding.
#[derive(Debug, Default)]
struct Met {
    read: BTreeSet<String>,
    written: BTreeSet<String>,
}

/// What was met.
#[derive(Debug, Default)]
pub struct Coverage(BTreeMap<(Version, String, String), Met>);

impl Coverage {
    /// Adds what `file` has, whose values were compared.
    pub fn add(&mut self, file: &FileReader, by: By) {
        let described = describe(file);
        for column in &described.columns {
            let Some(field) = column.field.and_then(|id| file.schema().field(id)) else { continue };
            let name = type_name(field);
            for page in &column.pages {
                for (place, encoding) in cells(page, file.version()) {
                    let met = self.0.entry((file.version(), place, encoding)).or_default();
                    match by {
                        By::Reference => met.read.insert(name.clone()),
                        By::Us => met.written.insert(name.clone()),
                    };
                }
            }
        }
    }

    /// The page of the documentation.
    pub fn text(&self) -> String {
        let mut text = HEAD.to_string();
        for version in Version::ALL {
            let cells = self.0.iter().filter(|((of, ..), _)| *of == version);
            let _ = write!(
                text,
                "\n## File version {version}\n\n| place | encoding | read | written |\n|---|---|---|---|\n"
            );
            for ((_, place, encoding), met) in cells {
                let types = |types: &BTreeSet<String>| match types.is_empty() {
                    true => "–".to_string(),
                    false => types.iter().map(String::as_str).collect::<Vec<_>>().join(", "),
                };
                let (read, written) = (types(&met.read), types(&met.written));
                let _ = writeln!(text, "| {place} | `{encoding}` | {read} | {written} |");
            }
        }
        text
    }
}

const HEAD: &str = "# Encodings that were met

Made by the test `coverage`, which fails if it finds anything else. To write this page anew, run it with
`DEMILANCE_COVERAGE=write`; it needs the reference (`cargo xtask oracle`).

A line is an encoding at a place in pages. *Read*: the types of columns that had it in files of the reference, whose
values we read as they were written. *Written*: the types of columns that had it in our files, whose values the
reference read as they were written. Columns are physical: of a list or struct from version 2.1 on these are its leaves.
What is not in here may well be read; it has tests with pages made by hand, or none.
";

/// The places of a page with their encodings.
fn cells(page: &PageDescription, version: Version) -> Vec<(String, String)> {
    let tree = &page.encoding;
    match (version, tree.name) {
        (Version::V2_0, _) => vec![("array".into(), tree.to_string())],
        (_, "blob") => parts("blob, ", tree.parts.first().map_or(tree, |(_, inner)| inner)),
        (_, "constant") => {
            let value = match (tree.facts.iter().any(|(name, _)| *name == "value"), page.buffers.len()) {
                (true, _) => "in the layout",
                (false, 1 | 3) => "in a buffer",
                (false, _) => "none: all null",
            };
            let mut cells = vec![("constant: value".to_string(), value.to_string())];
            cells.extend(parts("", tree));
            cells
        }
        _ => parts("", tree),
    }
}

fn parts(prefix: &str, layout: &EncodingTree) -> Vec<(String, String)> {
    let indexed = layout.parts.iter().any(|(role, _)| *role == "dictionary");
    let cell = |(role, part): &(&str, EncodingTree)| {
        let role = match *role {
            "repetition" | "definition" => "levels",
            "values" if indexed => "indices",
            role => role,
        };
        (format!("{prefix}{}: {role}", layout.name), short(part))
    };
    layout.parts.iter().map(cell).collect()
}

/// The short form. Of packed structs, each kind of member once.
fn short(tree: &EncodingTree) -> String {
    if tree.name != "variable-packed-struct" {
        return tree.to_string();
    }
    let members: BTreeSet<_> = tree.parts.iter().map(|(_, member)| member.to_string()).collect();
    format!("{}({})", tree.name, members.into_iter().collect::<Vec<_>>().join(", "))
}

fn type_name(field: &Field) -> String {
    if field.is_blob() {
        return "blob".into();
    }
    if field.is_packed() {
        return "packed struct".into();
    }
    name(&field.data_type())
}

fn name(data_type: &DataType) -> String {
    match data_type {
        DataType::Timestamp(..) => "timestamp".into(),
        DataType::Duration(_) => "duration".into(),
        DataType::Time32(_) => "time32".into(),
        DataType::Time64(_) => "time64".into(),
        DataType::Decimal128(..) => "decimal128".into(),
        DataType::Decimal256(..) => "decimal256".into(),
        DataType::FixedSizeBinary(_) => "fixed-size binary".into(),
        DataType::FixedSizeList(item, _) => format!("vector of {}", name(item.data_type())),
        DataType::Dictionary(_, value) => format!("dictionary of {}", name(value)),
        DataType::List(_) | DataType::LargeList(_) => "list".into(),
        DataType::Struct(members) if members.is_empty() => "empty struct".into(),
        DataType::Struct(_) => "struct".into(),
        other => other.to_string().to_lowercase(),
    }
}
