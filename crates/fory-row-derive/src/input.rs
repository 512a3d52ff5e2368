//! What the macro is told: the struct, its fields and their attributes.

use proc_macro2::Span;
use quote::format_ident;
use syn::ext::IdentExt;
use syn::punctuated::Punctuated;
use syn::spanned::Spanned;
use syn::{Attribute, Data, DeriveInput, Error, Expr, ExprLit, Fields, GenericParam, Generics, Ident, Lit};
use syn::{Meta, Path, Result, Token, Type, Visibility};

/// A struct whose values are rows.
pub(crate) struct Row<'i> {
    pub(crate) name: &'i Ident,
    pub(crate) visibility: &'i Visibility,
    pub(crate) generics: &'i Generics,
    /// The name of its view.
    pub(crate) view: Ident,
    /// Where the crate `fory_row` is.
    pub(crate) krate: Path,
    pub(crate) fields: Vec<Field<'i>>,
}

pub(crate) struct Field<'i> {
    pub(crate) ident: &'i Ident,
    pub(crate) visibility: &'i Visibility,
    pub(crate) ty: &'i Type,
    pub(crate) docs: Vec<&'i Attribute>,
    /// Its name in the schema.
    pub(crate) name: String,
    /// Whether an attribute makes it nullable.
    pub(crate) nullable: bool,
}

impl<'i> Row<'i> {
    pub(crate) fn parse(input: &'i DeriveInput) -> Result<Self> {
        let Data::Struct(data) = &input.data else {
            return Err(Error::new(input.ident.span(), "ForyRow is derived for structs only"));
        };
        let Fields::Named(named) = &data.fields else {
            return Err(Error::new(
                input.ident.span(),
                "ForyRow needs fields with names: the schema has them",
            ));
        };
        if named.named.is_empty() {
            return Err(Error::new(input.ident.span(), "ForyRow needs a field: there are no rows without"));
        }
        for parameter in &input.generics.params {
            if !matches!(parameter, GenericParam::Lifetime(_)) {
                let text = "ForyRow takes lifetimes only: offsets are worked out when the struct is compiled";
                return Err(Error::new(parameter.span(), text));
            }
        }
        let mut krate = syn::parse_str("::fory_row")?;
        let mut view = format_ident!("{}View", input.ident);
        for meta in attributes(&input.attrs)? {
            match &meta {
                Meta::NameValue(pair) if pair.path.is_ident("crate") => krate = path(&pair.value)?,
                Meta::NameValue(pair) if pair.path.is_ident("view") => view = name(&pair.value)?,
                other => {
                    let text = "unknown attribute: a struct takes crate = path and view = Name";
                    return Err(Error::new(other.span(), text));
                }
            }
        }
        let fields = named.named.iter().map(Field::parse).collect::<Result<Vec<_>>>()?;
        for (index, field) in fields.iter().enumerate() {
            if fields.iter().take(index).any(|other| other.name == field.name) {
                return Err(Error::new(
                    field.ident.span(),
                    format!("another field has the name {}", field.name),
                ));
            }
        }
        Ok(Self {
            name: &input.ident,
            visibility: &input.vis,
            generics: &input.generics,
            view,
            krate,
            fields,
        })
    }
}

impl<'i> Field<'i> {
    fn parse(field: &'i syn::Field) -> Result<Self> {
        let Some(ident) = &field.ident else {
            return Err(Error::new(Span::call_site(), "a field without a name"));
        };
        let mut name = ident.unraw().to_string();
        let mut nullable = false;
        for meta in attributes(&field.attrs)? {
            match &meta {
                Meta::Path(path) if path.is_ident("nullable") => nullable = true,
                Meta::NameValue(pair) if pair.path.is_ident("rename") => name = text(&pair.value)?,
                other => {
                    let text = "unknown attribute: a field takes nullable and rename = \"name\"";
                    return Err(Error::new(other.span(), text));
                }
            }
        }
        let docs = field.attrs.iter().filter(|attribute| attribute.path().is_ident("doc")).collect();
        Ok(Self { ident, visibility: &field.vis, ty: &field.ty, docs, name, nullable })
    }
}

/// What is in all `#[fory(…)]`.
fn attributes(attributes: &[Attribute]) -> Result<Vec<Meta>> {
    let mut all = vec![];
    for attribute in attributes.iter().filter(|attribute| attribute.path().is_ident("fory")) {
        // `crate` is a keyword, which Meta takes as a path only in this way.
        all.extend(attribute.parse_args_with(Punctuated::<Meta, Token![,]>::parse_terminated)?);
    }
    Ok(all)
}

fn text(value: &Expr) -> Result<String> {
    match value {
        Expr::Lit(ExprLit { lit: Lit::Str(text), .. }) => Ok(text.value()),
        other => Err(Error::new(other.span(), "needs text in quotes")),
    }
}

fn name(value: &Expr) -> Result<Ident> {
    match value {
        Expr::Path(path) => path.path.require_ident().cloned(),
        Expr::Lit(ExprLit { lit: Lit::Str(text), .. }) => text.parse(),
        other => Err(Error::new(other.span(), "needs the name of a type")),
    }
}

fn path(value: &Expr) -> Result<Path> {
    match value {
        Expr::Path(path) => Ok(path.path.clone()),
        Expr::Lit(ExprLit { lit: Lit::Str(text), .. }) => text.parse(),
        other => Err(Error::new(other.span(), "needs the path of a crate")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_row_is_refused_by_name() {
        let cases = [
            ("struct Pose(f32, f32);", "ForyRow needs fields with names: the schema has them"),
            ("struct Pose;", "ForyRow needs fields with names: the schema has them"),
            ("enum Pose { At { x: f32 } }", "ForyRow is derived for structs only"),
            ("union Pose { x: f32 }", "ForyRow is derived for structs only"),
            ("struct Pose {}", "ForyRow needs a field: there are no rows without"),
            (
                "struct Pose<T> { x: T }",
                "ForyRow takes lifetimes only: offsets are worked out when the struct is compiled",
            ),
            (
                "struct Pose<const N: usize> { x: [f32; N] }",
                "ForyRow takes lifetimes only: offsets are worked out when the struct is compiled",
            ),
            (
                "#[fory(version = 1)] struct Pose { x: f32 }",
                "unknown attribute: a struct takes crate = path and view = Name",
            ),
            ("#[fory(view = 7)] struct Pose { x: f32 }", "needs the name of a type"),
            (
                "struct Pose { #[fory(skip)] x: f32 }",
                "unknown attribute: a field takes nullable and rename = \"name\"",
            ),
            ("struct Pose { #[fory(rename = 7)] x: f32 }", "needs text in quotes"),
            ("#[fory(crate = 7)] struct Pose { x: f32 }", "needs the path of a crate"),
            (
                "struct Pose { r#type: f32, #[fory(rename = \"type\")] y: f32 }",
                "another field has the name type",
            ),
        ];
        for (source, expected) in cases {
            let input = syn::parse_str::<DeriveInput>(source);
            let found = input.and_then(|input| Row::parse(&input).map(drop));
            assert_eq!(found.err().map(|error| error.to_string()).as_deref(), Some(expected), "{source}");
        }
    }

    #[test]
    fn names_and_attributes_are_read() -> Result<()> {
        let input = syn::parse_str::<DeriveInput>(
            "#[fory(crate = demilance::row, view = Seen)] struct Pose<'a> {
                /// Which.
                r#type: &'a str,
                #[fory(nullable, rename = \"Y\")] y: f32,
            }",
        )?;
        let row = Row::parse(&input)?;
        let krate = row.krate.segments.iter().map(|segment| segment.ident.to_string());
        assert_eq!(krate.collect::<Vec<_>>(), ["demilance", "row"]);
        assert_eq!(row.view, "Seen");
        let fields = row.fields.iter().map(|field| (field.name.as_str(), field.nullable, field.docs.len()));
        assert_eq!(fields.collect::<Vec<_>>(), [("type", false, 1), ("Y", true, 0)]);
        Ok(())
    }
}
