//! Which fields are read from which columns.

use std::collections::HashMap;

use lance_encoding::is_text_as_list;
use lance_footer::FormatError;

use super::VerifyOptions;
use super::container::Survey;
use super::problem::{Place, Report};
use crate::{Field, Schema};

/// Schemas that the columns of a file are read with.
pub(super) struct Columns {
    /// One schema, or two that share no column: what is known from elsewhere, and the file's own for the rest.
    pub(super) read: Vec<(Schema, HashMap<i32, u32>)>,
}

/// A top-level field, and the columns of the fields below it that own one, in their order.
pub(super) struct Target<'a> {
    pub(super) field: &'a Field,
    /// Dotted path, field and column.
    pub(super) owners: Vec<Owner<'a>>,
}

/// A field that owns a column.
pub(super) struct Owner<'a> {
    pub(super) path: String,
    pub(super) field: &'a Field,
    pub(super) column: usize,
    /// What the pages of the column count of a row: more than one below fixed-size lists of structs.
    pub(super) slots: u64,
}

impl Columns {
    pub(super) fn new(
        survey: &Survey,
        own: Option<Schema>,
        options: VerifyOptions,
        report: &mut Report<'_>,
    ) -> Self {
        let there = survey.columns.len();
        let VerifyOptions { schema, columns, .. } = options;
        let schema = schema.map(|schema| schema.as_stored());
        let given = columns.map(|columns| {
            for (id, column) in &columns {
                if !usize::try_from(*column).is_ok_and(|column| column < there) {
                    let reason =
                        format!("field {id} is said to be in column {column}, but there are {there}");
                    report.format(Place::default(), &FormatError::corrupt("data file entry", reason));
                }
            }
            columns.into_iter().collect::<HashMap<_, _>>()
        });
        let mut read = vec![];
        match (schema, given) {
            (Some(schema), Some(given)) => {
                if let Some(own) = &own {
                    check_types(&schema, &given, own, survey, report);
                }
                let rest = own.and_then(|own| {
                    let columns = in_order(&own, survey, None);
                    let taken =
                        |id: &i32| columns.get(id).is_some_and(|column| given.values().any(|c| c == column));
                    let rest = own.project_ids(|id| columns.contains_key(&id) && !taken(&id));
                    (!rest.fields.is_empty()).then_some((rest, columns))
                });
                read.push((schema, given));
                read.extend(rest);
            }
            (schema, given) => {
                if let Some(schema) = schema.or(own) {
                    let columns = given.unwrap_or_else(|| in_order(&schema, survey, Some(report)));
                    read.push((schema, columns));
                }
            }
        }
        Self { read }
    }

    /// The fields of `schema` with their columns. Where a column is missing there is none in the target.
    pub(super) fn targets<'a>(
        schema: &'a Schema,
        columns: &'a HashMap<i32, u32>,
        survey: &'a Survey,
    ) -> impl Iterator<Item = Target<'a>> {
        schema.fields.iter().map(move |field| {
            let owners = field.column_owners(survey.version()).into_iter().filter_map(|owner| {
                let column = usize::try_from(*columns.get(&owner.id)?).ok()?;
                let path = schema.path(owner.id).unwrap_or_else(|| owner.name.clone());
                Some(Owner { path, field: owner, column, slots: slots(field, owner.id) })
            });
            Target { field, owners: owners.collect() }
        })
    }

    /// The dotted path of the field that is read from `column`.
    pub(super) fn path(&self, column: usize) -> Option<String> {
        self.stored_in(column).and_then(|(schema, id)| schema.path(id))
    }

    /// What the pages of `column` count of a row.
    pub(super) fn slots(&self, column: usize) -> u64 {
        let Some((schema, id)) = self.stored_in(column) else { return 1 };
        let field = schema.fields.iter().find(|field| field.slots_of(id).is_some());
        field.map_or(1, |field| slots(field, id))
    }

    /// The id of the field that is read from `column`, and the schema that it is of.
    fn stored_in(&self, column: usize) -> Option<(&Schema, i32)> {
        self.read.iter().find_map(|(schema, columns)| {
            let stored = columns.iter().find(|(_, stored)| usize::try_from(**stored) == Ok(column))?;
            Some((schema, *stored.0))
        })
    }
}

/// What a row of `field` has of the field with this id, which lies below it; lists of no length are told elsewhere.
fn slots(field: &Field, id: i32) -> u64 {
    field.slots_of(id).unwrap_or(1).max(1)
}

/// What a column holds does not depend on who is asked. Names and ids may: they are the table's.
fn check_types(
    schema: &Schema,
    columns: &HashMap<i32, u32>,
    own: &Schema,
    survey: &Survey,
    report: &mut Report<'_>,
) {
    let mut stored: HashMap<u32, &Field> = HashMap::new();
    let own_columns = in_order(own, survey, None);
    for owner in own.column_owners(survey.version()) {
        if let Some(column) = own_columns.get(&owner.id) {
            stored.entry(*column).or_insert(owner);
        }
    }
    for owner in schema.column_owners(survey.version()) {
        let column = columns.get(&owner.id);
        let Some((column, stored)) = column.and_then(|column| Some((column, stored.get(column)?))) else {
            continue;
        };
        let (wanted, has) = (owner.logical_type_string(), stored.logical_type_string());
        if wanted != has {
            let column = usize::try_from(*column).ok();
            let place = Place { field: schema.path(owner.id), column, ..Place::default() };
            report.corrupt(place, format!("its type is {wanted} in the table, but {has} in the file"));
        }
    }
}

/// The fields that own a column have them in the order of the schema.
fn in_order(schema: &Schema, survey: &Survey, report: Option<&mut Report<'_>>) -> HashMap<i32, u32> {
    let mut columns = HashMap::new();
    let mut next = 0_u32;
    for owner in schema.column_owners(survey.version()) {
        columns.entry(owner.id).or_insert(next);
        let column = usize::try_from(next).ok().and_then(|column| survey.whole(column));
        // What old writers made of strings has two.
        let two = owner.is_text() && column.is_some_and(|column| is_text_as_list(&column, survey.version()));
        next = next.saturating_add(if two { 2 } else { 1 });
    }
    let there = survey.columns.len();
    if let Some(report) = report
        && usize::try_from(next) != Ok(there)
    {
        let reason = format!("it needs {next} columns, but the file has {there}");
        let bytes = survey.descriptor.as_ref().map(|(extent, _)| *extent);
        report.format(Place { bytes, ..Place::default() }, &FormatError::corrupt("schema", reason));
    }
    columns.retain(|_, column| usize::try_from(*column).is_ok_and(|column| column < there));
    columns
}
