//! Operations, and what comes of them.

mod upsert;

use super::formula::Formula;
use super::predicate::{Place, Predicate};
use super::value::{Column, Kind, Value};
use super::{Content, History, Model, Row};
use upsert::Upserting;

/// Rows that are written.
#[derive(Debug, Clone)]
pub struct Rows {
    pub columns: Vec<Column>,
    pub rows: Vec<Vec<Value>>,
    /// A fragment has at most so many.
    pub cut: usize,
}

/// What becomes of rows whose key is in the source.
#[derive(Debug, Clone)]
pub enum Matched {
    Update,
    /// If it is true of the row of the source.
    UpdateIf(Predicate),
    Keep,
}

/// What becomes of rows whose key is not in the source.
#[derive(Debug, Clone)]
pub enum Missing {
    Keep,
    Delete,
    DeleteIf(Predicate),
}

/// Where the values of a new column come from.
#[derive(Debug, Clone)]
pub enum Origin {
    Null,
    Formula(Formula),
    /// One a row; batches have so many of them.
    Aligned(Vec<Value>, usize),
    /// By the key in a column.
    Joined(Place, Vec<(Value, Value)>),
}

/// An operation on one history.
#[derive(Debug, Clone)]
pub enum Step {
    Append(Rows),
    Overwrite(Rows),
    Delete(Predicate),
    Update {
        set: Vec<(Place, Formula)>,
        filter: Predicate,
    },
    Upsert {
        source: Rows,
        on: String,
        matched: Matched,
        insert: bool,
        missing: Missing,
    },
    /// `within` is the struct that it becomes a member of.
    Add {
        column: Column,
        within: Option<Place>,
        origin: Origin,
    },
    Drop(Place),
    Rename(Place, String),
    Cast(Place, Kind),
    Nullable(Place, bool),
    /// To fragments of so many rows; rewritten if a larger share than this is deleted.
    Compact {
        target: u64,
        threshold: f64,
    },
    Config(String, Option<String>),
    Restore(u64),
    /// So many of the newest versions stay.
    CleanUp(u64),
    Tag {
        name: String,
        version: u64,
        update: bool,
    },
    DeleteTag(String),
    Branch {
        name: String,
        version: u64,
    },
    DeleteBranch(String),
    Clone {
        name: String,
        version: u64,
    },
    /// From the old names of manifests to the new ones.
    Migrate,
}

/// In which order a step leaves rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Order {
    /// In that of the model.
    Exact,
    /// So many are, and then come others in any order.
    Prefix(usize),
}

/// What a step makes.
#[derive(Debug)]
pub enum Outcome {
    /// A new version.
    Version(Content, Order),
    /// The same rows in one, or more, or no new versions.
    Moved,
    /// It must be refused, and change nothing.
    Refused,
    /// No version. Names and histories change, which the model has done.
    Names,
}

impl Step {
    /// What it does to `history`, which is what `model` has there; changes what is no version.
    pub fn apply(&self, model: &mut Model, at: usize) -> Outcome {
        let history = &model.histories[at];
        let mut content = history.latest().clone();
        let version = history.last() + 1;
        let order = match self {
            Self::Append(new) => {
                let columns = content.columns.clone();
                content.rows.extend(new.rows.iter().map(|row| Row::new(new.fitted(row, &columns), version)));
                Order::Exact
            }
            Self::Overwrite(new) => {
                content.columns.clone_from(&new.columns);
                content.rows = new.rows.iter().map(|row| Row::new(row.clone(), version)).collect();
                Order::Exact
            }
            Self::Delete(filter) => {
                content.rows.retain(|row| !filter.holds(&row.values));
                Order::Exact
            }
            Self::Update { set, filter } => update(&mut content, set, filter, version),
            Self::Upsert { source, on, matched, insert, missing } => {
                let upsert = Upserting { source, on, matched, insert: *insert, missing };
                upsert.apply(&mut content, version)
            }
            Self::Add { column, within, origin } => {
                add(&mut content, column, within.as_ref(), origin, version);
                Order::Exact
            }
            Self::Drop(place) => {
                remove(&mut content, place);
                Order::Exact
            }
            Self::Rename(place, name) => {
                column_at(&mut content.columns, &place.at).name.clone_from(name);
                Order::Exact
            }
            Self::Cast(place, kind) => {
                column_at(&mut content.columns, &place.at).kind = kind.clone();
                for row in &mut content.rows {
                    row.updated = version;
                    if let Some(value) = place.value_mut(&mut row.values) {
                        *value = convert(value, kind);
                    }
                }
                Order::Exact
            }
            Self::Nullable(place, nullable) => {
                let null = |row: &Row| place.is_null_below(&row.values);
                if !nullable && content.rows.iter().any(null) {
                    return Outcome::Refused;
                }
                column_at(&mut content.columns, &place.at).nullable = *nullable;
                Order::Exact
            }
            Self::Compact { .. } => return Outcome::Moved,
            Self::Config(key, value) => {
                match value {
                    Some(value) => content.config.insert(key.clone(), value.clone()),
                    None => content.config.remove(key),
                };
                Order::Exact
            }
            Self::Restore(old) => {
                content = history.versions[old].clone();
                Order::Exact
            }
            names => {
                names.rename(model, at);
                return Outcome::Names;
            }
        };
        Outcome::Version(content, order)
    }

    /// Changes what is no version.
    fn rename(&self, model: &mut Model, at: usize) {
        let held = model.held(at);
        let history = &mut model.histories[at];
        let branch = history.branch.clone();
        match self {
            Self::CleanUp(keep) => {
                let first = (history.last() + 1).saturating_sub(*keep);
                history.versions.retain(|version, _| *version >= first || held.contains(version));
            }
            Self::Tag { name, version, .. } => {
                model.tags.insert(name.clone(), (branch, *version));
            }
            Self::DeleteTag(name) => {
                model.tags.remove(name);
            }
            Self::Branch { name, version } => {
                let new =
                    History { branch: Some(name.clone()), parent: branch, ..history.begun_at(*version) };
                model.histories.push(new);
            }
            Self::DeleteBranch(name) => {
                model.histories.retain(|history| history.branch.as_ref() != Some(name));
            }
            Self::Clone { name, version } => {
                let path = history.path.with_file_name(name);
                let new = History { path, branch: None, parent: None, ..history.begun_at(*version) };
                model.histories.push(new);
            }
            Self::Migrate => model.old_names = false,
            _ => {}
        }
    }
}

impl History {
    fn begun_at(&self, version: u64) -> Self {
        let mut new = self.clone();
        new.versions.retain(|own, _| *own == version);
        new.began = version;
        let ids = new.latest().rows.iter().filter_map(|row| row.id);
        new.ids = ids.max().map_or(0, |id| id + 1);
        new
    }
}

impl Place {
    /// Whether it is null where what is around it is not.
    fn is_null_below(&self, row: &[Value]) -> bool {
        let around = Place { at: self.at[..self.at.len() - 1].to_vec(), ..self.clone() };
        *self.value(row) == Value::Null && (self.is_top() || *around.value(row) != Value::Null)
    }
}

impl Rows {
    /// `row` with `columns`; what is missing is null.
    fn fitted(&self, row: &[Value], columns: &[Column]) -> Vec<Value> {
        let at = |name: &str| self.columns.iter().position(|own| own.name == name);
        columns.iter().map(|column| at(&column.name).map_or(Value::Null, |at| row[at].clone())).collect()
    }
}

fn update(content: &mut Content, set: &[(Place, Formula)], filter: &Predicate, version: u64) -> Order {
    let (mut moved, mut kept) = (vec![], vec![]);
    for mut row in std::mem::take(&mut content.rows) {
        if !filter.holds(&row.values) {
            kept.push(row);
            continue;
        }
        let old = row.values.clone();
        for (place, formula) in set {
            if let Some(value) = place.value_mut(&mut row.values) {
                *value = convert(&formula.of(&old), &place.kind);
            }
        }
        row.updated = version;
        moved.push(row);
    }
    let order = Order::Prefix(kept.len());
    content.rows = [kept, moved].concat();
    order
}

fn add(content: &mut Content, column: &Column, within: Option<&Place>, origin: &Origin, version: u64) {
    for (at, row) in content.rows.iter_mut().enumerate() {
        let value = match origin {
            Origin::Null => Value::Null,
            Origin::Formula(formula) => formula.of(&row.values),
            Origin::Aligned(values, _) => values[at].clone(),
            Origin::Joined(key, pairs) => {
                let key = key.value(&row.values);
                let found = pairs.iter().find(|(own, _)| own == key && *own != Value::Null);
                found.map_or(Value::Null, |(_, value)| value.clone())
            }
        };
        match within {
            None => row.values.push(value),
            Some(outer) => {
                if let Some(Value::Struct(members)) = outer.value_mut(&mut row.values) {
                    members.push(value);
                }
            }
        }
        if !matches!(origin, Origin::Null) {
            row.updated = version;
        }
    }
    match within {
        None => content.columns.push(column.clone()),
        Some(outer) => match &mut column_at(&mut content.columns, &outer.at).kind {
            Kind::Struct(members) => members.push(column.clone()),
            other => panic!("{other:?} has no members"),
        },
    }
}

fn remove(content: &mut Content, place: &Place) {
    let (last, above) = place.at.split_last().unwrap();
    if above.is_empty() {
        content.columns.remove(*last);
        content.rows.iter_mut().for_each(|row| drop(row.values.remove(*last)));
        return;
    }
    let outer = Place { at: above.to_vec(), ..place.clone() };
    for row in &mut content.rows {
        if let Some(Value::Struct(members)) = outer.value_mut(&mut row.values) {
            members.remove(*last);
        }
    }
    if let Kind::Struct(members) = &mut column_at(&mut content.columns, above).kind {
        members.remove(*last);
    }
}

fn column_at<'a>(columns: &'a mut [Column], at: &[usize]) -> &'a mut Column {
    let (first, rest) = at.split_first().unwrap();
    let column = &mut columns[*first];
    if rest.is_empty() {
        return column;
    }
    match &mut column.kind {
        Kind::Struct(members) => column_at(members, rest),
        other => panic!("{other:?} has no members"),
    }
}

/// A value as another type has it.
fn convert(value: &Value, kind: &Kind) -> Value {
    match (value, kind) {
        (Value::Int(number), Kind::Float32 | Kind::Float64) => Value::Float((*number as f64).to_bits()),
        (Value::Int(number), Kind::Text) => Value::Text(number.to_string()),
        _ => value.clone(),
    }
}
