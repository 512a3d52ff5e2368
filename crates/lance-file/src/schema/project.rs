//! Parts of a schema: by dotted paths, and by ids.

use super::{Field, LogicalType, Schema};
use crate::FileError;

/// What a projection keeps of a field.
enum Keep {
    All,
    /// These children, in the order they were asked for.
    Some(Vec<Part>),
}

/// A field that a projection keeps, by its position among its siblings.
struct Part {
    child: usize,
    keep: Keep,
}

impl Schema {
    /// The fields at `paths`, in the order asked; the metadata stay.
    ///
    /// A path is made of names joined by dots. A path that ends at a struct means the whole struct, one that
    /// goes on means a struct with only what was asked for. The name of a list's item may be left out. An
    /// error names what was not found and what there is.
    pub fn project<P: AsRef<str>>(&self, paths: &[P]) -> Result<Self, FileError> {
        let mut parts = vec![];
        for (index, path) in paths.iter().enumerate() {
            let path = path.as_ref();
            let fail = |reason| FileError::Projection { column: path.into(), reason };
            if paths.iter().take(index).any(|earlier| earlier.as_ref() == path) {
                return Err(fail("it is asked for twice".into()));
            }
            add(&mut parts, &self.fields, path).map_err(fail)?;
        }
        Ok(Self { fields: build(&parts, &self.fields), metadata: self.metadata.clone() })
    }

    /// The field at the dotted path `path`, last, after those that it is in, of which the top-level one is first. Paths
    /// are those of [`Self::project`].
    ///
    /// ```
    /// use arrow_schema::{DataType, Field};
    /// use lance_file::Schema;
    ///
    /// let pose = DataType::Struct(vec![Field::new("x", DataType::Float32, true)].into());
    /// let schema = Schema::from_arrow(&arrow_schema::Schema::new(vec![Field::new("pose", pose, true)]))?;
    /// let names: Vec<_> = schema.trace("pose.x")?.iter().map(|field| field.name.as_str()).collect();
    /// assert_eq!(names, ["pose", "x"]);
    /// assert!(schema.trace("pose.y").is_err());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn trace(&self, path: &str) -> Result<Vec<&Field>, FileError> {
        let mut trace: Vec<&Field> = vec![];
        let (mut fields, mut left) = (self.fields.as_slice(), Some(path));
        while let Some(rest) = left {
            let above = trace.last();
            let fail = |reason| FileError::Projection { column: path.into(), reason };
            let (index, next) = match (find(fields, rest), above) {
                (Some(found), _) => found,
                (None, Some(list)) if may_pass_item(list) => (0, Some(rest)),
                (None, Some(leaf)) if fields.is_empty() => {
                    return Err(fail(format!("{:?} has no fields below it", leaf.name)));
                }
                (None, _) => return Err(fail(unknown(fields, rest))),
            };
            let Some(field) = fields.get(index) else { return Err(fail(unknown(fields, rest))) };
            trace.push(field);
            (fields, left) = (field.children.as_slice(), next);
        }
        Ok(trace)
    }

    /// The fields whose ids `keep` says yes to, with what is above them; order and metadata stay.
    ///
    /// A field that owns a column goes by its own id. One that does not is kept if something below it is.
    pub fn project_ids(&self, keep: impl Fn(i32) -> bool) -> Self {
        let fields = self.fields.iter().filter_map(|field| keep_ids(field, &keep)).collect();
        Self { fields, metadata: self.metadata.clone() }
    }
}

fn add(parts: &mut Vec<Part>, fields: &[Field], path: &str) -> Result<(), String> {
    let (child, rest) = find(fields, path).ok_or_else(|| unknown(fields, path))?;
    let position = parts.iter().position(|part| part.child == child).unwrap_or_else(|| {
        parts.push(Part { child, keep: Keep::Some(vec![]) });
        parts.len() - 1
    });
    let (Some(field), Some(part)) = (fields.get(child), parts.get_mut(position)) else { return Ok(()) };
    let Some(rest) = rest else {
        part.keep = Keep::All;
        return Ok(());
    };
    if field.is_packed() || field.is_blob() || field.logical_type == LogicalType::Map {
        return Err(format!("{:?} can be read only as a whole", field.name));
    }
    match &mut part.keep {
        Keep::All => add_below(&mut vec![], field, rest),
        Keep::Some(below) => add_below(below, field, rest),
    }
}

/// Like [`add`] in the children of `field`, where a list's item may be passed without being named.
fn add_below(parts: &mut Vec<Part>, field: &Field, path: &str) -> Result<(), String> {
    match field.children.as_slice() {
        [item] if find(&field.children, path).is_none() && may_pass_item(field) => {
            add(parts, &field.children, &format!("{}.{path}", item.name))
        }
        [] => Err(format!("{:?} has no fields below it", field.name)),
        _ => add(parts, &field.children, path),
    }
}

/// Whether a path may go on below the item of `field` without naming it.
fn may_pass_item(field: &Field) -> bool {
    let list = matches!(
        field.logical_type,
        LogicalType::List | LogicalType::LargeList | LogicalType::FixedSizeList(_)
    );
    list && field.children.first().is_some_and(|item| !item.children.is_empty())
}

fn unknown(fields: &[Field], path: &str) -> String {
    let names: Vec<_> = fields.iter().map(|field| field.name.as_str()).collect();
    let first = path.split('.').next().unwrap_or_default();
    format!("no field {first:?}; there are: {}", names.join(", "))
}

/// The field that `path` starts with, and the rest of the path. Names may have dots; the longest wins.
fn find<'p>(fields: &[Field], path: &'p str) -> Option<(usize, Option<&'p str>)> {
    let matches = fields.iter().enumerate().filter_map(|(index, field)| {
        match path.strip_prefix(field.name.as_str())? {
            "" => Some((index, None, field.name.len())),
            rest => rest.strip_prefix('.').map(|rest| (index, Some(rest), field.name.len())),
        }
    });
    // The first of equals, which `max_by_key` alone would not give.
    let longest = matches.rev().max_by_key(|(_, _, len)| *len)?;
    Some((longest.0, longest.1))
}

fn build(parts: &[Part], fields: &[Field]) -> Vec<Field> {
    let kept = parts.iter().filter_map(|part| {
        let field = fields.get(part.child)?;
        Some(match &part.keep {
            Keep::All => field.clone(),
            Keep::Some(below) => Field { children: build(below, &field.children), ..field.clone() },
        })
    });
    kept.collect()
}

fn keep_ids(field: &Field, keep: &impl Fn(i32) -> bool) -> Option<Field> {
    if field.children.is_empty() || field.is_packed() || field.is_blob() {
        return keep(field.id).then(|| field.clone());
    }
    if field.logical_type == LogicalType::Map {
        let whole = field.column_owners(crate::Version::V2_1).iter().all(|leaf| keep(leaf.id));
        return whole.then(|| field.clone());
    }
    let children: Vec<_> = field.children.iter().filter_map(|child| keep_ids(child, keep)).collect();
    (!children.is_empty()).then(|| Field { children, ..field.clone() })
}
