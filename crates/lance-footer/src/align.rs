/// To how many bytes a writer aligns buffers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Alignment {
    /// What the reference writes: page buffers and global buffers start at multiples of 64.
    #[default]
    Bytes64,
    /// Page buffers, global buffers, each column metadata block and the offset tables start at multiples
    /// of 4096, as direct I/O wants it.
    Bytes4096,
}

impl Alignment {
    /// The number of bytes.
    pub const fn bytes(self) -> u64 {
        match self {
            Self::Bytes64 => 64,
            Self::Bytes4096 => 4096,
        }
    }

    /// How many bytes to fill before something may start at or after `position`.
    pub const fn padding(self, position: u64) -> u64 {
        let rest = position % self.bytes();
        if rest == 0 { 0 } else { self.bytes() - rest }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn padding_reaches_the_next_multiple() {
        assert_eq!(Alignment::Bytes64.padding(0), 0);
        assert_eq!(Alignment::Bytes64.padding(1), 63);
        assert_eq!(Alignment::Bytes4096.padding(4096), 0);
        assert_eq!(Alignment::Bytes4096.padding(4097), 4095);
    }
}
