//! Names of few kinds of characters, in five or six bits each.
//!
//! ```text
//! flag: 1 bit │ codes, the first one in the highest bits │ zero bits up to a whole byte
//! ```
//!
//! The flag is set where the zero bits have room for one more code, which is not one then.

use super::wrong;
use crate::Result;

const FIVE: &[u8; 30] = b"abcdefghijklmnopqrstuvwxyz._$|";
const SIX: &[u8; 64] = b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789$_";
/// In five bits, the letter that follows is an upper-case one.
const UPPER: u8 = b'|';

/// How the characters of a name are stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Packing {
    /// As they are.
    Utf8,
    /// Five bits each, and upper-case letters ten.
    Five,
    /// Six bits each.
    Six,
}

impl Packing {
    /// The one that all implementations choose for `name`.
    pub(super) fn of(name: &str) -> Self {
        if !name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'$' || byte == b'_') {
            return Self::Utf8;
        }
        if name.bytes().any(|byte| byte.is_ascii_digit()) {
            return Self::Six;
        }
        let upper = name.bytes().filter(u8::is_ascii_uppercase).count();
        if (name.len() + upper) * 5 < name.len() * 6 { Self::Five } else { Self::Six }
    }

    pub(super) const fn id(self) -> u8 {
        match self {
            Self::Utf8 => 0,
            Self::Five => 1,
            Self::Six => 2,
        }
    }

    pub(super) fn from_id(id: u8) -> Result<Self> {
        Ok(match id {
            0 => Self::Utf8,
            1 => Self::Five,
            2 => Self::Six,
            id => return Err(wrong(format!("a name of packing {id}, which there is not"))),
        })
    }

    /// The bytes of `name`, whose characters it has codes for.
    pub(super) fn pack(self, name: &str) -> Vec<u8> {
        let code = |alphabet: &[u8], byte: u8| {
            let code = alphabet.iter().position(|known| *known == byte).unwrap_or_default();
            u8::try_from(code).unwrap_or_default()
        };
        match self {
            Self::Utf8 => name.into(),
            Self::Six => pack(6, name.bytes().map(|byte| code(SIX, byte))),
            Self::Five => {
                let spelled = name.bytes().flat_map(|byte| {
                    let mark = byte.is_ascii_uppercase().then_some(UPPER);
                    mark.into_iter().chain([byte.to_ascii_lowercase()])
                });
                pack(5, spelled.map(|byte| code(FIVE, byte)))
            }
        }
    }

    /// The name that `bytes` stand for.
    pub(super) fn unpack(self, bytes: &[u8]) -> Result<String> {
        let utf8 = |bytes: Vec<u8>| String::from_utf8(bytes).map_err(|_| wrong("a name that is not UTF-8"));
        match self {
            Self::Utf8 => utf8(bytes.into()),
            Self::Six => utf8(unpack(6, SIX, bytes)?),
            Self::Five => {
                let mut name = vec![];
                let mut spelled = unpack(5, FIVE, bytes)?.into_iter();
                while let Some(byte) = spelled.next() {
                    name.push(match byte {
                        UPPER => match spelled.next().filter(u8::is_ascii_lowercase) {
                            Some(letter) => letter.to_ascii_uppercase(),
                            None => {
                                return Err(wrong(
                                    "a name with a mark for upper case and no letter behind it",
                                ));
                            }
                        },
                        byte => byte,
                    });
                }
                utf8(name)
            }
        }
    }
}

fn pack(width: usize, codes: impl Iterator<Item = u8>) -> Vec<u8> {
    let mut bytes = vec![0_u8];
    let mut at = 1;
    for code in codes {
        for bit in (0..width).rev() {
            if at % 8 == 0 {
                bytes.push(0);
            }
            if let Some(last) = bytes.last_mut() {
                *last |= (code >> bit & 1) << (7 - at % 8);
            }
            at += 1;
        }
    }
    if bytes.len() * 8 - at >= width
        && let Some(first) = bytes.first_mut()
    {
        *first |= 0x80;
    }
    bytes
}

fn unpack(width: usize, alphabet: &[u8], bytes: &[u8]) -> Result<Vec<u8>> {
    let bit = |at: usize| bytes.get(at / 8).map_or(0, |byte| byte >> (7 - at % 8) & 1);
    let count = (bytes.len() * 8).saturating_sub(1) / width;
    let count = count.saturating_sub(bit(0).into());
    let characters = (0..count).map(|index| {
        let code = (0..width).fold(0, |code, place| code << 1 | usize::from(bit(1 + index * width + place)));
        alphabet
            .get(code)
            .copied()
            .ok_or_else(|| wrong(format!("a name with the code {code}, which there is not")))
    });
    characters.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_all_lengths_there_and_back() -> Result<()> {
        for len in 1..70 {
            for letter in ["a", "Z", "9", "_", "$", "aB", "é", "."] {
                let name = letter.repeat(len);
                let packing = Packing::of(&name);
                assert_eq!(packing.unpack(&packing.pack(&name))?, name);
                assert_eq!(packing == Packing::Utf8, ["é", "."].contains(&letter), "{name}");
            }
        }
        Ok(())
    }

    #[test]
    fn five_bits_are_taken_where_they_are_fewer() {
        for (name, packing) in [
            ("userName", Packing::Five),
            ("abcdE", Packing::Six),
            ("abcdeF", Packing::Five),
            ("UserID", Packing::Six),
            ("user_name", Packing::Five),
            ("x1", Packing::Six),
            ("dot.name", Packing::Utf8),
        ] {
            assert_eq!(Packing::of(name), packing, "{name}");
        }
    }

    #[test]
    fn codes_that_mean_nothing_are_refused() {
        // Code 30; a mark and nothing; a mark and `_`.
        for bytes in [&[0b0111_1000, 0][..], &[0b0111_0100], &[0b0111_0111, 0b0110_0000]] {
            assert!(Packing::Five.unpack(bytes).is_err(), "{bytes:02x?}");
        }
    }
}
