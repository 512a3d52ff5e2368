use super::{DataType, Field, Schema};

/// The hash of no fields.
pub(crate) const START: i64 = 17;

impl Schema {
    /// The number that framed standard rows carry. It covers the types of the fields and their order; names,
    /// nullability, precision and scale it does not, so that equal hashes are no proof of equal schemas.
    /// Compact rows carry that of [`Layout::hash`](crate::Layout::hash).
    ///
    /// ```
    /// use fory_row::{DataType, Field, Schema};
    /// let schema = Schema::new(vec![Field::new("v", DataType::Int32, false)])?;
    /// assert_eq!(schema.hash(), 531);
    /// # Ok::<(), fory_row::Error>(())
    /// ```
    pub fn hash(&self) -> i64 {
        self.fields().iter().fold(START, hash_field)
    }
}

pub(crate) fn hash_field(hash: i64, field: &Field) -> i64 {
    let hash = step(hash, field.data_type.id());
    match &field.data_type {
        DataType::List(element) => hash_field(hash, element),
        DataType::Map(key, value) => hash_field(hash_field(hash, key), value),
        DataType::Struct(fields) => fields.iter().fold(hash, hash_field),
        _ => hash,
    }
}

/// Takes one type into the hash: `31 × hash + id`, after as many quarterings as keep it within 63 bits.
#[inline]
pub(crate) const fn step(mut hash: i64, id: u8) -> i64 {
    loop {
        if let Some(product) = hash.checked_mul(31)
            && let Some(sum) = product.checked_add(id as i64)
        {
            return sum;
        }
        hash >>= 2;
    }
}
