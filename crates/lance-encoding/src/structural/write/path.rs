//! The leaves of a field, how each is reached, and what cannot be written.

use std::sync::Arc;

use arrow_schema::{DataType, Field};
use lance_footer::{FormatError, Result};

use super::packed_struct::Packed;
use crate::codec::MAX_DEPTH;
use crate::field::{MAX_NESTING, at_member, member_name};
use crate::is_packed;
use crate::rules::Rules;
use crate::settings::{Compression, Settings};

/// How a leaf column is reached from its top-level field.
#[derive(Debug, Clone)]
pub(super) struct LeafPath {
    /// From the top-level field down; the last is the leaf.
    pub(super) steps: Vec<Step>,
    /// What the leaf holds.
    pub(super) kind: LeafKind,
    /// Its type.
    pub(super) data_type: DataType,
    /// If it is a packed struct, what that consists of; its rows are plain values.
    pub(super) packed: Option<Arc<Packed>>,
    /// How its values are to be encoded.
    pub(super) settings: Settings,
}

/// One layer on the way to a leaf.
#[derive(Debug, Clone)]
pub(super) struct Step {
    /// Dotted name below the top-level field, for errors; empty for that field itself.
    pub(super) name: String,
    /// Whether its schema admits nulls.
    pub(super) nullable: bool,
    /// What it is.
    pub(super) nesting: Nesting,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Nesting {
    /// A struct, of which the path takes a member.
    Struct { member: usize },
    /// A list, a large list or a map, whose items are the structs of key and value.
    List,
    /// A fixed-size list of structs, of this length: each slot becomes as many.
    FixedSizeList { len: usize },
    /// The end of the path.
    Leaf,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum LeafKind {
    /// Nulls and nothing else.
    Null,
    /// A struct without members.
    EmptyStruct,
    /// Values that are stored as they are.
    Plain,
    /// Keys and the dictionary that they look up.
    Dictionary,
}

impl LeafPath {
    /// Dotted name of the leaf below the top-level field.
    pub(super) fn name(&self) -> &str {
        self.steps.last().map_or("", |step| step.name.as_str())
    }

    /// Slots of the leaf that a row has: the product of the lengths of all fixed-size lists on the path.
    pub(super) fn slots(&self) -> usize {
        let lengths = self.steps.iter().map(|step| match step.nesting {
            Nesting::FixedSizeList { len } => len,
            _ => 1,
        });
        lengths.fold(1, usize::saturating_mul)
    }

    /// Lists on the path, which is also the repetition level of a new row.
    pub(super) fn lists(&self) -> usize {
        self.steps.iter().filter(|step| step.nesting == Nesting::List).count()
    }
}

/// The leaves of `field`, depth first. An error that names the member that cannot be stored.
///
/// Where a field does not say what its values are compressed with, it is `compression`.
pub(super) fn leaf_paths(
    field: &Field,
    rules: &Rules,
    compression: Option<Compression>,
) -> Result<Vec<LeafPath>> {
    let mut walk = Walk { top: field, rules, compression, above: vec![], paths: vec![] };
    walk.collect(field, String::new())?;
    Ok(walk.paths)
}

/// A walk over the leaves of a top-level field.
struct Walk<'a> {
    top: &'a Field,
    rules: &'a Rules,
    compression: Option<Compression>,
    above: Vec<Step>,
    paths: Vec<LeafPath>,
}

impl Walk<'_> {
    fn collect(&mut self, field: &Field, name: String) -> Result<()> {
        if self.above.len() >= MAX_NESTING {
            return Err(refuse(&name, &format!("more than {MAX_NESTING} types within each other")));
        }
        refuse_extensions(field, &name)?;
        let packed = is_packed(field);
        let step = |nesting| Step { name: name.clone(), nullable: field.is_nullable(), nesting };
        let first = self.paths.len();
        match field.data_type() {
            DataType::Struct(members) if !members.is_empty() && !packed => {
                for (member, child) in members.iter().enumerate() {
                    self.below(step(Nesting::Struct { member }), child, &name)?;
                }
                if !self.above.iter().any(|step| matches!(step.nesting, Nesting::FixedSizeList { .. })) {
                    refuse_unlike_slots(self.paths.get(first..).unwrap_or_default(), &name)?;
                }
            }
            DataType::Map(..) if !self.rules.newer_types => {
                return Err(refuse(&name, "maps before file version 2.2"));
            }
            DataType::Map(_, true) => return Err(refuse(&name, "maps with sorted keys")),
            DataType::List(item) | DataType::LargeList(item) | DataType::Map(item, _) => {
                self.below(step(Nesting::List), item, &name)?;
            }
            DataType::FixedSizeList(item, len) if matches!(item.data_type(), DataType::Struct(_)) => {
                let len = fixed_size_list(*len, &name, self.rules, &self.above)?;
                self.below(step(Nesting::FixedSizeList { len }), item, &name)?;
                if self.paths.iter().skip(first).any(|path| path.lists() > 0) {
                    return Err(refuse(&name, "fixed-size lists of structs with lists in them"));
                }
            }
            leaf => {
                let (kind, packed) = match leaf {
                    DataType::Struct(members) if !members.is_empty() => {
                        let packed = Packed::new(members, self.rules);
                        let packed = packed.map_err(|error| at_member(error, &name))?;
                        if packed.is_variable() && self.above.iter().any(|step| step.nesting == Nesting::List)
                        {
                            // The reference fails on rows without a single item, its own files included.
                            let what = "packed structs with strings or lists in lists, which the reference cannot read";
                            return Err(refuse(&name, what));
                        }
                        (LeafKind::Plain, Some(Arc::new(packed)))
                    }
                    leaf => (leaf_kind(leaf, &name)?, None),
                };
                let settings = Settings::of(field, self.top, self.compression, self.rules);
                let settings = settings.map_err(|error| at_member(error, &name))?;
                let mut steps = self.above.clone();
                steps.push(step(Nesting::Leaf));
                let data_type = leaf.clone();
                self.paths.push(LeafPath { steps, kind, data_type, packed, settings });
            }
        }
        Ok(())
    }

    /// Collects `child`, which is a part of the field `name` that is `step`.
    fn below(&mut self, step: Step, child: &Field, name: &str) -> Result<()> {
        self.above.push(step);
        self.collect(child, member_name(name, child))?;
        self.above.pop();
        Ok(())
    }
}

/// The length of a fixed-size list of structs below `above`. The reference reads none that goes with a list.
fn fixed_size_list(len: i32, name: &str, rules: &Rules, above: &[Step]) -> Result<usize> {
    if !rules.newer_types {
        return Err(refuse(name, "fixed-size lists of structs before file version 2.2"));
    }
    if above.iter().any(|step| step.nesting == Nesting::List) {
        return Err(refuse(name, "fixed-size lists of structs in lists"));
    }
    match usize::try_from(len) {
        Ok(len) if len > 0 => Ok(len),
        _ => Err(refuse(name, "fixed-size lists without items")),
    }
}

/// An error if the paths of a struct, which is in no fixed-size list, have unlike numbers of slots: the reference's
/// reader wants the columns of a struct to be as long as each other.
fn refuse_unlike_slots(paths: &[LeafPath], name: &str) -> Result<()> {
    let slots = paths.first().map(LeafPath::slots);
    if paths.iter().all(|path| Some(path.slots()) == slots) {
        return Ok(());
    }
    let what =
        "a struct with a fixed-size list of structs next to other members, which the reference cannot read";
    Err(refuse(name, what))
}

fn leaf_kind(data_type: &DataType, name: &str) -> Result<LeafKind> {
    match data_type {
        DataType::Null => Ok(LeafKind::Null),
        DataType::Struct(_) => Ok(LeafKind::EmptyStruct),
        DataType::Boolean => Ok(LeafKind::Plain),
        DataType::Utf8 | DataType::LargeUtf8 | DataType::Binary | DataType::LargeBinary => {
            Ok(LeafKind::Plain)
        }
        DataType::FixedSizeList(item, dimension) => {
            refuse_item(item, name, 1)?;
            if *dimension < 1 {
                return Err(refuse(name, "fixed-size lists without items"));
            }
            Ok(LeafKind::Plain)
        }
        // Those whose name in a schema is one word; `dict` has no room for others.
        DataType::Dictionary(_, values) => match values.as_ref() {
            DataType::Boolean
            | DataType::Utf8
            | DataType::LargeUtf8
            | DataType::Binary
            | DataType::LargeBinary => Ok(LeafKind::Dictionary),
            values if values.is_integer() || values.is_floating() => Ok(LeafKind::Dictionary),
            values => Err(refuse(name, &format!("dictionaries of {values}"))),
        },
        DataType::Utf8View | DataType::BinaryView => {
            Err(refuse(name, &format!("{data_type}; convert it to the plain type")))
        }
        other if fixed_width(other).is_some() => Ok(LeafKind::Plain),
        DataType::FixedSizeBinary(_) => Err(refuse(name, "fixed-size binary values of no bytes")),
        other => Err(refuse(name, &format!("{other}, which the file format cannot hold"))),
    }
}

/// Items of a primitive fixed-size list: bits, fixed width, or lists of these again, `depth` deep.
fn refuse_item(item: &Field, name: &str, depth: usize) -> Result<()> {
    match item.data_type() {
        _ if depth > MAX_DEPTH => {
            Err(refuse(name, &format!("more than {MAX_DEPTH} fixed-size lists within each other")))
        }
        DataType::Boolean => Ok(()),
        DataType::Struct(_) => Err(refuse(name, "fixed-size lists of structs")),
        DataType::FixedSizeList(inner, dimension) if *dimension > 0 => refuse_item(inner, name, depth + 1),
        other if fixed_width(other).is_some() => Ok(()),
        other => Err(refuse(name, &format!("fixed-size lists of {other}"))),
    }
}

/// Bytes of a value of a type of fixed width that is stored as it is.
pub(super) fn fixed_width(data_type: &DataType) -> Option<usize> {
    match data_type {
        DataType::Interval(_) | DataType::Decimal32(..) | DataType::Decimal64(..) => None,
        DataType::FixedSizeBinary(width) => usize::try_from(*width).ok().filter(|width| *width > 0),
        other => other.primitive_width(),
    }
}

fn refuse_extensions(field: &Field, name: &str) -> Result<()> {
    if field.metadata().contains_key("lance-encoding:blob") {
        return Err(refuse(name, "blobs"));
    }
    if field.extension_type_name() == Some("lance.blob.v2") {
        return Err(refuse(name, "lance.blob.v2"));
    }
    Ok(())
}

fn refuse(name: &str, what: &str) -> FormatError {
    at_member(FormatError::unsupported(format!("writing {what}")), name)
}
