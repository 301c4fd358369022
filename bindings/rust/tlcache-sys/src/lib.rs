// SPDX-License-Identifier: MIT
//! Declarations of libtlcache's C interface, as they stand in its headers (`tlcache.h`, `backend.h`, `remote.h`), which
//! say what everything means. The crate `tlcache` is the safe interface.
//!
//! The library is found by pkg-config; `TLCACHE_LIB_DIR` and `TLCACHE_INCLUDE` override it, the feature `static` links the
//! archive, and `DOCS_RS` or the feature `docs-only` links nothing. A crate that depends on this one and compiles C gets
//! the headers' folder as `DEP_TLCACHE_INCLUDE`.
//!
//! Nobody needs libclang: the declarations are committed. They are compared with the headers when the crate is tested, and
//! with the library that runs by [`layout_differences`] and [`constant_differences`].
#![allow(non_camel_case_types)]
#![warn(missing_docs)]

#[cfg(not(target_pointer_width = "64"))]
compile_error!("libtlcache is for 64-bit machines");

use std::ffi::CStr;

/// Tells offset and size of each member, from the struct that Rust really lays out.
macro_rules! layout_of {
    ($add:ident, $name:ident { $($member:ident),* }) => {{
        let place = std::mem::MaybeUninit::<$name>::uninit();
        let base = place.as_ptr();
        $add(stringify!($name), None, 0, std::mem::size_of::<$name>());
        $({
            // SAFETY: only the address of the member is taken; nothing is read.
            let member = unsafe { std::ptr::addr_of!((*base).$member) };
            let spelled = stringify!($member);
            let spelled = spelled.strip_prefix("r#").unwrap_or(spelled);
            $add(stringify!($name), Some(spelled), member as usize - base as usize, $crate::size_behind(member));
        })*
    }};
}

fn size_behind<T>(_: *const T) -> usize {
    std::mem::size_of::<T>()
}

#[rustfmt::skip]
#[allow(missing_docs)]
mod bindings;
pub use bindings::*;

/// `TLC_SIZEOF`: the size of a struct up to the end of a member; what its `struct_size` holds.
#[macro_export]
macro_rules! TLC_SIZEOF {
    ($name:ty, $last:ident) => {{
        let place = std::mem::MaybeUninit::<$name>::uninit();
        let base = place.as_ptr();
        // SAFETY: only addresses are taken.
        let (from, to) = unsafe {
            let last = std::ptr::addr_of!((*base).$last);
            (base as usize, last.add(1) as usize)
        };
        to - from
    }};
}

/// One struct (`member` is `None`) or one member, as this crate lays it out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place {
    /// The struct.
    pub name: &'static str,
    /// The member of it.
    pub member: Option<&'static str>,
    /// Where the member begins.
    pub offset: usize,
    /// Its size, in bytes.
    pub size: usize,
}

/// Every struct and member as this crate lays them out.
pub fn layout() -> Vec<Place> {
    let mut places = Vec::new();
    bindings::layout(&mut |name, member, offset, size| {
        places.push(Place { name, member, offset, size });
    });
    places
}

/// Every constant as this crate has it.
pub fn constants() -> &'static [(&'static str, i64)] {
    bindings::CONSTANTS
}

/// What the running library lays out otherwise than this crate, in words. A struct that has grown at its end is no
/// difference: that is how structs grow.
pub fn layout_differences() -> Vec<String> {
    let mut count = 0;
    // SAFETY: the table is static and has count entries; its texts are static and end with NUL.
    let theirs: Vec<(&CStr, Option<&CStr>, u64, u64)> = unsafe {
        let table = tlc_abi_layout(&mut count);
        let entries = std::slice::from_raw_parts(table, count).iter();
        entries
            .map(|one| {
                let member = if one.member.is_null() { None } else { Some(CStr::from_ptr(one.member)) };
                (CStr::from_ptr(one.struct_name), member, one.offset, one.size)
            })
            .collect()
    };
    let mut wrong = Vec::new();
    for ours in layout() {
        let same = |one: &&(&CStr, Option<&CStr>, u64, u64)| {
            one.0.to_bytes() == ours.name.as_bytes() && one.1.map(CStr::to_bytes) == ours.member.map(str::as_bytes)
        };
        let what = match ours.member {
            Some(member) => format!("{}.{}", ours.name, member),
            None => ours.name.to_owned(),
        };
        match theirs.iter().find(same) {
            None => wrong.push(format!("{} is not in the library", what)),
            Some(one) if ours.member.is_none() => {
                if one.3 < ours.size as u64 {
                    wrong.push(format!("{} has {} bytes instead of {}", what, one.3, ours.size));
                }
            }
            Some(one) if (one.2, one.3) != (ours.offset as u64, ours.size as u64) => wrong.push(format!(
                "{} is at {} with {} bytes instead of at {} with {}",
                what, one.2, one.3, ours.offset, ours.size
            )),
            Some(_) => (),
        }
    }
    wrong
}

/// Constants that the running library has otherwise than this crate, in words. Its versions and the sizes of its tables
/// may be greater, and it may have more.
pub fn constant_differences() -> Vec<String> {
    let mut count = 0;
    // SAFETY: as in layout_differences.
    let theirs: Vec<(&CStr, i64)> = unsafe {
        let table = tlc_abi_constants(&mut count);
        std::slice::from_raw_parts(table, count).iter().map(|one| (CStr::from_ptr(one.name), one.value)).collect()
    };
    let mut wrong = Vec::new();
    for (name, ours) in constants() {
        let grows = name.starts_with("TLC_VERSION") || *name == "TLC_ABI_MINOR" || name.ends_with("_OPS_SIZE");
        match theirs.iter().find(|one| one.0.to_bytes() == name.as_bytes()) {
            None => wrong.push(format!("{} is not in the library", name)),
            Some((_, value)) if value != ours && !grows => {
                wrong.push(format!("{} is {} instead of {}", name, value, ours));
            }
            Some(_) => (),
        }
    }
    wrong
}
