//! Rows that are updated, inserted and deleted by their key.

use std::collections::{BTreeMap, BTreeSet};

use super::{Matched, Missing, Order, Rows};
use crate::model::value::{Column, Value};
use crate::model::{Content, Row};

/// An upsert.
pub struct Upserting<'a> {
    pub source: &'a Rows,
    pub on: &'a str,
    pub matched: &'a Matched,
    pub insert: bool,
    pub missing: &'a Missing,
}

impl Upserting<'_> {
    /// Does it to `content`, which gets `version`.
    pub fn apply(&self, content: &mut Content, version: u64) -> Order {
        let source = self.source;
        let at = |columns: &[Column]| columns.iter().position(|column| column.name == self.on).unwrap();
        let (own, theirs) = (at(&content.columns), at(&source.columns));
        let keyed = source.rows.iter().filter(|row| row[theirs] != Value::Null);
        let partners = keyed.map(|row| (row[theirs].clone(), row)).collect::<BTreeMap<_, _>>();
        let mut met = BTreeSet::new();
        let (mut kept, mut moved) = (vec![], vec![]);
        for mut row in std::mem::take(&mut content.rows) {
            let Some(partner) = partners.get(&row.values[own]) else {
                let gone = match self.missing {
                    Missing::Keep => false,
                    Missing::Delete => true,
                    Missing::DeleteIf(filter) => filter.holds(&row.values),
                };
                if !gone {
                    kept.push(row);
                }
                continue;
            };
            met.insert(row.values[own].clone());
            let changes = match self.matched {
                Matched::Update => true,
                Matched::UpdateIf(filter) => filter.holds(partner),
                Matched::Keep => false,
            };
            if !changes {
                kept.push(row);
                continue;
            }
            for (column, value) in content.columns.iter().zip(&mut row.values) {
                if let Some(at) = source.columns.iter().position(|own| own.name == column.name) {
                    *value = partner[at].clone();
                }
            }
            row.updated = version;
            moved.push(row);
        }
        if self.insert {
            let new = source.rows.iter().filter(|row| !met.contains(&row[theirs]));
            moved.extend(new.map(|row| Row::new(source.fitted(row, &content.columns), version)));
        }
        let order = Order::Prefix(kept.len());
        content.rows = [kept, moved].concat();
        order
    }
}
