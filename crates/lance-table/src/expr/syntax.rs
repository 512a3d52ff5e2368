//! The syntax tree of an expression. What is long in practice (`a OR b OR …`, `a + b + …`) is one node with many
//! children, so that the depth of a tree, and with it the stack that walking or freeing it takes, has a bound.

use arrow_schema::DataType;

/// A tree is at most so many nodes deep.
pub(super) const MAX_DEPTH: usize = 64;

/// Brackets and operators in front of a term nest at most so deep in a text: twice as deep as the tree, which is what
/// printing it may make of it.
pub(super) const MAX_NESTING: usize = 2 * MAX_DEPTH + 2;

/// A part of an expression, and where it stands: bytes into the text.
#[derive(Debug, Clone)]
pub(super) struct Node {
    pub(super) kind: Kind,
    pub(super) at: usize,
    depth: usize,
}

#[derive(Debug, Clone)]
pub(super) enum Kind {
    /// Names from the outermost to the innermost field.
    Column(Vec<String>),
    Literal(Literal),
    Not(Box<Node>),
    Negate(Box<Node>),
    And(Vec<Node>),
    Or(Vec<Node>),
    /// Operators of one strength, from left to right.
    Chain {
        first: Box<Node>,
        rest: Vec<(Arithmetic, Node)>,
    },
    Compare {
        op: Comparison,
        sides: Box<(Node, Node)>,
    },
    Between {
        value: Box<Node>,
        bounds: Box<(Node, Node)>,
        negated: bool,
    },
    In {
        value: Box<Node>,
        list: Vec<Node>,
        negated: bool,
    },
    Like {
        /// The text and the pattern.
        sides: Box<(Node, Node)>,
        negated: bool,
        any_case: bool,
    },
    Is {
        value: Box<Node>,
        what: Is,
        negated: bool,
    },
    Cast {
        value: Box<Node>,
        to: DataType,
        /// Gives null where a value cannot be cast, instead of an error.
        or_null: bool,
    },
    Call {
        name: String,
        args: Vec<Node>,
    },
    Case {
        operand: Option<Box<Node>>,
        /// Conditions (or values of the operand), and results.
        whens: Vec<(Node, Node)>,
        otherwise: Option<Box<Node>>,
    },
}

/// A literal as it was written. What a number is depends on what it meets.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Literal {
    Null,
    Bool(bool),
    /// Digits, perhaps with a sign, a point and an exponent.
    Number(String),
    Text {
        value: String,
        /// In double quotes, where other software may expect a name.
        double_quoted: bool,
    },
    Bytes(Vec<u8>),
    Interval(String),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Comparison {
    Eq,
    NotEq,
    Less,
    LessEq,
    Greater,
    GreaterEq,
    /// Like `NotEq` and `Eq`, but nulls are equal to each other and to nothing else.
    Distinct,
    NotDistinct,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Arithmetic {
    Add,
    Subtract,
    Multiply,
    Divide,
    Remainder,
    Concat,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Is {
    Null,
    True,
    False,
    /// A null that is a boolean.
    Unknown,
}

impl Node {
    /// A node, unless it is deeper than [`MAX_DEPTH`].
    pub(super) fn new(kind: Kind, at: usize) -> Option<Self> {
        let below = kind.children().map(|child| child.depth).max().unwrap_or(0);
        (below < MAX_DEPTH).then_some(Self { kind, at, depth: below + 1 })
    }
}

impl Kind {
    fn children(&self) -> Box<dyn Iterator<Item = &Node> + '_> {
        match self {
            Self::Column(_) | Self::Literal(_) => Box::new(std::iter::empty()),
            Self::Not(value) | Self::Negate(value) | Self::Is { value, .. } | Self::Cast { value, .. } => {
                Box::new(std::iter::once(&**value))
            }
            Self::And(all) | Self::Or(all) | Self::Call { args: all, .. } => Box::new(all.iter()),
            Self::Chain { first, rest } => {
                Box::new(std::iter::once(&**first).chain(rest.iter().map(|(_, node)| node)))
            }
            Self::Compare { sides, .. } | Self::Like { sides, .. } => {
                Box::new([&sides.0, &sides.1].into_iter())
            }
            Self::Between { value, bounds, .. } => Box::new([&**value, &bounds.0, &bounds.1].into_iter()),
            Self::In { value, list, .. } => Box::new(std::iter::once(&**value).chain(list)),
            Self::Case { operand, whens, otherwise } => {
                let whens = whens.iter().flat_map(|(when, then)| [when, then]);
                Box::new(
                    operand
                        .iter()
                        .map(|node| &**node)
                        .chain(whens)
                        .chain(otherwise.iter().map(|node| &**node)),
                )
            }
        }
    }
}

impl Comparison {
    /// The operator with its sides exchanged.
    pub(super) const fn flipped(self) -> Self {
        match self {
            Self::Less => Self::Greater,
            Self::LessEq => Self::GreaterEq,
            Self::Greater => Self::Less,
            Self::GreaterEq => Self::LessEq,
            same => same,
        }
    }

    pub(super) const fn text(self) -> &'static str {
        match self {
            Self::Eq => "=",
            Self::NotEq => "<>",
            Self::Less => "<",
            Self::LessEq => "<=",
            Self::Greater => ">",
            Self::GreaterEq => ">=",
            Self::Distinct => "IS DISTINCT FROM",
            Self::NotDistinct => "IS NOT DISTINCT FROM",
        }
    }
}

impl Arithmetic {
    pub(super) const fn text(self) -> &'static str {
        match self {
            Self::Add => "+",
            Self::Subtract => "-",
            Self::Multiply => "*",
            Self::Divide => "/",
            Self::Remainder => "%",
            Self::Concat => "||",
        }
    }
}

impl Is {
    pub(super) const fn text(self) -> &'static str {
        match self {
            Self::Null => "NULL",
            Self::True => "TRUE",
            Self::False => "FALSE",
            Self::Unknown => "UNKNOWN",
        }
    }
}
