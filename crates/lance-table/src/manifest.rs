//! A manifest describes one version of a table. Its file, as docs/format/table.md §4 has it:
//!
//! ```text
//! 0        u32 length, IndexSection         where there are indices
//!          u32 length, Transaction          where it is inline
//! pos      u32 length, Manifest
//! end-16   i64 pos, u16 major, u16 minor, "LANC"
//! ```

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use bytes::{BufMut, Bytes, BytesMut};
use lance_footer::{Cursor, FormatError, MAGIC, Result, Version};
use prost::Message;

use crate::proto;

pub(crate) mod files;
pub(crate) mod flags;
pub(crate) mod index;
pub(crate) mod latest;
pub(crate) mod names;

pub use names::Naming;

/// Bytes after the manifest message.
const FOOTER_LEN: usize = 16;

/// A transaction of more bytes stands in its own file only.
const MAX_INLINE_TRANSACTION: usize = 20 << 20;

/// One version of a table, as it is stored.
///
/// The next version is made by changing a copy, so that all that is not looked into is carried forward.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Manifest {
    /// The manifest itself.
    pub message: proto::Manifest,
    /// The indices of the table, carried forward as they are.
    pub indices: Vec<proto::IndexMetadata>,
    /// What made this version, if the manifest has it inline and it could be decoded.
    pub transaction: Option<proto::Transaction>,
}

impl Manifest {
    /// Parses a manifest's file.
    pub fn parse(file: &Bytes) -> Result<Self> {
        let envelope = Envelope::parse(file)?;
        let message = proto::Manifest::decode(envelope.manifest.clone())
            .map_err(|error| corrupt(format!("not a message: {error}")))?;
        flags::check_consistent(&message)?;
        if message.fragment_tree.is_some() {
            return Err(FormatError::unsupported("a fragment tree in a manifest"));
        }

        let indices = match message.index_section {
            None => vec![],
            Some(offset) => {
                let section = envelope.section(file, offset)?;
                let section = proto::IndexSection::decode(section);
                section
                    .map_err(|error| corrupt(format!("its index section is not a message: {error}")))?
                    .indices
            }
        };
        // A transaction that cannot be understood must not stand in the way of reading.
        let offset = message.transaction_section.or(message.old_transaction_section);
        let transaction = offset
            .and_then(|offset| envelope.section(file, offset).ok())
            .and_then(|section| proto::Transaction::decode(section).ok());
        Ok(Self { message, indices, transaction })
    }

    /// The bytes of the manifest's file, with the offsets of the sections set to where they come to lie.
    pub(crate) fn to_file(&self) -> Result<Bytes> {
        let mut message = self.message.clone();
        let mut file = BytesMut::new();
        message.index_section = None;
        message.old_transaction_section = None;
        message.transaction_section = None;
        if !self.indices.is_empty() {
            message.index_section = Some(file.len() as u64);
            put_section(&mut file, &proto::IndexSection { indices: self.indices.clone() })?;
        }
        // Then it is nowhere else.
        let inline_only = message.writer_feature_flags & flags::INLINE_TRANSACTIONS != 0;
        if let Some(transaction) = &self.transaction
            && (transaction.encoded_len() <= MAX_INLINE_TRANSACTION || inline_only)
        {
            message.transaction_section = Some(file.len() as u64);
            put_section(&mut file, transaction)?;
        }
        let position = file.len() as u64;
        put_section(&mut file, &message)?;
        file.put_u64_le(position);
        file.put_u16_le(0);
        file.put_u16_le(2);
        file.put_slice(&MAGIC);
        Ok(file.freeze())
    }

    /// The version number.
    pub const fn version(&self) -> u64 {
        self.message.version
    }

    /// When it was committed.
    pub fn timestamp(&self) -> SystemTime {
        let Some(timestamp) = &self.message.timestamp else { return UNIX_EPOCH };
        let seconds = Duration::from_secs(timestamp.seconds.unsigned_abs());
        let nanos = Duration::from_nanos(u64::try_from(timestamp.nanos).unwrap_or(0));
        let moment = if timestamp.seconds < 0 {
            UNIX_EPOCH.checked_sub(seconds)
        } else {
            UNIX_EPOCH.checked_add(seconds)
        };
        moment.and_then(|moment| moment.checked_add(nanos)).unwrap_or(UNIX_EPOCH)
    }

    /// Rows, less those that were deleted, as far as it is written here.
    pub fn rows(&self) -> u64 {
        let deleted = |file: &proto::DeletionFile| file.num_deleted_rows;
        self.message.fragments.iter().fold(0, |sum: u64, fragment| {
            let deleted = fragment.deletion_file.as_ref().map_or(0, deleted);
            sum.saturating_add(fragment.physical_rows.saturating_sub(deleted))
        })
    }

    /// The version of new data files.
    pub(crate) fn file_version(&self) -> Result<Version> {
        if let Some(format) = &self.message.data_format {
            return format.version.parse();
        }
        match self.message.fragments.iter().find_map(|fragment| fragment.files.first()) {
            Some(file) => Version::from_manifest(file.file_major_version, file.file_minor_version),
            None => Ok(Version::default()),
        }
    }

    /// Whether rows keep their ids when they move.
    pub const fn has_stable_row_ids(&self) -> bool {
        (self.message.reader_feature_flags | self.message.writer_feature_flags) & flags::STABLE_ROW_IDS != 0
    }
}

/// The parts of a manifest's file.
struct Envelope {
    /// Where the manifest's length stands; sections end before it.
    position: usize,
    manifest: Bytes,
}

impl Envelope {
    fn parse(file: &Bytes) -> Result<Self> {
        let footer_start = file
            .len()
            .checked_sub(FOOTER_LEN)
            .ok_or_else(|| corrupt(format!("{} bytes, less than a footer has", file.len())))?;
        let mut footer = Cursor::new("manifest footer", file.get(footer_start..).unwrap_or_default());
        let stored = footer.u64()?;
        let _version = (footer.u16()?, footer.u16()?);
        if footer.rest() != MAGIC {
            return Err(corrupt("it does not end in LANC"));
        }
        let position = usize::try_from(stored)
            .ok()
            .filter(|position| *position < footer_start)
            .ok_or_else(|| corrupt(format!("position {stored} in a file of {} bytes", file.len())))?;
        let manifest = section(file.slice(..footer_start), position)?;
        if position + 4 + manifest.len() != footer_start {
            return Err(corrupt(format!(
                "{} bytes at {position} do not end at the footer, at {footer_start}",
                manifest.len()
            )));
        }
        Ok(Self { position, manifest })
    }

    /// The section whose length stands at `offset`.
    fn section(&self, file: &Bytes, offset: u64) -> Result<Bytes> {
        let offset = usize::try_from(offset).unwrap_or(usize::MAX);
        section(file.slice(..self.position), offset)
    }
}

/// The bytes of `region` that follow a length at `offset`.
fn section(region: Bytes, offset: usize) -> Result<Bytes> {
    let outside = || corrupt(format!("a section at {offset} ends beyond its {} bytes", region.len()));
    let mut cursor = Cursor::new("manifest section", region.get(offset..).ok_or_else(outside)?);
    let len = cursor.u32()?;
    let start = offset + 4;
    let end = usize::try_from(len).ok().and_then(|len| start.checked_add(len));
    match end {
        Some(end) if end <= region.len() => Ok(region.slice(start..end)),
        _ => Err(outside()),
    }
}

fn put_section(file: &mut BytesMut, message: &impl Message) -> Result<()> {
    let len = u32::try_from(message.encoded_len())
        .map_err(|_| FormatError::unsupported("a manifest with a section of 4 GiB or more"))?;
    file.put_u32_le(len);
    // Bytes grow as needed, so this cannot fail.
    message.encode(file).map_err(|error| corrupt(error.to_string()))
}

fn corrupt(reason: impl Into<String>) -> FormatError {
    FormatError::corrupt("manifest", reason)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn full() -> Manifest {
        let message = proto::Manifest {
            version: 7,
            timestamp: Some(proto::Timestamp { seconds: 5, nanos: 250 }),
            config: [("a".to_string(), "b".to_string())].into_iter().collect(),
            table_metadata: [("c".to_string(), "d".to_string())].into_iter().collect(),
            max_fragment_id: Some(0),
            index_section: Some(0),
            ..Default::default()
        };
        let indices = vec![proto::IndexMetadata { name: "by_id".into(), ..Default::default() }];
        let transaction = Some(proto::Transaction { uuid: "u".into(), ..Default::default() });
        Manifest { message, indices, transaction }
    }

    #[test]
    fn sections_come_back() {
        let manifest = full();
        let file = manifest.to_file().unwrap();
        let back = Manifest::parse(&file).unwrap();
        assert_eq!(back.indices, manifest.indices);
        assert_eq!(back.transaction, manifest.transaction);
        assert_eq!(back.message.index_section, Some(0));
        assert_eq!(back.message.transaction_section, Some(4 + 9));
        assert_eq!(back.message.config, manifest.message.config);
        assert_eq!(back.message.max_fragment_id, Some(0));
        assert_eq!(back.timestamp(), UNIX_EPOCH + Duration::new(5, 250));
        assert_eq!(back.to_file().unwrap(), file);
    }

    #[test]
    fn large_transactions_are_in_one_place() {
        for (flags, inline) in [(0, false), (flags::INLINE_TRANSACTIONS, true)] {
            let mut manifest = full();
            manifest.message.writer_feature_flags = flags;
            let tag = "x".repeat(MAX_INLINE_TRANSACTION + 1);
            manifest.transaction = Some(proto::Transaction { tag, ..Default::default() });
            let back = Manifest::parse(&manifest.to_file().unwrap()).unwrap();
            assert_eq!(back.transaction.is_some(), inline);
        }
    }

    #[test]
    fn what_is_absent_stays_absent() {
        let manifest =
            Manifest { message: proto::Manifest { version: 1, ..Default::default() }, ..Default::default() };
        let back = Manifest::parse(&manifest.to_file().unwrap()).unwrap();
        assert_eq!(back, manifest);
        assert_eq!(back.timestamp(), UNIX_EPOCH);
    }

    #[test]
    fn damage_is_an_error_and_never_a_panic() {
        let file = full().to_file().unwrap();
        for len in 0..file.len() {
            assert!(Manifest::parse(&file.slice(..len)).is_err(), "{len} bytes");
        }
        for at in 0..file.len() {
            for bit in 0..8 {
                let mut damaged = file.to_vec();
                damaged[at] ^= 1 << bit;
                let _ = Manifest::parse(&damaged.into());
            }
        }
        let mut far = file.to_vec();
        far[file.len() - 9] = 0x7f;
        assert!(Manifest::parse(&far.into()).is_err());
    }

    /// Manifests that the reference implementation wrote: see tests/data/README.md.
    #[test]
    fn manifests_of_the_reference_come_back() {
        let data = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data");
        let (mut versions, mut indices) = (vec![], 0);
        for table in ["stable_row_ids", "columns"] {
            for entry in std::fs::read_dir(data.join(table)).unwrap() {
                let entry = entry.unwrap();
                let name = entry.file_name().into_string().unwrap();
                let (version, naming) = names::parse(&name).unwrap();
                assert_eq!(naming, Naming::V2);
                let file = Bytes::from(std::fs::read(entry.path()).unwrap());
                let manifest = Manifest::parse(&file).unwrap();
                assert_eq!(manifest.version(), version);
                assert_eq!(manifest.message.writer_version.as_ref().unwrap().library, "lance");
                assert!(manifest.transaction.as_ref().unwrap().operation.is_some(), "{name}");
                assert_eq!(manifest.has_stable_row_ids(), table == "stable_row_ids");
                // The same length and content; only the order of the entries of a map is free.
                let again = manifest.to_file().unwrap();
                assert_eq!(again.len(), file.len(), "{name}");
                assert_eq!(Manifest::parse(&again).unwrap(), manifest, "{name}");
                for fragment in &manifest.message.fragments {
                    crate::Fragment::new(fragment.clone()).unwrap();
                    crate::row_ids::RowIds::of(fragment).unwrap();
                }
                versions.push(version);
                indices += manifest.indices.len();
            }
        }
        assert_eq!((versions.len(), indices), (14, 8));
    }

    #[test]
    fn unreadable_transactions_do_not_stand_in_the_way() {
        let mut file = BytesMut::new();
        file.put_u32_le(1);
        file.put_u8(0xff);
        let message = proto::Manifest { version: 1, transaction_section: Some(0), ..Default::default() };
        let position = file.len() as u64;
        put_section(&mut file, &message).unwrap();
        file.put_u64_le(position);
        file.put_slice(&[0, 0, 2, 0]);
        file.put_slice(&MAGIC);
        let manifest = Manifest::parse(&file.freeze()).unwrap();
        assert_eq!(manifest.transaction, None);
        // An operation with an unknown number reads as none.
        let unknown = [0x0a, 0x00];
        let mut bytes = proto::Transaction { uuid: "u".into(), ..Default::default() }.encode_to_vec();
        prost::encoding::encode_key(190, prost::encoding::WireType::LengthDelimited, &mut bytes);
        bytes.extend([2]);
        bytes.extend(unknown);
        let transaction = proto::Transaction::decode(&bytes[..]).unwrap();
        assert_eq!((transaction.uuid.as_str(), transaction.operation), ("u", None));
    }
}
