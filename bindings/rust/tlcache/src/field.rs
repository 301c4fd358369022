// SPDX-License-Identifier: MIT
//! Values of fields: which types of Rust have one meaning in a key.
use std::collections::{BTreeMap, HashMap};
use std::fmt;

use tlcache_sys as sys;

use crate::error::{Error, ErrorKind, Report, Result};
use crate::key::Digest;
use crate::text;

/// A value of a field, for what is known only when the program runs. What Rust's own types mean is said at [`Field`].
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Value {
    /// No value, which is a value.
    Null,
    /// A truth.
    Bool(bool),
    /// A whole number. With `Uint` one type: 5 is 5.
    Int(i64),
    /// A whole number that may be above `i64::MAX`.
    Uint(u64),
    /// A number by its bits: -0.0 differs from 0.0; all NaN are one.
    F64(f64),
    /// UTF-8 text.
    Text(String),
    /// Bytes.
    Bytes(Vec<u8>),
    /// A digest.
    Digest(Digest),
    /// Values in order.
    List(Vec<Value>),
    /// Values by name, in no order.
    Map(Vec<(String, Value)>),
}

impl Value {
    /// A whole number of any size that a key can hold: -2^63 to 2^64 - 1.
    pub fn integer(value: i128) -> Result<Value> {
        i64::try_from(value).map(Value::Int).or_else(|_| u64::try_from(value).map(Value::Uint)).map_err(|_| {
            let message =
                format!("{} is out of range for a key (-2^63 to 2^64 - 1): give it as text or as bytes", value);
            Error::new(ErrorKind::Uncacheable, message)
        })
    }
}

/// Where a value goes: a request that is being made.
pub struct Sink<'a> {
    pub(crate) request: *mut sys::tlc_request,
    /// How the value is called in an error: `options[2]`.
    pub(crate) path: String,
    pub(crate) flags: u32,
    pub(crate) _request: std::marker::PhantomData<&'a mut ()>,
}

impl Sink<'_> {
    fn call(&mut self, add: impl FnOnce(*mut sys::tlc_request, u32, *mut sys::tlc_error) -> i32) -> Result<()> {
        let mut report = Report::new();
        let status = add(self.request, self.flags, report.out());
        report.check(status).map_err(|error| error.within(&format!("field '{}'", self.path)))
    }

    /// Adds what `fill` adds, one level down.
    fn nested(&mut self, name: &str, is_map: bool, fill: impl FnOnce(&mut Self) -> Result<()>) -> Result<()> {
        let begin = if is_map { sys::tlc_request_begin_map } else { sys::tlc_request_begin_list };
        // SAFETY: the request lives as long as self; names are copied.
        self.call(|request, flags, error| unsafe { begin(request, text::of(name), flags, error) })?;
        let flags = std::mem::replace(&mut self.flags, 0);
        fill(self)?;
        self.flags = flags;
        // SAFETY: as above.
        self.call(|request, _, error| unsafe { sys::tlc_request_end(request, error) })
    }

    fn list<T: Field>(&mut self, name: &str, items: impl Iterator<Item = T>) -> Result<()> {
        self.nested(name, false, |sink| {
            let length = sink.path.len();
            for (index, item) in items.enumerate() {
                sink.path.push_str(&format!("[{}]", index));
                item.add(sink, "")?;
                sink.path.truncate(length);
            }
            Ok(())
        })
    }

    fn map<'v, T: Field>(&mut self, name: &str, entries: impl Iterator<Item = (&'v str, T)>) -> Result<()> {
        self.nested(name, true, |sink| {
            let length = sink.path.len();
            for (name, value) in entries {
                sink.path.push('.');
                sink.path.push_str(name);
                value.add(sink, name)?;
                sink.path.truncate(length);
            }
            Ok(())
        })
    }
}

/// What may be the value of a field. Each type has one meaning, the same in every language:
///
/// | key | Rust |
/// |---|---|
/// | null | `()`, `None` |
/// | bool | `bool` |
/// | int | `i8` to `i64`, `u16` to `u64`, `isize`, `usize`; others by [`Value::integer`] |
/// | f64 | `f32`, `f64` |
/// | text | `&str`, `String` |
/// | bytes | `[u8]`, `[u8; N]`, `Vec<u8>` |
/// | digest | [`Digest`] |
/// | list | slices, arrays and vectors of these |
/// | map | `BTreeMap` and `HashMap` with text keys |
/// | any | [`Value`] |
///
/// Anything else does not compile, since a value without one meaning would give a wrong kernel or never a hit. A number in
/// a `u8` is no field, because a vector of them is bytes: write `u32::from(n)`.
///
/// ```compile_fail
/// # use tlcache::Request;
/// use std::collections::HashSet;
/// Request::builder("myapp").field("flags", HashSet::from(["-O3"])); // a set has no order: the trait `Field` is missing
/// ```
pub trait Field: private::Sealed {
    #[doc(hidden)]
    fn add(&self, sink: &mut Sink<'_>, name: &str) -> Result<()>;
}

mod private {
    pub trait Sealed {}
}

macro_rules! field {
    ($(@[$($generic:tt)*])? $kind:ty, |$value:ident, $sink:ident, $name:ident| $add:expr) => {
        impl $(<$($generic)*>)? private::Sealed for $kind {}
        impl $(<$($generic)*>)? Field for $kind {
            fn add(&self, $sink: &mut Sink<'_>, $name: &str) -> Result<()> {
                let $value = self;
                $add
            }
        }
    };
}

// SAFETY of the calls: the request lives as long as the sink, and what is passed is copied.
macro_rules! plain {
    ($kind:ty, $function:ident, |$value:ident| $($argument:expr),*) => {
        field!($kind, |$value, sink, name| {
            sink.call(|request, flags, error| unsafe {
                sys::$function(request, text::of(name), $($argument,)* flags, error)
            })
        });
    };
}

plain!((), tlc_request_add_null, |_value|);
plain!(bool, tlc_request_add_bool, |value| i32::from(*value));
plain!(f32, tlc_request_add_f64, |value| f64::from(*value));
plain!(f64, tlc_request_add_f64, |value| *value);
plain!(str, tlc_request_add_text, |value| text::of(value));
plain!(String, tlc_request_add_text, |value| text::of(value));
plain!([u8], tlc_request_add_bytes, |value| value.as_ptr().cast(), value.len());
plain!(Digest, tlc_request_add_digest, |value| value.0.as_ptr());
macro_rules! integers {
    ($function:ident, $to:ty: $($kind:ty)*) => { $(plain!($kind, $function, |value| *value as $to);)* };
}
integers!(tlc_request_add_int, i64: i8 i16 i32 i64 isize);
integers!(tlc_request_add_uint, u64: u16 u32 u64 usize);

field!(@[const N: usize] [u8; N], |value, sink, name| value.as_slice().add(sink, name));
field!(Vec<u8>, |value, sink, name| value.as_slice().add(sink, name));
field!(@[T: Field] [T], |value, sink, name| sink.list(name, value.iter()));
field!(@[T: Field, const N: usize] [T; N], |value, sink, name| sink.list(name, value.iter()));
field!(@[T: Field] Vec<T>, |value, sink, name| sink.list(name, value.iter()));
field!(@[K: AsRef<str>, T: Field] BTreeMap<K, T>, |value, sink, name| {
    sink.map(name, value.iter().map(|(k, v)| (k.as_ref(), v)))
});
field!(@[K: AsRef<str>, T: Field, S] HashMap<K, T, S>, |value, sink, name| {
    sink.map(name, value.iter().map(|(k, v)| (k.as_ref(), v)))
});
field!(@[T: Field + ?Sized] &T, |value, sink, name| (**value).add(sink, name));
field!(@[T: Field] Option<T>, |value, sink, name| match value {
    Some(value) => value.add(sink, name),
    None => ().add(sink, name),
});
field!(Value, |value, sink, name| match value {
    Value::Null => ().add(sink, name),
    Value::Bool(value) => value.add(sink, name),
    Value::Int(value) => value.add(sink, name),
    Value::Uint(value) => value.add(sink, name),
    Value::F64(value) => value.add(sink, name),
    Value::Text(value) => value.add(sink, name),
    Value::Bytes(value) => value.add(sink, name),
    Value::Digest(value) => value.add(sink, name),
    Value::List(items) => sink.list(name, items.iter()),
    Value::Map(entries) => sink.map(name, entries.iter().map(|(name, value)| (name.as_str(), value))),
});

impl fmt::Debug for Sink<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Sink").field("path", &self.path).finish_non_exhaustive()
    }
}
