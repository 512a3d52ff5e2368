//! The tree of an expression whose names are resolved and whose types are known.

use arrow_array::{Array, ArrayRef, Datum};
use arrow_schema::DataType;

use super::function::Function;
use super::syntax::{Arithmetic, Comparison, Is};

/// A part of a bound expression.
#[derive(Debug, Clone)]
pub(super) struct Typed {
    pub(super) kind: Kind,
    pub(super) data_type: DataType,
    /// Where it stands in the text.
    pub(super) at: usize,
    /// Whether some values make it fail, so that it must not see rows that something before it has ruled out.
    pub(super) fallible: bool,
}

#[derive(Debug, Clone)]
pub(super) enum Kind {
    /// A column by its number among those that are read.
    Column(usize),
    /// One value, which all rows have.
    Constant(ArrayRef),
    Not(Box<Typed>),
    Negate(Box<Typed>),
    And(Vec<Typed>),
    Or(Vec<Typed>),
    Chain {
        first: Box<Typed>,
        steps: Vec<Step>,
    },
    /// All tests of one value; true if all are.
    Compare {
        value: Box<Typed>,
        tests: Vec<Test>,
    },
    In {
        value: Box<Typed>,
        list: List,
    },
    Like {
        sides: Box<(Typed, Typed)>,
        any_case: bool,
    },
    Is {
        value: Box<Typed>,
        what: Is,
    },
    Cast {
        value: Box<Typed>,
        or_null: bool,
    },
    Call {
        function: Function,
        args: Vec<Typed>,
    },
    Case {
        operand: Option<Box<Typed>>,
        whens: Vec<(When, Typed)>,
        otherwise: Box<Typed>,
    },
}

/// A step of arithmetic: what is done to what came before.
#[derive(Debug, Clone)]
pub(super) struct Step {
    pub(super) op: Arithmetic,
    /// As what the left side is taken.
    pub(super) left: DataType,
    pub(super) right: Typed,
    pub(super) at: usize,
}

/// A comparison with something to the right.
#[derive(Debug, Clone)]
pub(super) struct Test {
    pub(super) op: Comparison,
    /// As what the left side is taken.
    pub(super) left: DataType,
    pub(super) right: Right,
}

#[derive(Debug, Clone)]
pub(super) enum Right {
    Value(Box<Typed>),
    /// Nothing to compare with: the answer for all values, and for null.
    Fixed {
        value: bool,
        null: Option<bool>,
    },
}

/// What a value is looked up in.
#[derive(Debug, Clone)]
pub(super) struct List {
    /// Sorted, without nulls.
    pub(super) values: ArrayRef,
    pub(super) has_null: bool,
    /// What is not a literal.
    pub(super) tests: Vec<Test>,
}

#[derive(Debug, Clone)]
pub(super) enum When {
    /// A condition.
    Holds(Typed),
    /// A test of the operand.
    Is(Test),
}

/// The values of a part of an expression: one for all rows, or one a row.
#[derive(Debug, Clone)]
pub(super) enum Value {
    One(ArrayRef),
    Many(ArrayRef),
}

impl Value {
    pub(super) const fn array(&self) -> &ArrayRef {
        match self {
            Self::One(array) | Self::Many(array) => array,
        }
    }

    /// As many rows, with another array.
    pub(super) fn with(&self, array: ArrayRef) -> Self {
        match self {
            Self::One(_) => Self::One(array),
            Self::Many(_) => Self::Many(array),
        }
    }

    pub(super) const fn is_one(&self) -> bool {
        matches!(self, Self::One(_))
    }
}

impl Datum for Value {
    fn get(&self) -> (&dyn Array, bool) {
        (self.array().as_ref(), self.is_one())
    }
}

impl Typed {
    pub(super) fn new(kind: Kind, data_type: DataType, at: usize) -> Self {
        let mut typed = Self { kind, data_type, at, fallible: false };
        typed.fallible = typed.fails_itself() || typed.children().any(|child| child.fallible);
        typed
    }

    pub(super) fn constant(value: ArrayRef, at: usize) -> Self {
        let data_type = value.data_type().clone();
        Self { kind: Kind::Constant(value), data_type, at, fallible: false }
    }

    /// The value, if all rows have the same.
    pub(super) const fn as_constant(&self) -> Option<&ArrayRef> {
        match &self.kind {
            Kind::Constant(value) => Some(value),
            _ => None,
        }
    }

    /// Whether nothing that it is made of is a column.
    pub(super) fn is_constant(&self) -> bool {
        !matches!(self.kind, Kind::Column(_)) && self.children().all(|child| child.as_constant().is_some())
    }

    fn fails_itself(&self) -> bool {
        match &self.kind {
            Kind::Cast { or_null, .. } => !or_null,
            Kind::Negate(_) => !self.data_type.is_floating(),
            Kind::Chain { steps, .. } => {
                !self.data_type.is_floating() || steps.iter().any(|step| step.op == Arithmetic::Remainder)
            }
            Kind::Call { function, .. } => function.is_fallible(),
            // What is compared as something else may not fit it.
            Kind::Compare { value, tests } => tests.iter().any(|test| test.left != value.data_type),
            _ => false,
        }
    }

    fn children(&self) -> Box<dyn Iterator<Item = &Self> + '_> {
        match &self.kind {
            Kind::Column(_) | Kind::Constant(_) => Box::new(std::iter::empty()),
            Kind::Not(value) | Kind::Negate(value) | Kind::Is { value, .. } | Kind::Cast { value, .. } => {
                Box::new(std::iter::once(&**value))
            }
            Kind::And(all) | Kind::Or(all) | Kind::Call { args: all, .. } => Box::new(all.iter()),
            Kind::Chain { first, steps } => {
                Box::new(std::iter::once(&**first).chain(steps.iter().map(|step| &step.right)))
            }
            Kind::Compare { value, tests } => {
                Box::new(std::iter::once(&**value).chain(tests.iter().filter_map(Test::value)))
            }
            Kind::In { value, list } => {
                Box::new(std::iter::once(&**value).chain(list.tests.iter().filter_map(Test::value)))
            }
            Kind::Like { sides, .. } => Box::new([&sides.0, &sides.1].into_iter()),
            Kind::Case { operand, whens, otherwise } => {
                let whens = whens.iter().flat_map(|(when, then)| {
                    let when = match when {
                        When::Holds(condition) => Some(condition),
                        When::Is(test) => test.value(),
                    };
                    when.into_iter().chain(std::iter::once(then))
                });
                let operand = operand.iter().map(|operand| &**operand);
                Box::new(operand.chain(whens).chain(std::iter::once(&**otherwise)))
            }
        }
    }
}

impl Test {
    /// What is compared with.
    pub(super) fn value(&self) -> Option<&Typed> {
        match &self.right {
            Right::Value(value) => Some(value),
            Right::Fixed { .. } => None,
        }
    }
}
