//! The readers of top-level fields, opened when they are first needed and kept.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use arrow_schema::Field as ArrowField;
use lance_encoding::{DecodeBudget, FieldReader, Loaded, TableBudget, is_text_as_list, open_field};
use lance_footer::{Answer, Container, FormatError, Machine, Rows, Step};

use crate::{Field, Schema};

/// Readers by what they read. They hold the lookup tables of their pages, so this is the cache that makes a
/// second take cost no metadata read.
pub(crate) struct FieldCache {
    columns: HashMap<i32, u32>,
    budget: DecodeBudget,
    /// What the lookup tables of all readers may take.
    tables: Arc<TableBudget>,
    open: Mutex<HashMap<Key, Arc<dyn FieldReader>>>,
}

/// A part of a struct has a reader of its own: the field as projected, and the columns that it is in.
type Key = (ArrowField, Vec<u32>);

/// A field of a projection with its reader.
#[derive(Clone)]
pub(crate) struct OpenField {
    pub(crate) name: Arc<str>,
    pub(crate) reader: Arc<dyn FieldReader>,
}

impl FieldCache {
    pub(crate) fn new(columns: HashMap<i32, u32>, budget: DecodeBudget) -> Self {
        Self { columns, budget, tables: Arc::new(TableBudget::new(budget)), open: Mutex::default() }
    }

    pub(crate) const fn budget(&self) -> DecodeBudget {
        self.budget
    }

    pub(crate) const fn columns(&self) -> &HashMap<i32, u32> {
        &self.columns
    }

    pub(crate) fn weight(&self) -> usize {
        let open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        open.values().map(|reader| reader.weight()).sum()
    }

    /// The readers of the fields of `projection`, in order.
    pub(crate) fn open(
        &self,
        projection: &Schema,
        container: &Container,
        rows: u64,
    ) -> Result<Vec<OpenField>, FormatError> {
        let open = projection.fields.iter().map(|field| {
            let reader = self.open_one(field, container, rows);
            let reader = reader.map_err(|error| error.within(format_args!("field {}", field.name)))?;
            Ok(OpenField { name: field.name.as_str().into(), reader })
        });
        open.collect()
    }

    /// The reader of `field`, which must have `rows` rows.
    pub(crate) fn open_one(
        &self,
        field: &Field,
        container: &Container,
        rows: u64,
    ) -> Result<Arc<dyn FieldReader>, FormatError> {
        let mut indices = vec![];
        let mut columns = vec![];
        for owner in field.column_owners(container.version()) {
            // A table's schema has the type that people see, the column something else: `Schema::as_stored`.
            if owner.is_blob_v2() && !owner.is_packed() {
                let reason = format!("reading the values of blobs of type lance.blob.v2 ({:?})", owner.name);
                return Err(FormatError::unsupported(reason));
            }
            let index = self.columns.get(&owner.id).copied();
            let column = index.and_then(|index| container.columns.get(usize::try_from(index).ok()?));
            let Some((index, column)) = index.zip(column) else {
                let reason = format!("{:?} (id {}) has no column in this file", owner.name, owner.id);
                return Err(FormatError::corrupt("projection", reason));
            };
            indices.push(index);
            columns.push(Arc::clone(column));
            if owner.is_text() && is_text_as_list(column, container.version()) {
                let next = index.checked_add(1);
                let bytes = next.and_then(|next| container.columns.get(usize::try_from(next).ok()?));
                indices.extend(next);
                columns.extend(bytes.cloned());
            }
        }
        let key = (field.to_arrow(), indices);
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(reader) = open.get(&key) {
            return Ok(Arc::clone(reader));
        }
        let reader = open_field(&key.0, &columns, container.version(), &self.tables)?;
        if reader.rows() != rows {
            let reason = format!("its pages have {} rows, the file has {rows}", reader.rows());
            return Err(FormatError::corrupt("column metadata", reason));
        }
        open.insert(key, Arc::clone(&reader));
        Ok(reader)
    }
}

impl OpenField {
    /// The machine that loads the lookup tables that `rows` need, with the field in its errors.
    pub(crate) fn prepare(
        &self,
        rows: &Rows,
    ) -> Result<Option<impl Machine<Output = ()> + 'static>, FormatError> {
        let inner = self.reader.prepare(rows).map_err(|error| self.place(error))?;
        Ok(inner.map(|inner| Named { name: Arc::clone(&self.name), inner }))
    }

    /// The machine that loads `rows`, with the field in its errors.
    pub(crate) fn load(
        &self,
        rows: &Rows,
    ) -> Result<impl Machine<Output = Arc<dyn Loaded>> + use<>, FormatError> {
        let inner = self.reader.load(rows, None).map_err(|error| self.place(error))?;
        Ok(Named { name: Arc::clone(&self.name), inner })
    }

    /// An error of this field.
    pub(crate) fn place(&self, error: FormatError) -> FormatError {
        error.within(format_args!("field {}", self.name))
    }
}

/// A machine whose errors name the field.
struct Named<M> {
    name: Arc<str>,
    inner: M,
}

impl<M: Machine> Machine for Named<M> {
    type Output = M::Output;

    fn step(&mut self, answers: Vec<Answer>) -> Result<Step<Self::Output>, FormatError> {
        self.inner.step(answers).map_err(|error| error.within(format_args!("field {}", self.name)))
    }
}
