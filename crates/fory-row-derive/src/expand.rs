//! The code that is made.

use proc_macro2::{Span, TokenStream};
use quote::{format_ident, quote};
use syn::visit_mut::{self, VisitMut};
use syn::{Lifetime, Type};

use crate::input::Row;

pub(crate) fn expand(row: &Row<'_>) -> TokenStream {
    let Row { name, visibility, generics, krate, fields } = row;
    let derive = quote!(#krate::derive);
    let (impl_generics, type_generics, where_clause) = generics.split_for_impl();
    let view = format_ident!("{}View", name);
    let count = fields.len();

    let idents = fields.iter().map(|field| field.ident).collect::<Vec<_>>();
    let types = fields.iter().map(|field| field.ty).collect::<Vec<_>>();
    // Widths and views are the same for all lifetimes, and constants cannot name one.
    let statics = fields.iter().map(|field| without_lifetimes(field.ty)).collect::<Vec<_>>();
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
        /// Where the fields are.
        struct Places<F>(::core::marker::PhantomData<F>);

        impl<F: #krate::RowFormat> Places<F> {
            const ALL: #derive::StructGeometry<#count> = #derive::StructGeometry::new(
                F::FORMAT,
                [#(<#statics as #krate::RowType>::WIDTHS),*],
                [#(#nullable),*],
            );
        }

        #[automatically_derived]
        impl<'a, F: #krate::RowFormat> #view<'a, F> {
            /// Opens the row `bytes`, which are its own and nothing behind it.
            #[inline]
            #visibility fn open(bytes: &'a [u8]) -> #krate::Result<Self> {
                #derive::check_row(bytes, <Places<F>>::ALL.row.fixed_end)?;
                ::core::result::Result::Ok(Self { bytes, format: ::core::marker::PhantomData })
            }

            /// The bytes of the row.
            #visibility fn as_bytes(&self) -> &'a [u8] {
                self.bytes
            }

            #(
                #docs
                #[inline]
                #visibility fn #idents(
                    &self,
                ) -> #krate::Result<<#statics as #krate::RowType>::View<'a, F>> {
                    #derive::field::<#statics, F>(
                        self.bytes,
                        const { <Places<F>>::ALL.row },
                        const { <Places<F>>::ALL.slots[#indices] },
                        const { <Places<F>>::ALL.bits[#indices] },
                        #names,
                    )
                }
            )*
        }

        #[automatically_derived]
        impl #impl_generics #krate::RowType for #name #type_generics #where_clause {
            type View<'__view, F: #krate::RowFormat> = #view<'__view, F>;
            const WIDTHS: #derive::Widths = #derive::struct_widths(<Places<#krate::Compact>>::ALL.row);

            fn data_type() -> #krate::DataType {
                #krate::DataType::Struct(::std::vec![#(
                    #krate::Field::new(#names, <#statics as #krate::RowType>::data_type(), #nullable)
                ),*])
            }

            #[inline]
            fn hash<F: #krate::RowFormat>(hash: i64) -> i64 {
                <Self as #krate::ForyRow>::hash_fields::<F>(#derive::hash_type(hash))
            }

            #[inline]
            fn variable_len<F: #krate::RowFormat>(&self) -> usize {
                match <Places<F>>::ALL.row.inline {
                    ::core::option::Option::Some(_) => 0,
                    ::core::option::Option::None => #krate::ForyRow::encoded_len::<F>(self),
                }
            }

            #[inline]
            fn write<F: #krate::RowFormat>(
                &self,
                image: &mut #derive::Image<'_>,
                slot: usize,
            ) -> #krate::Result<()> {
                let row = const { <Places<F>>::ALL.row };
                let write = |image: &mut #derive::Image<'_>| #krate::ForyRow::write_fields::<F>(self, image);
                match row.inline {
                    ::core::option::Option::Some(width) => image.inline(slot, width, write),
                    ::core::option::Option::None => image.nested(slot, row.fixed_end, write),
                }
            }

            #[inline]
            fn view<F: #krate::RowFormat>(
                slot: #derive::Slot<'_>,
            ) -> #krate::Result<#view<'_, F>> {
                #view::open(#derive::struct_bytes(slot, <Places<F>>::ALL.row.inline)?)
            }
        }

        #[automatically_derived]
        impl #impl_generics #krate::ForyRow for #name #type_generics #where_clause {
            #[inline]
            fn hash_fields<F: #krate::RowFormat>(mut hash: i64) -> i64 {
                for index in <Places<F>>::ALL.order {
                    hash = match index {
                        #(#indices => <#statics as #krate::RowType>::hash::<F>(hash),)*
                        _ => hash,
                    };
                }
                hash
            }

            #[inline]
            fn geometry<F: #krate::RowFormat>() -> #derive::RowGeometry {
                const { <Places<F>>::ALL.row }
            }

            #[inline]
            fn fields_len<F: #krate::RowFormat>(&self) -> usize {
                let len = 0usize;
                #(let len = len.saturating_add(#krate::RowType::variable_len::<F>(&self.#idents));)*
                len
            }

            #[inline]
            fn write_fields<F: #krate::RowFormat>(
                &self,
                image: &mut #derive::Image<'_>,
            ) -> #krate::Result<()> {
                #(
                    #derive::write_field::<_, F>(
                        image,
                        const { <Places<F>>::ALL.row },
                        const { <Places<F>>::ALL.slots[#indices] },
                        const { <Places<F>>::ALL.bits[#indices] },
                        #names,
                        &self.#idents,
                    )?;
                )*
                ::core::result::Result::Ok(())
            }

            #[inline]
            fn view_row<F: #krate::RowFormat>(
                bytes: &[u8],
            ) -> #krate::Result<#view<'_, F>> {
                #view::open(bytes)
            }
        }

        #[automatically_derived]
        impl #decode_impl #krate::FromRow<#row_lifetime> for #name #type_generics #decode_where {
            #[inline]
            fn from_slot<F: #krate::RowFormat>(
                slot: #derive::Slot<#row_lifetime>,
                budget: &mut #derive::Budget,
            ) -> #krate::Result<Self> {
                let bytes = #derive::struct_bytes(slot, <Places<F>>::ALL.row.inline)?;
                #krate::FromRowBytes::from_bytes::<F>(bytes, budget)
            }
        }

        #[automatically_derived]
        impl #decode_impl #krate::FromRowBytes<#row_lifetime> for #name #type_generics #decode_where {
            #[inline]
            fn from_bytes<F: #krate::RowFormat>(
                bytes: &#row_lifetime [u8],
                budget: &mut #derive::Budget,
            ) -> #krate::Result<Self> {
                let row = const { <Places<F>>::ALL.row };
                #derive::check_row(bytes, row.fixed_end)?;
                budget.spend(row.fixed_end)?;
                ::core::result::Result::Ok(Self {#(
                    #idents: #derive::from_field::<#types, F>(
                        bytes,
                        row,
                        const { <Places<F>>::ALL.slots[#indices] },
                        const { <Places<F>>::ALL.bits[#indices] },
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

        fn visit_type_reference_mut(&mut self, reference: &mut syn::TypeReference) {
            visit_mut::visit_type_reference_mut(self, reference);
        }
    }
    let mut ty = ty.clone();
    Static.visit_type_mut(&mut ty);
    ty
}
