use crate::proto::IndexMetadata;

/// Whether the entries of `index` still mean the same rows after these moved, in a table with stable row ids or not. Of
/// kinds that are not known they may be addresses, or ranges of them (docs/format/scalar-index.md §2).
pub(crate) fn follows_rows(index: &IndexMetadata, stable: bool) -> bool {
    let kind = index.index_details.as_ref().map_or("", |details| details.type_url.as_str());
    let kind = kind.rsplit(['.', '/']).next().unwrap_or_default();
    stable
        && match kind {
            "BitmapIndexDetails" | "VectorIndexDetails" => true,
            // Later ones have addresses all the same.
            "BTreeIndexDetails" => index.index_version.unwrap_or(0) == 0,
            _ => false,
        }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::proto::Any;

    #[test]
    fn what_is_known_to_have_stable_ids() {
        for (kind, version, follows) in [
            ("/lance.table.BTreeIndexDetails", Some(0), true),
            ("/lance.table.BTreeIndexDetails", None, true),
            ("/lance.table.BTreeIndexDetails", Some(1), false),
            ("/lance.table.BitmapIndexDetails", Some(0), true),
            ("type.googleapis.com/lance.index.pb.VectorIndexDetails", Some(1), true),
            ("/lance.table.ZoneMapIndexDetails", Some(0), false),
            ("/lance.table.InvertedIndexDetails", Some(0), false),
            ("", Some(0), false),
        ] {
            let details = Any { type_url: kind.into(), ..Default::default() };
            let index = IndexMetadata {
                index_details: Some(details).filter(|details| !details.type_url.is_empty()),
                index_version: version,
                ..Default::default()
            };
            assert_eq!(follows_rows(&index, true), follows, "{kind} {version:?}");
            assert!(!follows_rows(&index, false), "{kind}");
        }
    }
}
