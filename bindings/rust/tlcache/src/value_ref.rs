// SPDX-License-Identifier: MIT
//! Reading the fields of a request: in compile closures and in backends.
use std::fmt;
use std::marker::PhantomData;

use tlcache_sys as sys;

use crate::error::{Error, ErrorKind, Result};
use crate::field::Value;
use crate::key::Digest;
use crate::text;

/// A request to read from. Borrowed: from a [`Request`](crate::Request), or from the call of a closure or slot.
#[derive(Clone, Copy)]
pub struct RequestRef<'a> {
    pub(crate) request: *const sys::tlc_request,
    pub(crate) _request: PhantomData<&'a ()>,
}

// SAFETY: read only, and it does not outlive the request.
unsafe impl Send for RequestRef<'_> {}
// SAFETY: as above.
unsafe impl Sync for RequestRef<'_> {}

// SAFETY of the calls below: the request lives and is not changed for 'a, and texts and values are borrowed from it.
impl<'a> RequestRef<'a> {
    /// The namespace.
    pub fn namespace(&self) -> &'a str {
        unsafe { text::str(sys::tlc_request_namespace(self.request)) }
    }

    /// The target as it was set, unresolved; empty: none.
    pub fn target(&self) -> &'a str {
        unsafe { text::str(sys::tlc_request_target(self.request)) }
    }

    /// The engine as it was set; empty: the default one.
    pub fn engine(&self) -> &'a str {
        unsafe { text::str(sys::tlc_request_engine(self.request)) }
    }

    /// The label for people.
    pub fn label(&self) -> &'a str {
        unsafe { text::str(sys::tlc_request_label(self.request)) }
    }

    /// The field of this name.
    pub fn find(&self, name: &str) -> Option<ValueRef<'a>> {
        let value = unsafe { sys::tlc_request_find(self.request, text::of(name)) };
        if value.is_null() {
            None
        } else {
            Some(ValueRef { value, _request: PhantomData })
        }
    }

    /// The field of this name; an error that says so where there is none.
    pub fn field(&self, name: &str) -> Result<ValueRef<'a>> {
        self.find(name).ok_or_else(|| {
            Error::new(ErrorKind::Invalid, format!("the request has no field '{}', which is needed: add it", name))
        })
    }

    /// The text of a field that must be there.
    pub fn text(&self, name: &str) -> Result<&'a str> {
        self.field(name)?.text().map_err(|error| error.within(&format!("field '{}'", name)))
    }

    /// The whole number of a field that must be there.
    pub fn int(&self, name: &str) -> Result<i64> {
        self.field(name)?.int().map_err(|error| error.within(&format!("field '{}'", name)))
    }

    /// The texts of a field that is a list of them; empty where there is no such field.
    pub fn texts(&self, name: &str) -> Result<Vec<&'a str>> {
        let list = match self.find(name) {
            None => return Ok(Vec::new()),
            Some(list) => list,
        };
        list.items()
            .and_then(|items| items.iter().map(ValueRef::text).collect())
            .map_err(|error| error.within(&format!("field '{}'", name)))
    }
}

/// A field's whole value, borrowed from its request.
#[derive(Clone, Copy)]
pub struct ValueRef<'a> {
    value: *const sys::tlc_value,
    _request: PhantomData<&'a ()>,
}

// SAFETY: read only, and it does not outlive the request.
unsafe impl Send for ValueRef<'_> {}
// SAFETY: as above.
unsafe impl Sync for ValueRef<'_> {}

// SAFETY of the calls below: as for RequestRef.
impl<'a> ValueRef<'a> {
    fn kind(&self) -> u32 {
        unsafe { sys::tlc_value_type(self.value) }
    }

    /// The type in words.
    pub fn type_name(&self) -> &'static str {
        match self.kind() {
            sys::TLC_TYPE_NULL => "null",
            sys::TLC_TYPE_BOOL => "a bool",
            sys::TLC_TYPE_INT => "an int",
            sys::TLC_TYPE_F64 => "an f64",
            sys::TLC_TYPE_TEXT => "a text",
            sys::TLC_TYPE_BYTES => "bytes",
            sys::TLC_TYPE_DIGEST => "a digest",
            sys::TLC_TYPE_LIST => "a list",
            sys::TLC_TYPE_MAP => "a map",
            _ => "of a type that this version does not know",
        }
    }

    fn is(&self, kind: u32, wanted: &str) -> Result<()> {
        if self.kind() == kind {
            return Ok(());
        }
        Err(Error::new(ErrorKind::Invalid, format!("it is {}; give {}", self.type_name(), wanted)))
    }

    /// Whether it is null.
    pub fn is_null(&self) -> bool {
        self.kind() == sys::TLC_TYPE_NULL
    }

    /// A text.
    pub fn text(&self) -> Result<&'a str> {
        self.is(sys::TLC_TYPE_TEXT, "a text")?;
        Ok(unsafe { text::str(sys::tlc_value_text(self.value)) })
    }

    /// Bytes.
    pub fn bytes(&self) -> Result<&'a [u8]> {
        self.is(sys::TLC_TYPE_BYTES, "bytes")?;
        Ok(unsafe { text::bytes(sys::tlc_value_text(self.value)) })
    }

    /// A digest.
    pub fn digest(&self) -> Result<Digest> {
        self.is(sys::TLC_TYPE_DIGEST, "a digest")?;
        Ok(unsafe { Digest::read(sys::tlc_value_text(self.value).data.cast()) })
    }

    /// A whole number that an `i64` holds.
    pub fn int(&self) -> Result<i64> {
        self.is(sys::TLC_TYPE_INT, "an int")?;
        let mut out = 0;
        match unsafe { sys::tlc_value_int(self.value, &mut out) } {
            sys::TLC_OK => Ok(out),
            _ => Err(Error::new(
                ErrorKind::Invalid,
                "it is above 2^63 - 1, which a backend has no way to read: give such a number as text or bytes",
            )),
        }
    }

    /// A truth.
    pub fn bool(&self) -> Result<bool> {
        self.is(sys::TLC_TYPE_BOOL, "a bool")?;
        let mut out = 0;
        let status = unsafe { sys::tlc_value_int(self.value, &mut out) };
        Ok(status == sys::TLC_OK && out != 0)
    }

    /// A number, also a whole one.
    pub fn f64(&self) -> Result<f64> {
        let mut out = 0.0;
        match unsafe { sys::tlc_value_f64(self.value, &mut out) } {
            sys::TLC_OK => Ok(out),
            _ => self.is(sys::TLC_TYPE_F64, "a number").map(|()| out),
        }
    }

    fn children(&self) -> Vec<(&'a str, ValueRef<'a>)> {
        let count = unsafe { sys::tlc_value_count(self.value) };
        let mut out = Vec::with_capacity(count);
        for index in 0..count {
            let mut name = text::EMPTY;
            let value = unsafe { sys::tlc_value_at(self.value, index, &mut name) };
            out.push((unsafe { text::str(name) }, ValueRef { value, _request: PhantomData }));
        }
        out
    }

    /// The elements of a list.
    pub fn items(&self) -> Result<Vec<ValueRef<'a>>> {
        self.is(sys::TLC_TYPE_LIST, "a list")?;
        Ok(self.children().into_iter().map(|(_, value)| value).collect())
    }

    /// The entries of a map.
    pub fn entries(&self) -> Result<Vec<(&'a str, ValueRef<'a>)>> {
        self.is(sys::TLC_TYPE_MAP, "a map")?;
        Ok(self.children())
    }

    /// A copy of it with everything inside.
    pub fn to_value(&self) -> Result<Value> {
        Ok(match self.kind() {
            sys::TLC_TYPE_BOOL => Value::Bool(self.bool()?),
            sys::TLC_TYPE_INT => Value::Int(self.int()?),
            sys::TLC_TYPE_F64 => Value::F64(self.f64()?),
            sys::TLC_TYPE_TEXT => Value::Text(self.text()?.to_owned()),
            sys::TLC_TYPE_BYTES => Value::Bytes(self.bytes()?.to_vec()),
            sys::TLC_TYPE_DIGEST => Value::Digest(self.digest()?),
            sys::TLC_TYPE_LIST => Value::List(self.items()?.iter().map(ValueRef::to_value).collect::<Result<_>>()?),
            sys::TLC_TYPE_MAP => {
                let entries = self.entries()?;
                Value::Map(
                    entries.iter().map(|(name, v)| Ok(((*name).to_owned(), v.to_value()?))).collect::<Result<_>>()?,
                )
            }
            _ => Value::Null,
        })
    }
}

impl fmt::Debug for RequestRef<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RequestRef").field("namespace", &self.namespace()).field("target", &self.target()).finish()
    }
}

impl fmt::Debug for ValueRef<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.to_value().fmt(f)
    }
}
