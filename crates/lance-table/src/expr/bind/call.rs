//! Calls of functions, and CASE.

use arrow_schema::DataType;

use super::super::function::{Function, part};
use super::super::problem::closest;
use super::super::syntax::{Comparison, Literal, Node};
use super::super::typed::{Kind, Typed, When};
use super::super::types::{common, is_binary, is_ordered, is_text};
use super::{Arithmetic, Binder, Operand, Syntax, none_of};
use crate::Result;

impl Binder<'_> {
    pub(super) fn call(&mut self, name: &str, args: &[Node], at: usize) -> Result<Typed> {
        match name {
            "date_part" => return self.date_part(args, at),
            "concat" => return self.concat(args, at),
            _ => {}
        }
        let Some(function) = Function::named(name) else {
            let meant = closest(name, Function::names());
            let hint = match meant {
                Some(meant) => format!("; did you mean {meant}?"),
                None => format!("; there are {}", Function::names().collect::<Vec<_>>().join(", ")),
            };
            return Err(self.problem(at, format!("no function {name}{hint}")));
        };
        let count = |wanted: usize| match args.len() {
            found if found == wanted => Ok(()),
            found => Err(self.problem(at, format!("{name} takes {wanted} arguments, not {found}"))),
        };
        let (args, data_type) = match function {
            Function::Lower | Function::Upper | Function::Trim { .. } | Function::CharLength => {
                count(1)?;
                let text = self.text_of(first(args, at, self)?, name)?;
                let data_type = match (function, &text.data_type) {
                    (Function::CharLength, DataType::LargeUtf8) => DataType::Int64,
                    (Function::CharLength, _) => DataType::Int32,
                    (_, data_type) => data_type.clone(),
                };
                (vec![text], data_type)
            }
            Function::StartsWith | Function::EndsWith | Function::Contains => {
                count(2)?;
                let [text, piece] = args else { return Err(self.problem(at, "two texts are wanted")) };
                let (text, piece) = self.texts(text, piece, name)?;
                (vec![text, piece], DataType::Boolean)
            }
            Function::Coalesce | Function::NullIf => {
                if function == Function::NullIf {
                    count(2)?;
                }
                if args.is_empty() {
                    return Err(self.problem(at, format!("{name} takes at least one argument")));
                }
                let args = self.alike(&args.iter().collect::<Vec<_>>(), at)?;
                let data_type = args.first().map_or(DataType::Null, |arg| arg.data_type.clone());
                if function == Function::NullIf && !is_ordered(&data_type) {
                    return Err(self.problem(at, format!("values of type {data_type} cannot be compared")));
                }
                (args, data_type)
            }
            Function::Part(_) => {
                count(1)?;
                return self.part_of(function, first(args, at, self)?, at);
            }
            Function::Abs | Function::IsNan | Function::ListLength | Function::OctetLength => {
                count(1)?;
                let arg = self.bind(first(args, at, self)?)?;
                let (fits, wanted, data_type) = match function {
                    Function::Abs => {
                        let number = arg.data_type.is_numeric() || arg.data_type == DataType::Null;
                        (number, "a number", arg.data_type.clone())
                    }
                    Function::IsNan => (arg.data_type.is_numeric(), "a number", DataType::Boolean),
                    Function::ListLength => (is_list(&arg.data_type), "a list", DataType::UInt64),
                    _ => {
                        let long = matches!(arg.data_type, DataType::LargeUtf8 | DataType::LargeBinary);
                        let length = if long { DataType::Int64 } else { DataType::Int32 };
                        (is_text(&arg.data_type) || is_binary(&arg.data_type), "a text or bytes", length)
                    }
                };
                if !fits {
                    let problem = format!("{name} takes {wanted}, and this is of type {}", arg.data_type);
                    return Err(self.problem(arg.at, problem));
                }
                (vec![arg], data_type)
            }
        };
        Ok(Typed::new(Kind::Call { function, args }, data_type, at))
    }

    fn date_part(&mut self, args: &[Node], at: usize) -> Result<Typed> {
        let [name, value] = args else {
            return Err(self.problem(at, "date_part takes 2 arguments, as in date_part('year', a)"));
        };
        let part = match &name.kind {
            Syntax::Literal(Literal::Text { value, .. }) => part(value),
            _ => None,
        };
        let Some(part) = part else {
            let parts = "year, quarter, month, week, day, hour, minute, second, doy, dow";
            return Err(self.problem(name.at, format!("the part is one of {parts}")));
        };
        self.part_of(Function::Part(part), value, at)
    }

    fn part_of(&mut self, function: Function, value: &Node, at: usize) -> Result<Typed> {
        let value = self.bind(value)?;
        if let DataType::Timestamp(_, Some(zone)) = &value.data_type
            && !super::super::types::knows(zone)
        {
            return Err(self.problem(at, format!("of the time zone {zone} no table is at hand")));
        }
        let problem = format!("dates and times have such parts, {} has not", value.data_type);
        let temporal = value.data_type.is_temporal();
        let none = super::super::typed::Value::Many(none_of(&value.data_type));
        if !temporal || function.call(&[none], 0).is_err() {
            return Err(self.problem(at, problem));
        }
        Ok(Typed::new(Kind::Call { function, args: vec![value] }, DataType::Int32, at))
    }

    /// `concat(a, b, …)`: like `||`, but null is an empty text.
    fn concat(&mut self, args: &[Node], at: usize) -> Result<Typed> {
        let mut parts = args.iter().map(|arg| {
            let part = self.text_of(arg, "concat")?;
            let empty =
                Typed::constant(std::sync::Arc::new(arrow_array::StringArray::from(vec![""])), arg.at);
            let empty = self.cast_to(empty, &part.data_type)?;
            let data_type = part.data_type.clone();
            let args = vec![part, empty];
            self.fold(Typed::new(Kind::Call { function: Function::Coalesce, args }, data_type, arg.at))
        });
        let Some(first) = parts.next().transpose()? else {
            return Err(self.problem(at, "concat takes at least one argument"));
        };
        let rest = parts.collect::<Result<Vec<_>>>()?;
        let long = rest.iter().chain([&first]).any(|part| part.data_type == DataType::LargeUtf8);
        let data_type = if long { DataType::LargeUtf8 } else { DataType::Utf8 };
        let mut steps = vec![];
        for part in rest {
            let right = self.cast_to(part, &data_type)?;
            steps.push(super::Step { op: Arithmetic::Concat, left: data_type.clone(), right, at });
        }
        let first = Box::new(self.cast_to(first, &data_type)?);
        Ok(Typed::new(Kind::Chain { first, steps }, data_type, at))
    }

    pub(super) fn case(
        &mut self,
        operand: Option<&Node>,
        whens: &[(Node, Node)],
        otherwise: Option<&Node>,
        at: usize,
    ) -> Result<Typed> {
        let operand = operand.map(|operand| self.bind(operand)).transpose()?;
        let mut conditions = vec![];
        for (when, _) in whens {
            conditions.push(match &operand {
                None => When::Holds(self.boolean(when, "WHEN")?),
                Some(operand) => {
                    let value = self.operand(when)?;
                    When::Is(self.test(Comparison::Eq, operand, value, when.at)?)
                }
            });
        }
        let results = whens.iter().map(|(_, then)| then).chain(otherwise).collect::<Vec<_>>();
        let mut results = self.alike(&results, at)?;
        let last = if otherwise.is_some() { results.pop() } else { None };
        let data_type = results.first().map_or(DataType::Null, |result| result.data_type.clone());
        let last = last.unwrap_or_else(|| Typed::constant(arrow_array::new_null_array(&data_type, 1), at));
        let whens = conditions.into_iter().zip(results).collect();
        let kind = Kind::Case { operand: operand.map(Box::new), whens, otherwise: Box::new(last) };
        Ok(Typed::new(kind, data_type, at))
    }

    /// All of one type, which literals take from what is none.
    fn alike(&mut self, nodes: &[&Node], at: usize) -> Result<Vec<Typed>> {
        let operands = nodes.iter().map(|node| self.operand(node)).collect::<Result<Vec<_>>>()?;
        let mut both: Option<DataType> = None;
        for operand in &operands {
            let Operand::Typed(typed) = operand else { continue };
            both = Some(self.meet_type(both, &typed.data_type, at)?);
        }
        let mut typed = vec![];
        for operand in operands {
            let part = match (operand, &both) {
                (Operand::Literal { literal, at: place }, Some(both)) => match literal.meets(both) {
                    Ok(super::super::literal::Met::At(value)) if value.data_type() == both => {
                        Typed::constant(value, place)
                    }
                    _ => self.alone(Operand::Literal { literal, at: place })?,
                },
                (operand, _) => self.alone(operand)?,
            };
            both = Some(self.meet_type(both, &part.data_type, at)?);
            typed.push(part);
        }
        let both = both.unwrap_or(DataType::Null);
        typed.into_iter().map(|part| self.cast_to(part, &both)).collect()
    }

    fn meet_type(&self, one: Option<DataType>, other: &DataType, at: usize) -> Result<DataType> {
        let Some(one) = one else { return Ok(other.clone()) };
        common(&one, other).ok_or_else(|| {
            self.problem(at, format!("{one} and {other} have no common type; CAST(… AS …) converts"))
        })
    }
}

fn first<'n>(args: &'n [Node], at: usize, binder: &Binder<'_>) -> Result<&'n Node> {
    args.first().ok_or_else(|| binder.problem(at, "an argument is missing"))
}

const fn is_list(data_type: &DataType) -> bool {
    matches!(data_type, DataType::List(_) | DataType::LargeList(_) | DataType::FixedSizeList(..))
}
