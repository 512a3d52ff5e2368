//! Syntax tree to text, which parses to the same tree.

use std::fmt::{Display, Formatter, Result, Write};

use super::parse::{RESERVED, type_name};
use super::syntax::{Kind, Literal, Node};

impl Display for Node {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        match &self.kind {
            Kind::Column(names) => {
                for (index, name) in names.iter().enumerate() {
                    let dot = if index == 0 { "" } else { "." };
                    write!(f, "{dot}{}", Name(name))?;
                }
                Ok(())
            }
            Kind::Literal(literal) => literal.fmt(f),
            Kind::Not(value) => write!(f, "NOT {}", Operand(value)),
            Kind::Negate(value) => write!(f, "-({value})"),
            Kind::And(all) => joined(f, all, " AND "),
            Kind::Or(all) => joined(f, all, " OR "),
            Kind::Chain { first, rest } => {
                Operand(first).fmt(f)?;
                rest.iter().try_for_each(|(op, node)| write!(f, " {} {}", op.text(), Operand(node)))
            }
            Kind::Compare { op, sides } => {
                write!(f, "{} {} {}", Operand(&sides.0), op.text(), Operand(&sides.1))
            }
            Kind::Between { value, bounds, negated } => {
                let (low, high) = (Operand(&bounds.0), Operand(&bounds.1));
                write!(f, "{} {}BETWEEN {low} AND {high}", Operand(value), not(*negated))
            }
            Kind::In { value, list, negated } => {
                write!(f, "{} {}IN (", Operand(value), not(*negated))?;
                list_of(f, list)?;
                f.write_char(')')
            }
            Kind::Like { sides, negated, any_case } => {
                let like = if *any_case { "ILIKE" } else { "LIKE" };
                write!(f, "{} {}{like} {}", Operand(&sides.0), not(*negated), Operand(&sides.1))
            }
            Kind::Is { value, what, negated } => {
                write!(f, "{} IS {}{}", Operand(value), not(*negated), what.text())
            }
            Kind::Cast { value, to, or_null } => {
                let cast = if *or_null { "TRY_CAST" } else { "CAST" };
                write!(f, "{cast}({value} AS {})", type_name(to))
            }
            Kind::Call { name, args } => {
                write!(f, "{name}(")?;
                list_of(f, args)?;
                f.write_char(')')
            }
            Kind::Case { operand, whens, otherwise } => {
                f.write_str("CASE")?;
                operand.iter().try_for_each(|operand| write!(f, " {}", Operand(operand)))?;
                whens.iter().try_for_each(|(when, then)| {
                    write!(f, " WHEN {} THEN {}", Operand(when), Operand(then))
                })?;
                otherwise.iter().try_for_each(|otherwise| write!(f, " ELSE {}", Operand(otherwise)))?;
                f.write_str(" END")
            }
        }
    }
}

impl Display for Literal {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        match self {
            Self::Null => f.write_str("NULL"),
            Self::Bool(value) => f.write_str(if *value { "true" } else { "false" }),
            Self::Number(digits) => f.write_str(digits),
            Self::Text { value, double_quoted: false } => quoted(f, value, '\''),
            Self::Text { value, double_quoted: true } => quoted(f, value, '"'),
            Self::Bytes(bytes) => {
                f.write_str("X'")?;
                bytes.iter().try_for_each(|byte| write!(f, "{byte:02X}"))?;
                f.write_char('\'')
            }
            Self::Interval(text) => {
                f.write_str("INTERVAL ")?;
                quoted(f, text, '\'')
            }
        }
    }
}

/// A name, in backticks where it needs them.
pub(super) struct Name<'n>(pub(super) &'n str);

impl Display for Name<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        let mut letters = self.0.chars();
        let begins = letters.next().is_some_and(|first| first.is_ascii_alphabetic() || first == '_');
        let plain = begins && letters.all(|letter| letter.is_ascii_alphanumeric() || letter == '_');
        if plain && !RESERVED.contains(&self.0.to_ascii_lowercase().as_str()) {
            return f.write_str(self.0);
        }
        quoted(f, self.0, '`')
    }
}

/// A part of a larger expression, in brackets where it is not a term.
struct Operand<'n>(&'n Node);

impl Display for Operand<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        let term = matches!(
            self.0.kind,
            Kind::Column(_) | Kind::Literal(_) | Kind::Cast { .. } | Kind::Call { .. } | Kind::Case { .. }
        );
        if term { self.0.fmt(f) } else { write!(f, "({})", self.0) }
    }
}

fn joined(f: &mut Formatter<'_>, all: &[Node], between: &str) -> Result {
    for (index, node) in all.iter().enumerate() {
        f.write_str(if index == 0 { "" } else { between })?;
        // Comparisons bind more strongly, and read better without brackets.
        match node.kind {
            Kind::Compare { .. } | Kind::In { .. } | Kind::Like { .. } | Kind::Is { .. } => node.fmt(f)?,
            _ => Operand(node).fmt(f)?,
        }
    }
    Ok(())
}

fn list_of(f: &mut Formatter<'_>, list: &[Node]) -> Result {
    for (index, node) in list.iter().enumerate() {
        let comma = if index == 0 { "" } else { ", " };
        write!(f, "{comma}{node}")?;
    }
    Ok(())
}

fn quoted(f: &mut Formatter<'_>, text: &str, quote: char) -> Result {
    f.write_char(quote)?;
    for letter in text.chars() {
        if letter == quote {
            f.write_char(quote)?;
        }
        f.write_char(letter)?;
    }
    f.write_char(quote)
}

const fn not(negated: bool) -> &'static str {
    if negated { "NOT " } else { "" }
}
