//! The life of a table, step by step: what each step writes and leaves untouched, and which files each version names
//! afterwards.

use std::time::Instant;

use anyhow::Result;
use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef};
use arrow_cast::display::array_value_to_string;
use arrow_schema::DataType;
use demilance::table::{At, CommitOptions, OpenOptions, Reference, Table, WriteMode, WriteOptions};
use demilance::{CleanupOptions, ColumnOptions, CompactionOptions, Expr, NewColumns};

use super::batch::{self, leaves};
use super::ledger::Ledger;
use super::random::Random;
use super::recording::Part;
use crate::{cleanup, diff, import, place, quantity};

/// The tag that the story makes.
const TAG: &str = "train-v1";

/// A table in the making.
pub(super) struct Story<'a> {
    location: &'a str,
    ledger: Ledger,
    step: u32,
}

impl<'a> Story<'a> {
    pub(super) fn new(location: &'a str) -> Self {
        Self { location, ledger: Ledger::default(), step: 0 }
    }

    /// Tells it from the first part to the training batches, which have `rows` rows.
    pub(super) async fn tell(&mut self, parts: Vec<Part>, rows: u64, random: &mut Random) -> Result<()> {
        self.import(parts).await?;
        self.add_column().await?;
        self.delete().await?;
        self.tag().await?;
        self.compact(rows, random).await?;
        self.clean_up().await?;
        self.title("training batches", "")?;
        batch::read(self.location, rows, random).await
    }

    async fn import(&mut self, parts: Vec<Part>) -> Result<()> {
        let mut mode = WriteMode::Create;
        for part in parts {
            let step = if matches!(mode, WriteMode::Create) { "import" } else { "import --mode append" };
            self.title(step, &part.what)?;
            let before = match mode {
                WriteMode::Create => None,
                _ => Some(self.open().await?),
            };
            let options = WriteOptions { mode, ..WriteOptions::default() };
            let written = import::write(&place::store(self.location)?, (part.start)()?, options).await?;
            self.say(&written.line())?;
            self.changed(before.as_ref(), &written.table).await?;
            mode = WriteMode::Append;
        }
        Ok(())
    }

    async fn add_column(&mut self) -> Result<()> {
        let before = self.open().await?;
        let Some((name, expr)) = new_column(&before) else { return Ok(()) };
        self.title(&format!("add-column --name {name} --expr \"{expr}\""), "")?;
        let start = Instant::now();
        let columns = NewColumns::expressions([(name, expr)]);
        let after = before.add_columns(columns, &ColumnOptions::default()).await?;
        let what = format!("one small file beside each fragment{}", images(&before));
        self.say(&format!("{what}, in {}", quantity::time(start.elapsed())))?;
        self.changed(Some(&before), &after).await
    }

    async fn delete(&mut self) -> Result<()> {
        let before = self.open().await?;
        let Some(filter) = some_rows(&before).await? else { return Ok(()) };
        self.title(&format!("delete --where \"{filter}\""), "")?;
        let start = Instant::now();
        let deleted = before.delete(&filter, &CommitOptions::default()).await?;
        let rows = quantity::of(deleted.rows, "row");
        self.say(&format!("{rows} gone by a list of them, in {}", quantity::time(start.elapsed())))?;
        self.changed(Some(&before), &deleted.table).await
    }

    async fn tag(&mut self) -> Result<()> {
        let table = self.open().await?;
        self.title(&format!("tag create {TAG}"), "")?;
        let tag = table.create_tag(TAG).await?;
        self.say(&format!("version {} is what is trained on; it stays as it is", tag.version))?;
        self.files(&table).await
    }

    async fn compact(&mut self, rows: u64, random: &mut Random) -> Result<()> {
        let before = self.open().await?;
        self.title("compact --threshold 0", "")?;
        let start = Instant::now();
        let options = CompactionOptions { threshold: 0.0, ..CompactionOptions::default() };
        let done = before.compact(&options).await?.complete()?;
        if done.groups.is_empty() {
            return self.say("nothing to do: the fragments are large, and no row of them is deleted");
        }
        let new = done.groups.iter().map(|group| group.new_fragments().len() as u64).sum();
        let old = done.groups.iter().map(|group| group.old().len() as u64).sum();
        let (old, new) = (quantity::of(old, "fragment"), quantity::of(new, "fragment"));
        let took = quantity::time(start.elapsed());
        let aside = done.table.version().saturating_sub(1);
        self.say(&format!("{old} became {new}, in {took}; version {aside} only sets a number aside for it"))?;
        self.changed(Some(&before), &done.table).await?;

        let reference = Reference { at: At::Tag(TAG.into()), ..Reference::default() };
        let store = place::store(self.location)?;
        let tagged = Table::open_at(store, &reference, OpenOptions::default()).await?;
        let picked = batch::pick(random, rows, tagged.rows());
        let read = tagged.take(&picked, None, false).await?;
        let read = quantity::of(read.num_rows() as u64, "random row");
        self.say(&format!("{TAG} still has its {}: {read} read from the old files", total(&tagged)))
    }

    async fn clean_up(&mut self) -> Result<()> {
        self.title("cleanup --keep 1 --keep-tagged", "")?;
        self.remove_old().await?;
        self.title(&format!("tag delete {TAG}"), "and then cleanup --keep 1")?;
        self.open().await?.delete_tag(TAG).await?;
        self.remove_old().await
    }

    async fn remove_old(&mut self) -> Result<()> {
        let table = self.open().await?;
        let options = CleanupOptions {
            keep: Some(1),
            error_if_tagged_old_versions: false,
            ..CleanupOptions::default()
        };
        let done = table.clean_up(&options).await?;
        self.say(&format!("removed {}", cleanup::amount(&done.plan)))?;
        for held in &done.plan.held {
            self.say(&format!(
                "version {} and its files stay because of {}",
                held.version,
                held.by.join(", ")
            ))?;
        }
        self.files(&table).await
    }

    async fn open(&self) -> Result<Table> {
        Ok(Table::open(place::store(self.location)?, None).await?)
    }

    fn title(&mut self, command: &str, what: &str) -> Result<()> {
        self.step += 1;
        let colon = if what.is_empty() { "" } else { ": " };
        crate::print(&format!("{} {command}{colon}{what}\n", self.step))
    }

    fn say(&self, what: &str) -> Result<()> {
        crate::print(&format!("  {what}\n"))
    }

    /// What was written and left untouched, and the files of all versions.
    async fn changed(&mut self, before: Option<&Table>, after: &Table) -> Result<()> {
        self.say(&diff::summary(&after.changes_since(before).await?))?;
        self.files(after).await
    }

    async fn files(&mut self, table: &Table) -> Result<()> {
        crate::print(&self.ledger.lines(table).await?)
    }
}

fn total(table: &Table) -> String {
    quantity::of(table.rows(), "row")
}

/// What is left alone, where it is large.
fn images(table: &Table) -> &'static str {
    let leaves = leaves(table.arrow_schema().fields(), "");
    match leaves.iter().any(|(_, data_type)| batch::is_binary(data_type)) {
        true => "; no image is read or written",
        false => "",
    }
}

/// A column that the table does not have, and its values.
fn new_column(table: &Table) -> Option<(&'static str, Expr)> {
    let leaves = leaves(table.arrow_schema().fields(), "");
    let has = |name: &str| leaves.iter().any(|(path, _)| path == name);
    let (name, text) = match has("frame_index") {
        true => ("early", "frame_index < 30".to_string()),
        false => ("known", format!("{} IS NOT NULL", quoted(&leaves.first()?.0))),
    };
    let fields = table.arrow_schema();
    let name = [name, "known_2", "known_3"].into_iter().find(|name| fields.index_of(name).is_err())?;
    Some((name, Expr::parse(&text).ok()?))
}

/// A filter that some rows pass, but not all: those of an episode, if there are any.
async fn some_rows(table: &Table) -> Result<Option<Expr>> {
    let mut leaves = leaves(table.arrow_schema().fields(), "");
    leaves.retain(|(_, data_type)| data_type.is_integer() || matches!(data_type, DataType::Utf8));
    leaves.sort_by_key(|(path, _)| path != "episode_index");
    let middle = [table.rows() / 2];
    for (path, _) in leaves {
        let batch = table.take(&middle, Some(std::slice::from_ref(&path)), false).await?;
        let Some(literal) = batch.columns().first().and_then(literal) else { continue };
        let Ok(filter) = Expr::parse(&format!("{} = {literal}", quoted(&path))) else { continue };
        if (1..table.rows()).contains(&table.count(&filter).await?) {
            return Ok(Some(filter));
        }
    }
    Ok(None)
}

/// The first value as filter text; none if it is null.
fn literal(array: &ArrayRef) -> Option<String> {
    let array = match array.data_type() {
        DataType::Struct(_) => return literal(array.as_struct().columns().first()?),
        _ => array,
    };
    if array.is_empty() || array.is_null(0) {
        return None;
    }
    let text = array_value_to_string(array, 0).ok()?;
    match array.data_type() {
        DataType::Utf8 => Some(format!("'{}'", text.replace('\'', "''"))),
        _ => Some(text),
    }
}

/// The path as filter text may have it.
fn quoted(path: &str) -> String {
    let names = path.split('.').map(|name| format!("`{}`", name.replace('`', "``")));
    names.collect::<Vec<_>>().join(".")
}
