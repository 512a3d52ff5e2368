use crate::Result;

/// A row that was opened for reading field by field: what `#[derive(ForyRow)]` makes as `PoseView` for `struct Pose`.
///
/// The getters are methods of the view itself. What every view has is in this trait, and so in nobody's way: a field
/// may be called `open`.
///
/// ```
/// use fory_row::{ForyRow, RowView, Standard};
///
/// #[derive(ForyRow)]
/// struct Gripper {
///     open: bool,
/// }
///
/// let bytes = Gripper { open: true }.to_row::<Standard>()?;
/// let view = Gripper::view_row::<Standard>(&bytes)?;
/// assert!(view.open()?);
/// assert_eq!(view.as_bytes(), bytes);
/// # Ok::<(), fory_row::Error>(())
/// ```
pub trait RowView<'a>: Copy {
    /// Opens the row `bytes`, which are its own and nothing behind it.
    fn open(bytes: &'a [u8]) -> Result<Self>;

    /// The bytes of the row.
    fn as_bytes(&self) -> &'a [u8];
}
