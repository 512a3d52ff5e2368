//! Draws steps.

mod values;

use lance_footer::Version;

use super::formula::Formula;
use super::predicate::{Place, Predicate};
use super::step::{Matched, Missing, Origin, Rows};
use super::value::{Column, Kind, Value};
use super::{Content, Model, Step};
use crate::draw::Draw;
use values::{KEYS, column, has_struct, value};
pub use values::{columns, rows};

/// Who does a step.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Who {
    Ours,
    Theirs,
}

/// How many rows are written, and how many a fragment has at most.
fn written(draw: &mut Draw, columns: Vec<Column>, most: usize) -> Rows {
    let count = draw.below(most + 1);
    let rows = rows(draw, &columns, count);
    Rows { rows, columns, cut: 1 + draw.below(30) }
}

/// The rows of a new table.
pub fn first(draw: &mut Draw, version: Version) -> Rows {
    let columns = columns(draw, version);
    written(draw, columns, 80)
}

/// A step on the history at `at`, that `who` can do.
pub fn step(draw: &mut Draw, model: &Model, at: usize, number: usize, who: Who) -> Step {
    loop {
        if let Some(step) = try_step(draw, model, at, number, who) {
            return step;
        }
    }
}

/// None if what was drawn does not go.
fn try_step(draw: &mut Draw, model: &Model, at: usize, number: usize, who: Who) -> Option<Step> {
    let history = &model.histories[at];
    let content = history.latest();
    let version = model.version;
    let all = Place::all(&content.columns);
    let plain = Place::plain(&content.columns);
    // Those of which conditions and values are made.
    let places = if who == Who::Ours { &all } else { &plain };
    let place = all[draw.below(all.len())].clone();
    let fresh = format!("n{number}");
    let many = content.rows.len() > 250;
    let step = match draw.below(100) {
        0..14 if !many => Step::Append(appended(draw, content)),
        14..16 => {
            let columns = columns(draw, version);
            Step::Overwrite(written(draw, columns, 60))
        }
        16..18 => Step::Overwrite(written(draw, content.columns.clone(), 60)),
        18..29 => Step::Delete(predicate(draw, places, 2)),
        29..38 => {
            let filter = predicate(draw, places, 1);
            Step::Update { set: assignments(draw, places, who)?, filter }
        }
        38..50 if !many => upsert(draw, content, places)?,
        50..64 => added(draw, model, content, places, fresh, who)?,
        64..67 if place.at[0] > 0 => {
            let members = |outer: &Place| match &outer.kind {
                Kind::Struct(members) => members.len(),
                _ => 0,
            };
            let above = &place.at[..place.at.len() - 1];
            // A struct goes with its last member.
            let around = all.iter().find(|outer| outer.at == above).map_or(2, members);
            if around < 2 || content.columns.len() < 3 {
                return None;
            }
            Step::Drop(place)
        }
        67..70 => Step::Rename(place, fresh),
        70..74 => cast(draw, version, place, who)?,
        74..76 if !(version == Version::V2_0 && matches!(place.kind, Kind::Struct(_))) => {
            let nullable = !place.nullable;
            // The reference takes a struct that is null for a null in its members.
            if who == Who::Theirs && place.hidden && !nullable {
                return None;
            }
            Step::Nullable(place, nullable)
        }
        76..83 => {
            let target = [5, 20, 60, 1 << 20][draw.below(4)];
            Step::Compact { target, threshold: [0.0, 0.1, 0.5, 1.0][draw.below(4)] }
        }
        83..86 => {
            let key = format!("key{}", draw.below(3));
            let value = draw.chance(70).then(|| format!("value {number}"));
            if value.is_none() && !content.config.contains_key(&key) {
                return None;
            }
            Step::Config(key, value)
        }
        86..89 => Step::Restore(some_version(draw, model, at)),
        kind => names(draw, model, at, number, kind)?,
    };
    Some(step)
}

fn some_version(draw: &mut Draw, model: &Model, at: usize) -> u64 {
    let versions = model.histories[at].versions.keys().collect::<Vec<_>>();
    *versions[draw.below(versions.len())]
}

/// Tags, branches and the like.
fn names(draw: &mut Draw, model: &Model, at: usize, number: usize, kind: usize) -> Option<Step> {
    let own = model.is_own(at);
    let version = some_version(draw, model, at);
    let step = match kind {
        89..91 if own => Step::Tag { name: format!("tag-{number}"), version, update: false },
        91 if own => {
            let name = model.tags.keys().nth(draw.below(model.tags.len().max(1)))?;
            Step::Tag { name: name.clone(), version, update: true }
        }
        92 if own => Step::DeleteTag(model.tags.keys().nth(draw.below(model.tags.len().max(1)))?.clone()),
        93..95 if own && model.histories.len() < 4 => {
            let name = if draw.chance(50) { format!("dev/{number}") } else { format!("branch-{number}") };
            Step::Branch { name, version }
        }
        95 if own => {
            let branches = model.histories.iter().filter_map(|history| history.branch.clone());
            let free = branches.filter(|name| {
                let used = |branch: &Option<String>| branch.as_ref() == Some(name);
                let begun = model.histories.iter().any(|history| used(&history.parent));
                !begun && !model.tags.values().any(|(branch, _)| used(branch))
            });
            let free = free.collect::<Vec<_>>();
            Step::DeleteBranch(free.get(draw.below(free.len().max(1)))?.clone())
        }
        96 if model.histories.len() < 4 => Step::Clone { name: format!("clone-{number}"), version },
        97 if model.old_names && at == 0 => Step::Migrate,
        97..100 => {
            // What is cloned must not lose files, which nobody can know.
            let cloned = (0..model.histories.len()).any(|other| !model.is_own(other));
            if cloned {
                return None;
            }
            Step::CleanUp(1 + draw.below(4) as u64)
        }
        _ => return None,
    };
    Some(step)
}

/// Some columns are missing that may be null.
fn appended(draw: &mut Draw, content: &Content) -> Rows {
    let columns = some_columns(draw, content, 0);
    written(draw, columns, 30)
}

/// The column at `always`, and all or some of the others, in any order.
fn some_columns(draw: &mut Draw, content: &Content, always: usize) -> Vec<Column> {
    let all = draw.chance(60);
    let mut columns = content.columns.iter().enumerate().filter_map(|(at, column)| {
        let stays = all || at == 0 || at == always || !column.nullable || draw.chance(60);
        stays.then(|| column.clone())
    });
    let mut columns = columns.by_ref().collect::<Vec<_>>();
    if draw.chance(30) {
        columns.reverse();
    }
    columns
}

fn upsert(draw: &mut Draw, content: &Content, places: &[Place]) -> Option<Step> {
    let keys = places.iter().filter(|place| place.is_top());
    let keys = keys.filter(|place| place.kind.is_int() || place.kind == Kind::Text).collect::<Vec<_>>();
    let key = *keys.get(draw.below(keys.len().max(1)))?;
    let columns = some_columns(draw, content, key.at[0]);
    let mut source = written(draw, columns, 40);
    let at = source.columns.iter().position(|column| column.name == key.path).unwrap();
    let mut seen = std::collections::BTreeSet::new();
    source.rows.retain(|row| row[at] == Value::Null || seen.insert(row[at].clone()));
    let matched = match draw.below(5) {
        0 => Matched::Keep,
        1 => Matched::UpdateIf(predicate(draw, &Place::plain(&source.columns), 1)),
        _ => Matched::Update,
    };
    let missing = match draw.below(6) {
        0 => Missing::Delete,
        1 => Missing::DeleteIf(predicate(draw, places, 1)),
        _ => Missing::Keep,
    };
    let insert = draw.chance(75);
    let nothing = matches!(matched, Matched::Keep) && !insert && matches!(missing, Missing::Keep);
    (!nothing).then(|| Step::Upsert { on: key.path.clone(), source, matched, insert, missing })
}

fn assignments(draw: &mut Draw, places: &[Place], who: Who) -> Option<Vec<(Place, Formula)>> {
    // The reference sets columns only.
    let places = places.iter().filter(|place| place.is_top() || who == Who::Ours).collect::<Vec<_>>();
    let mut set: Vec<(Place, Formula)> = vec![];
    // The reference takes new values of other columns where it has them already.
    let most = if who == Who::Ours { 2 } else { 1 };
    for _ in 0..1 + draw.below(most) {
        let place = places[draw.below(places.len())];
        if set.iter().any(|(other, _)| other.at[0] == place.at[0]) {
            continue;
        }
        let others = places.iter().filter(|other| other.kind == place.kind);
        let others = others.filter(|other| place.nullable || (other.is_top() && !other.nullable));
        let others = others.collect::<Vec<_>>();
        let simple = place.kind.is_int() || matches!(place.kind, Kind::Bool | Kind::Text);
        let formula = match draw.below(4) {
            0 if place.nullable => Formula::Literal(Value::Null),
            1 if !others.is_empty() => Formula::Copy((*others[draw.below(others.len())]).clone()),
            2 if place.kind.is_int() => Formula::Plus(place.clone(), 1 + draw.below(3) as i64),
            2 if place.kind == Kind::Text => Formula::Upper(place.clone()),
            _ if simple => {
                let column = Column { name: String::new(), kind: place.kind.clone(), nullable: false };
                Formula::Literal(value(draw, &column))
            }
            _ => return None,
        };
        set.push((place.clone(), formula));
    }
    Some(set)
}

fn added(
    draw: &mut Draw,
    model: &Model,
    content: &Content,
    places: &[Place],
    name: String,
    who: Who,
) -> Option<Step> {
    let version = model.version;
    // The reference has no such paths for new columns.
    let structs = places.iter().filter(|place| matches!(place.kind, Kind::Struct(_)));
    let structs = structs.collect::<Vec<_>>();
    let inside = who == Who::Ours && version != Version::V2_0 && !structs.is_empty() && draw.chance(40);
    let within = inside.then(|| structs[draw.below(structs.len())].clone());
    let keys = places.iter().filter(|place| place.is_top() && place.kind.is_int()).collect::<Vec<_>>();
    let (column, origin) = match draw.below(4) {
        0 => {
            let column = Column { nullable: true, ..column(draw, name, version, 0) };
            if version == Version::V2_0 && matches!(column.kind, Kind::Struct(_)) {
                return None;
            }
            (column, Origin::Null)
        }
        1 => {
            let formula = formula(draw, places)?;
            (Column::new(name, formula.kind()), Origin::Formula(formula))
        }
        2 => {
            let column = column(draw, name, version, 0);
            // The reference panics where rows are deleted.
            if who == Who::Theirs && has_struct(&column.kind) {
                return None;
            }
            let values = content.rows.iter().map(|_| value(draw, &column)).collect();
            (column, Origin::Aligned(values, 1 + draw.below(40)))
        }
        _ => {
            let key = (*keys.get(draw.below(keys.len().max(1)))?).clone();
            let column = Column { nullable: true, ..column(draw, name, version, 0) };
            if matches!(column.kind, Kind::Struct(_)) && version == Version::V2_0 {
                return None;
            }
            let partners = (-5..KEYS).filter(|_| draw.chance(60)).collect::<Vec<_>>();
            let pairs = partners.into_iter().map(|key| (Value::Int(key), value(draw, &column)));
            (column.clone(), Origin::Joined(key, pairs.collect()))
        }
    };
    // See `kind`.
    (within.is_none() || column.kind != Kind::Bool).then_some(Step::Add { column, within, origin })
}

fn formula(draw: &mut Draw, places: &[Place]) -> Option<Formula> {
    let place = places[draw.below(places.len())].clone();
    Some(match draw.below(4) {
        0 => Formula::IsNull(place),
        1 if place.kind == Kind::Text => Formula::Upper(place),
        2 if place.kind == Kind::Text => Formula::Or(place, Value::Text("none".into())),
        2 if place.kind == Kind::Int64 => Formula::Or(place, Value::Int(7)),
        _ if place.kind.is_int() => Formula::Plus(place, draw.below(4) as i64),
        _ if !matches!(place.kind, Kind::Struct(_) | Kind::Word) => Formula::Copy(place),
        _ => return None,
    })
}

fn cast(draw: &mut Draw, version: Version, place: Place, who: Who) -> Option<Step> {
    // The reference cannot read what it writes then.
    if who == Who::Theirs && version == Version::V2_0 && !place.is_top() {
        return None;
    }
    let to = match &place.kind {
        kind if kind.is_int() => {
            // The reference makes no other types of them.
            let all = [Kind::Int16, Kind::Int32, Kind::Int64, Kind::Float64, Kind::Text];
            let others = all.into_iter().filter(|to| to != kind && (who == Who::Ours || to.is_int()));
            let others = others.collect::<Vec<_>>();
            others[draw.below(others.len())].clone()
        }
        Kind::Float32 => Kind::Float64,
        Kind::Float64 => Kind::Float32,
        _ => return None,
    };
    // The first column stays an integer.
    (place.at[0] > 0 || to.is_int()).then_some(Step::Cast(place, to))
}

/// A condition on `places`.
pub fn predicate(draw: &mut Draw, places: &[Place], depth: usize) -> Predicate {
    let place = places[draw.below(places.len())].clone();
    let not_null = Column { name: String::new(), kind: place.kind.clone(), nullable: false };
    let inner = |draw: &mut Draw| Box::new(predicate(draw, places, depth - 1));
    let compared = place.kind.is_int() || matches!(place.kind, Kind::Text | Kind::Float32 | Kind::Float64);
    match draw.below(12) {
        0 | 1 if depth > 0 => Predicate::And(inner(draw), inner(draw)),
        2 | 3 if depth > 0 => Predicate::Or(inner(draw), inner(draw)),
        4 if depth > 0 => Predicate::Not(inner(draw)),
        5 if draw.chance(15) => Predicate::Always(draw.chance(50)),
        6 if place.kind.is_int() || place.kind == Kind::Text => {
            let values = (0..1 + draw.below(4)).map(|_| value(draw, &not_null));
            Predicate::In(place, values.collect())
        }
        7 if place.kind.is_int() => {
            let from = draw.below(KEYS as usize) as i64 - 5;
            Predicate::Between(place, Value::Int(from), Value::Int(from + draw.below(12) as i64))
        }
        8 if place.kind == Kind::Text => Predicate::Begins(place, ["a", "日", "gr"][draw.below(3)].into()),
        _ if place.kind == Kind::Bool => {
            Predicate::Compare(place, ["=", "<>"][draw.below(2)], Value::Bool(draw.chance(50)))
        }
        _ if compared => {
            let op = ["=", "<>", "<", "<=", ">", ">="][draw.below(6)];
            let literal = match place.kind.is_float() {
                true => Value::Float([0.5_f64, -2.5, 2000.0][draw.below(3)].to_bits()),
                false => value(draw, &not_null),
            };
            Predicate::Compare(place, op, literal)
        }
        _ => Predicate::IsNull(place, draw.chance(60)),
    }
}
