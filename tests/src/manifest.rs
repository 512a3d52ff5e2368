//! Manifests that are changed, and are sound otherwise.

use lance_io::Store;
use lance_table::{Manifest, proto};
use prost::Message;

/// Rewrites the manifest of `version`.
pub async fn edit(store: &Store, version: u64, edit: impl FnOnce(&mut proto::Manifest)) {
    let path = format!("_versions/{:020}.manifest", u64::MAX - version);
    let file = store.read_all(&path).await.unwrap();
    let mut manifest = Manifest::parse(&file).unwrap();
    edit(&mut manifest.message);
    // The sections in front stay where they are.
    let end = file.len() - 16;
    let position = u64::from_le_bytes(file[end..end + 8].try_into().unwrap()) as usize;
    let message = manifest.message.encode_to_vec();
    let mut bytes = file[..position].to_vec();
    bytes.extend((message.len() as u32).to_le_bytes());
    bytes.extend(message);
    bytes.extend((position as u64).to_le_bytes());
    bytes.extend([0, 0, 2, 0]);
    bytes.extend(b"LANC");
    store.put(&path, bytes.into()).await.unwrap();
}
