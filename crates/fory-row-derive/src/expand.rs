//! The code that is made.

use proc_macro2::{Span, TokenStream};
use quote::quote;
use syn::visit_mut::VisitMut;
use syn::{Lifetime, Type};

use crate::input::Row;

pub(crate) fn expand(row: &Row<'_>) -> TokenStream {
    let Row { name, visibility, generics, view, krate, fields } = row;
    let derive = quote!(#krate::derive);
    let (impl_generics, type_generics, where_clause) = generics.split_for_impl();
    let count = fields.len();

    let idents = fields.iter().map(|field| field.ident).collect::<Vec<_>>();
    let types = fields.iter().map(|field| field.ty).collect::<Vec<_>>();
    // Widths and views are the same for all lifetimes, and constants cannot name one.
    let statics = fields.iter().map(|field| without_lifetimes(field.ty)).collect::<Vec<_>>();
    let static_self = without_lifetimes(&syn::parse_quote!(#name #type_generics));
    let visibilities = fields.iter().map(|field| field.visibility);
    let names = fields.iter().map(|field| field.name.as_str()).collect::<Vec<_>>();
    let indices = (0..count).collect::<Vec<_>>();
    let nullable = fields.iter().zip(&statics).map(|(field, ty)| {
        let flag = field.nullable;
        quote!(#flag || <#ty as #krate::RowType>::NULLABLE)
    });
    let nullable = nullable.collect::<Vec<_>>();
    let docs = fields.iter().map(|field| {
        let docs = &field.docs;
        let name = &field.name;
        if docs.is_empty() {
            let text = format!("The field `{name}`.");
            quote!(#[doc = #text])
        } else {
            quote!(#(#docs)*)
        }
    });

    // The impl for decoding has a lifetime for the bytes. Fields that borrow get theirs from it.
    let row_lifetime = Lifetime::new("'__row", Span::call_site());
    let mut decode_generics = (*generics).clone();
    decode_generics.params.insert(0, syn::parse_quote!(#row_lifetime));
    {
        let clause = decode_generics.make_where_clause();
        for ty in &types {
            clause.predicates.push(syn::parse_quote!(#ty: #krate::FromRow<#row_lifetime>));
        }
    }
    let (decode_impl, _, decode_where) = decode_generics.split_for_impl();

    let view_doc = format!("A [`{name}`] in the bytes of a row, of which fields are read one by one.");
    quote! {
        #[doc = #view_doc]
        #[derive(Debug, Clone, Copy)]
        #visibility struct #view<'a, F: #krate::RowFormat = #krate::Standard> {
            bytes: &'a [u8],
            format: ::core::marker::PhantomData<F>,
        }

        const _: () = {
        /// Where the fields are. These names are not those of types of fields.
        struct __Places<F>(::core::marker::PhantomData<F>);

        impl<__F: #krate::RowFormat> __Places<__F> {
            const ALL: #derive::StructGeometry<#count> = #derive::StructGeometry::new(
                __F::FORMAT,
                [#(<#statics as #krate::RowType>::WIDTHS),*],
                [#(#nullable),*],
            );
        }

        const _: () = #derive::check_depth(<#static_self as #krate::RowType>::DEPTH);

        #[automatically_derived]
        impl<'__row, __F: #krate::RowFormat> #krate::RowView<'__row> for #view<'__row, __F> {
            #[inline]
            fn open(bytes: &'__row [u8]) -> #krate::Result<Self> {
                #derive::check_row(bytes, <__Places<__F>>::ALL.row.fixed_end)?;
                ::core::result::Result::Ok(Self { bytes, format: ::core::marker::PhantomData })
            }

            #[inline]
            fn as_bytes(&self) -> &'__row [u8] {
                self.bytes
            }
        }

        #[allow(dead_code, reason = "nobody reads all fields lazily")]
        #[automatically_derived]
        impl<'__row, __F: #krate::RowFormat> #view<'__row, __F> {
            #(
                #docs
                #[inline]
                #visibilities fn #idents(
                    &self,
                ) -> #krate::Result<<#statics as #krate::RowType>::View<'__row, __F>> {
                    #derive::field::<#statics, __F>(
                        self.bytes,
                        const { <__Places<__F>>::ALL.row },
                        const { <__Places<__F>>::ALL.slots[#indices] },
                        const { <__Places<__F>>::ALL.bits[#indices] },
                        #names,
                    )
                }
            )*
        }

        #[automatically_derived]
        impl #impl_generics #krate::RowType for #name #type_generics #where_clause {
            type View<'__view, __F: #krate::RowFormat> = #view<'__view, __F>;
            const WIDTHS: #derive::Widths = #derive::struct_widths(<__Places<#krate::Compact>>::ALL.row);
            const DEPTH: usize = #derive::struct_depth(&[#(<#statics as #krate::RowType>::DEPTH),*]);

            fn data_type() -> #krate::DataType {
                #krate::DataType::Struct(::std::vec![#(
                    #krate::Field::new(#names, <#statics as #krate::RowType>::data_type(), #nullable)
                ),*])
            }

            #[inline]
            fn hash<__F: #krate::RowFormat>(hash: i64) -> i64 {
                <Self as #krate::ForyRow>::hash_fields::<__F>(#derive::hash_type(hash))
            }

            #[inline]
            fn variable_len<__F: #krate::RowFormat>(&self) -> usize {
                match <__Places<__F>>::ALL.row.inline {
                    ::core::option::Option::Some(_) => 0,
                    ::core::option::Option::None => #krate::ForyRow::encoded_len::<__F>(self),
                }
            }

            #[inline]
            fn write<__F: #krate::RowFormat>(
                &self,
                image: &mut #derive::Image<'_>,
                slot: usize,
            ) -> #krate::Result<()> {
                let row = const { <__Places<__F>>::ALL.row };
                let write = |image: &mut #derive::Image<'_>| #krate::ForyRow::write_fields::<__F>(self, image);
                match row.inline {
                    ::core::option::Option::Some(width) => image.inline(slot, width, write),
                    ::core::option::Option::None => image.nested(slot, row.fixed_end, write),
                }
            }

            #[inline]
            fn view<__F: #krate::RowFormat>(
                slot: #derive::Slot<'_>,
            ) -> #krate::Result<#view<'_, __F>> {
                #krate::RowView::open(slot.row(<__Places<__F>>::ALL.row.inline)?)
            }
        }

        #[automatically_derived]
        impl #impl_generics #krate::ForyRow for #name #type_generics #where_clause {
            #[inline]
            fn hash_fields<__F: #krate::RowFormat>(mut hash: i64) -> i64 {
                for index in <__Places<__F>>::ALL.order {
                    hash = match index {
                        #(#indices => <#statics as #krate::RowType>::hash::<__F>(hash),)*
                        _ => hash,
                    };
                }
                hash
            }

            #[inline]
            fn geometry<__F: #krate::RowFormat>() -> #derive::RowGeometry {
                const { <__Places<__F>>::ALL.row }
            }

            #[inline]
            fn fields_len<__F: #krate::RowFormat>(&self) -> usize {
                let len = 0usize;
                #(let len = len.saturating_add(#krate::RowType::variable_len::<__F>(&self.#idents));)*
                len
            }

            #[inline]
            fn write_fields<__F: #krate::RowFormat>(
                &self,
                image: &mut #derive::Image<'_>,
            ) -> #krate::Result<()> {
                #(
                    #derive::write_field::<_, __F>(
                        image,
                        const { <__Places<__F>>::ALL.row },
                        const { <__Places<__F>>::ALL.slots[#indices] },
                        const { <__Places<__F>>::ALL.bits[#indices] },
                        #names,
                        &self.#idents,
                    )?;
                )*
                ::core::result::Result::Ok(())
            }

            #[inline]
            fn view_row<__F: #krate::RowFormat>(
                bytes: &[u8],
            ) -> #krate::Result<#view<'_, __F>> {
                #krate::RowView::open(bytes)
            }
        }

        #[automatically_derived]
        impl #decode_impl #krate::FromRow<#row_lifetime> for #name #type_generics #decode_where {
            #[inline]
            fn from_slot<__F: #krate::RowFormat>(
                slot: #derive::Slot<#row_lifetime>,
                budget: &mut #derive::Budget,
            ) -> #krate::Result<Self> {
                let row = const { <__Places<__F>>::ALL.row };
                budget.spend_row(&row)?;
                #krate::FromRowBytes::from_bytes::<__F>(slot.row(row.inline)?, budget)
            }
        }

        #[automatically_derived]
        impl #decode_impl #krate::FromRowBytes<#row_lifetime> for #name #type_generics #decode_where {
            #[inline]
            fn from_bytes<__F: #krate::RowFormat>(
                bytes: &#row_lifetime [u8],
                budget: &mut #derive::Budget,
            ) -> #krate::Result<Self> {
                let row = const { <__Places<__F>>::ALL.row };
                #derive::check_row(bytes, row.fixed_end)?;
                ::core::result::Result::Ok(Self {#(
                    #idents: #derive::from_field::<#types, __F>(
                        bytes,
                        row,
                        const { <__Places<__F>>::ALL.slots[#indices] },
                        const { <__Places<__F>>::ALL.bits[#indices] },
                        #names,
                        budget,
                    )?,
                )*})
            }
        }

        };
    }
}

/// The type with `'static` for each of its lifetimes.
fn without_lifetimes(ty: &Type) -> Type {
    struct Static;
    impl VisitMut for Static {
        fn visit_lifetime_mut(&mut self, lifetime: &mut Lifetime) {
            *lifetime = Lifetime::new("'static", lifetime.span());
        }
    }
    let mut ty = ty.clone();
    Static.visit_type_mut(&mut ty);
    ty
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_docs_of_a_field_are_those_of_its_getter() -> syn::Result<()> {
        let input = syn::parse_str(
            "struct Pose {
                /// How far.
                ///
                /// In metres.
                pub x: f32,
                y: f32,
            }",
        )?;
        let made = expand(&Row::parse(&input)?).to_string();
        let docs = quote!(#[doc = " How far."] #[doc = ""] #[doc = " In metres."] #[inline] pub fn x);
        assert!(made.contains(&docs.to_string()), "{made}");
        let docs = quote!(#[doc = "The field `y`."] #[inline] fn y);
        assert!(made.contains(&docs.to_string()), "{made}");
        Ok(())
    }
}
