//! `--decode-budget`: how much memory decoding may take.

use demilance::DecodeBudget;
use demilance::footer::FormatError;

use crate::{failure, quantity};

/// `512MB`, `2GiB`, a number of bytes, or `unlimited`.
pub(crate) fn parse(text: &str) -> Result<DecodeBudget, String> {
    if text.eq_ignore_ascii_case("unlimited") {
        return Ok(DecodeBudget::UNLIMITED);
    }
    match quantity::parse_bytes(text) {
        Some(constant) => Ok(DecodeBudget { constant, ..DecodeBudget::default() }),
        None => Err("it is neither a size such as 512MB or 2GiB nor the word unlimited".into()),
    }
}

/// The same error, which names the option if that is what helps.
pub(crate) fn advise(error: anyhow::Error) -> anyhow::Error {
    let over = error
        .chain()
        .any(|cause| matches!(cause.downcast_ref::<FormatError>(), Some(FormatError::OverBudget { .. })));
    match over {
        true => anyhow::anyhow!("{} (--decode-budget SIZE)", failure::one_line(&error)),
        false => error,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_and_a_word() {
        assert_eq!(parse("unlimited"), Ok(DecodeBudget::UNLIMITED));
        let budget = parse("2GiB").unwrap();
        assert_eq!((budget.constant, budget.per_byte), (2 << 30, DecodeBudget::default().per_byte));
        assert!(parse("much").is_err());
    }

    #[test]
    fn only_what_is_over_budget_gets_advice() {
        let over = FormatError::OverBudget { what: "values".into(), needed: 2, allowed: 1 };
        let error = anyhow::Error::from(over).context("a.lance");
        assert!(advise(error).to_string().ends_with("allows more (--decode-budget SIZE)"));
        let other = anyhow::Error::from(FormatError::unsupported("x")).context("a.lance");
        assert_eq!(advise(other).to_string(), "a.lance");
    }
}
