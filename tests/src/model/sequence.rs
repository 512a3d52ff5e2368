//! A sequence of steps from a seed, with all that is compared.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use lance_footer::Version;
use lance_io::Store;

use super::draw::{self, Who};
use super::look::{Asked, Seen, equal, equal_rows};
use super::predicate::{Place, Predicate};
use super::step::{Order, Origin, Outcome};
use super::value::schema;
use super::{Content, History, Model, Row, Step, ours, theirs};
use crate::draw::Draw;
use crate::oracle::Session;
use crate::{same, verified};

/// What a sequence needs while it runs.
#[derive(Debug)]
pub struct Sequence<'a> {
    draw: Draw,
    session: Option<&'a mut Session>,
    place: &'a Path,
    model: Model,
    /// What was done, a line each.
    pub done: Vec<String>,
}

impl<'a> Sequence<'a> {
    /// One with a new table in `place`. Without a session all steps are done by us.
    pub fn new(seed: u64, place: &'a Path, session: Option<&'a mut Session>) -> Self {
        let mut draw = Draw::new(seed);
        let version = [Version::V2_0, Version::V2_1, Version::V2_2, Version::V2_2][draw.below(4)];
        let (stable, old_names) = (draw.chance(50), draw.chance(15));
        let history = History {
            path: place.join("table"),
            branch: None,
            parent: None,
            began: 1,
            versions: BTreeMap::new(),
            ids: 0,
        };
        let histories = vec![history];
        let model = Model { version, old_names, stable, histories, tags: BTreeMap::new() };
        Self { draw, session, place, model, done: vec![] }
    }

    /// Makes the table and changes it.
    pub async fn run(&mut self) -> Result<(), String> {
        self.create().await?;
        for number in 1..=10 + self.draw.below(16) {
            self.step(number).await?;
        }
        self.verify().await
    }

    async fn create(&mut self) -> Result<(), String> {
        let who = self.who();
        let rows = draw::first(&mut self.draw, self.model.version);
        let Model { version, stable, old_names, .. } = self.model;
        self.done.push(format!(
            "{who:?} create: files of {version}, stable row ids {stable}, old names {old_names}, {rows:?}"
        ));
        let path = self.model.histories[0].path.clone();
        match (who, &mut self.session) {
            (Who::Theirs, Some(session)) => {
                let job = theirs::create(&path, &rows, version, stable, old_names, self.place);
                session.ask(&job).map(drop)?;
            }
            _ => {
                let made = ours::create(&path, &rows, version, stable, old_names).await;
                made.map_err(|error| format!("ours: {error}"))?;
            }
        }
        let made = rows.rows.iter().map(|row| Row::new(row.clone(), 1)).collect();
        let content = Content { columns: rows.columns.clone(), rows: made, config: BTreeMap::new() };
        self.model.histories[0].versions.insert(1, content);
        self.adopt(0, Order::Exact).await
    }

    fn who(&mut self) -> Who {
        if self.draw.chance(50) { Who::Ours } else { Who::Theirs }
    }

    async fn step(&mut self, number: usize) -> Result<(), String> {
        let who = self.who();
        let many = self.model.histories.len();
        let at = if self.draw.chance(60) { 0 } else { self.draw.below(many) };
        let step = draw::step(&mut self.draw, &self.model, at, number, who);
        let history = self.model.histories[at].clone();
        let name = history.branch.clone().unwrap_or_else(|| history.path.display().to_string());
        self.done.push(format!("{number}, version {} of {name}: {who:?} {step:?}", history.last()));
        let outcome = step.apply(&mut self.model, at);
        let result = match (who, &mut self.session) {
            (Who::Theirs, Some(session)) => session.ask(&theirs::job(&step, &history, self.place)).map(drop),
            _ => ours::take(&step, &history).await.map_err(|error| error.to_string()),
        };
        match outcome {
            Outcome::Version(content, order) => {
                result?;
                let mut content = content;
                if let Step::Add { origin: Origin::Formula(_), within: None, .. } = &step {
                    // Whether it may be null is inferred, or always said.
                    let table = ours::open(&history, None).await.map_err(|error| error.to_string())?;
                    let made = table.arrow_schema().fields().last().is_some_and(|field| field.is_nullable());
                    content.columns.last_mut().unwrap().nullable = made;
                }
                self.model.histories[at].versions.insert(history.last() + 1, content);
                self.adopt(at, order).await?;
            }
            Outcome::Moved => {
                result?;
                let table = ours::open(&history, None).await.map_err(|error| format!("ours: {error}"))?;
                let mut content = history.latest().clone();
                content.rows.sort();
                let versions = &mut self.model.histories[at].versions;
                // A version that reserves fragment ids comes first.
                for version in history.last() + 1..=table.version() {
                    let content = if version == table.version() { &content } else { history.latest() };
                    versions.insert(version, content.clone());
                }
                let moved = table.version() > history.last();
                self.adopt(at, if moved { Order::Prefix(0) } else { Order::Exact }).await?;
            }
            Outcome::Refused => {
                if result.is_ok() {
                    return Err("was not refused".into());
                }
                self.adopt(at, Order::Exact).await?;
            }
            Outcome::Names => {
                result?;
                let at = if at < self.model.histories.len() { at } else { 0 };
                self.adopt(at, Order::Exact).await?;
                if matches!(step, Step::CleanUp(_)) {
                    self.all().await?;
                }
                if matches!(step, Step::Branch { .. } | Step::Clone { .. }) {
                    self.adopt(self.model.histories.len() - 1, Order::Exact).await?;
                }
            }
        }
        self.names().await?;
        // Now and then an old version, or that of a tag, or another branch.
        if self.draw.chance(25) {
            self.old().await?;
        }
        Ok(())
    }

    /// Compares the latest version of a history with what is read, and takes over in which order rows came to lie and
    /// which ids they got, where that is left open.
    async fn adopt(&mut self, at: usize, order: Order) -> Result<(), String> {
        let asked = self.asked(at);
        let history = &self.model.histories[at];
        let seen = Seen::ours(history, None, &asked).await.map_err(|error| format!("ours: {error}"))?;
        let version = history.last();
        equal("version", &seen.version, &version)?;
        let content = history.latest();
        same::check_schema(&seen.schema, &schema(&content.columns))
            .map_err(|error| format!("ours: {error}"))?;
        let rows = settled(&content.rows, &seen.rows, order, history.ids, asked.stable);
        let rows = rows.map_err(|error| format!("ours: {error}"))?;
        let history = &mut self.model.histories[at];
        let most = rows.iter().filter_map(|row| row.id).max().map_or(0, |id| id + 1);
        history.ids = history.ids.max(most);
        history.versions.entry(version).and_modify(|content| content.rows = rows);
        check(&self.model.histories[at], version, &asked, &seen).map_err(|error| format!("ours: {error}"))?;
        self.compare(at, None, &asked, &seen)
    }

    fn asked(&mut self, at: usize) -> Asked {
        let content = self.model.histories[at].latest();
        let rows = self.draw.rows(content.rows.len() as u64, 5);
        self.asked_of(at, self.model.histories[at].last(), rows)
    }

    fn asked_of(&mut self, at: usize, version: u64, rows: Vec<u64>) -> Asked {
        let places = Place::plain(&self.model.histories[at].versions[&version].columns);
        Asked { rows, filter: draw::predicate(&mut self.draw, &places, 2), stable: self.model.stable }
    }

    /// Whether the reference reads the same as we do.
    fn compare(&mut self, at: usize, version: Option<u64>, asked: &Asked, seen: &Seen) -> Result<(), String> {
        let Some(session) = &mut self.session else { return Ok(()) };
        let theirs = Seen::theirs(session, &self.model.histories[at], version, asked, self.place);
        theirs
            .and_then(|theirs| theirs.check(seen))
            .map_err(|error| format!("theirs: {error}; rows {:?}, filter {}", asked.rows, asked.filter))
    }

    /// Reads some version.
    async fn old(&mut self) -> Result<(), String> {
        let at = self.draw.below(self.model.histories.len());
        let versions = self.model.histories[at].versions.keys().copied().collect::<Vec<_>>();
        let version = versions[self.draw.below(versions.len())];
        self.version(at, version).await
    }

    /// Reads all versions.
    async fn all(&mut self) -> Result<(), String> {
        for at in 0..self.model.histories.len() {
            let versions = self.model.histories[at].versions.keys().copied().collect::<Vec<_>>();
            for version in versions {
                self.version(at, version).await?;
            }
        }
        Ok(())
    }

    async fn version(&mut self, at: usize, version: u64) -> Result<(), String> {
        let count = self.model.histories[at].versions[&version].rows.len();
        let rows = self.draw.rows(count as u64, 3);
        let asked = self.asked_of(at, version, rows);
        let history = &self.model.histories[at];
        let named = |error: String| format!("version {version} of {:?}: {error}", history.reference(None));
        let seen = Seen::ours(history, Some(version), &asked).await;
        let seen = seen.map_err(|error| named(format!("ours: {error}")))?;
        check(history, version, &asked, &seen).map_err(|error| named(format!("ours: {error}")))?;
        let compared = self.compare(at, Some(version), &asked, &seen);
        compared.map_err(|error| format!("version {version} of history {at}: {error}"))
    }

    /// Compares the names of tags and branches.
    async fn names(&mut self) -> Result<(), String> {
        let table = ours::open(&self.model.histories[0], None).await.map_err(|error| error.to_string())?;
        let tags = table.tags().await.map_err(|error| error.to_string())?;
        let tags = tags.into_iter().map(|tag| (tag.name, (tag.branch, tag.version))).collect();
        equal("tags", &tags, &self.model.tags)?;
        let branches = table.branches().await.map_err(|error| error.to_string())?;
        let branches =
            branches.into_iter().map(|branch| (branch.name, (branch.parent, branch.parent_version)));
        let own =
            self.model.histories.iter().filter_map(|history| {
                Some((history.branch.clone()?, (history.parent.clone(), history.began)))
            });
        equal("branches", &branches.collect::<BTreeMap<_, _>>(), &own.collect())
    }

    /// Sees that the files of all histories are sound, and reads the versions of tags.
    async fn verify(&mut self) -> Result<(), String> {
        for (name, (branch, version)) in self.model.tags.clone() {
            let of = self.model.histories.iter().position(|history| history.branch == branch).unwrap();
            self.version(of, version).await.map_err(|error| format!("tag {name}: {error}"))?;
        }
        for history in &self.model.histories {
            let root = match &history.branch {
                Some(branch) => history.path.join("tree").join(branch),
                None => history.path.clone(),
            };
            let (_, problems, _) = verified::table(&Store::local(root), None).await;
            equal("problems", &problems, &vec![])?;
        }
        Ok(())
    }
}

/// What `seen` has other than the model.
fn check(history: &History, version: u64, asked: &Asked, seen: &Seen) -> Result<(), String> {
    let content = &history.versions[&version];
    same::check_schema(&seen.schema, &schema(&content.columns))?;
    equal("version", &seen.version, &version)?;
    equal("config", &seen.config, &content.config)?;
    let versions = history.versions.keys().copied().collect();
    equal("versions", &seen.versions, &versions)?;
    match asked.stable {
        true => equal_rows("rows", &seen.rows, &content.rows)?,
        false => equal_rows("rows", &values(&seen.rows), &values(&content.rows))?,
    }
    let all = values(&content.rows);
    let taken = asked.rows.iter().map(|row| all[*row as usize].clone()).collect::<Vec<_>>();
    equal_rows("rows taken", &seen.taken, &taken)?;
    let filtered = passing(&asked.filter, &all);
    equal_rows("rows that pass", &seen.filtered, &filtered)?;
    equal("counts", &seen.counts, &[all.len() as u64, filtered.len() as u64])
}

fn values(rows: &[Row]) -> Vec<Vec<super::Value>> {
    rows.iter().map(|row| row.values.clone()).collect()
}

fn passing(filter: &Predicate, rows: &[Vec<super::Value>]) -> Vec<Vec<super::Value>> {
    rows.iter().filter(|row| filter.holds(row)).cloned().collect()
}

/// The rows of the model in the order in which they are `seen`, with the ids that they got; or how they differ.
fn settled(model: &[Row], seen: &[Row], order: Order, ids: u64, stable: bool) -> Result<Vec<Row>, String> {
    equal("how many rows", &seen.len(), &model.len())?;
    let prefix = match order {
        Order::Exact => model.len(),
        Order::Prefix(count) => count,
    };
    let mut rows = model.to_vec();
    if !stable {
        rows[prefix..].sort();
        let mut others = values(&seen[prefix..]);
        others.sort();
        equal_rows("rows", &values(&seen[..prefix]), &values(&rows[..prefix]))?;
        equal_rows("sorted rows", &others, &{
            let mut own = values(&rows[prefix..]);
            own.sort();
            own
        })?;
        for (row, seen) in rows.iter_mut().zip(seen) {
            row.values.clone_from(&seen.values);
        }
        return Ok(rows);
    }
    // Rows that have ids already are known by them.
    let known = model.iter().filter_map(|row| row.id).collect::<BTreeSet<_>>();
    let fresh = |row: &Row| !row.id.is_some_and(|id| known.contains(&id));
    for row in seen.iter().filter(|row| fresh(row)) {
        if row.id.is_none_or(|id| id < ids) {
            return Err(format!("a new row has the id of another: {row:?}, of {ids}"));
        }
    }
    let distinct = seen.iter().filter_map(|row| row.id).collect::<BTreeSet<_>>();
    equal("how many ids", &distinct.len(), &seen.len())?;
    let without = |row: &Row| Row { id: row.id.filter(|id| known.contains(id)), ..row.clone() };
    let mut others = seen.iter().map(without).collect::<Vec<_>>();
    rows[prefix..].sort();
    others[prefix..].sort();
    equal_rows("rows", &others, &rows)?;
    Ok(seen.to_vec())
}
