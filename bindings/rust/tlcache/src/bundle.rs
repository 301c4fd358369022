// SPDX-License-Identifier: MIT
//! Bundles: the members that a compile makes, before they are published.
use std::borrow::Cow;
use std::path::{Path, PathBuf};
use std::time::Duration;

use tlcache_sys as sys;

use crate::error::{Report, Result};
use crate::key::{Digest, Key};
use crate::text;

/// What a member is. The library keeps values that it does not know.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum MemberType {
    /// Bytes the library knows nothing of.
    Opaque,
    /// A library for `dlopen`.
    SharedObject,
    /// Device code that a driver loads.
    DeviceBinary,
    /// Device code that a driver compiles further.
    DeviceIr,
    /// Source text.
    Source,
    /// Metadata as JSON.
    Json,
    /// A relocatable object.
    Object,
    /// Another one, by its number.
    Other(u32),
}

impl MemberType {
    pub(crate) fn of(number: u32) -> MemberType {
        match number {
            sys::TLC_MEMBER_OPAQUE => MemberType::Opaque,
            sys::TLC_MEMBER_SHARED_OBJECT => MemberType::SharedObject,
            sys::TLC_MEMBER_DEVICE_BINARY => MemberType::DeviceBinary,
            sys::TLC_MEMBER_DEVICE_IR => MemberType::DeviceIr,
            sys::TLC_MEMBER_SOURCE => MemberType::Source,
            sys::TLC_MEMBER_JSON => MemberType::Json,
            sys::TLC_MEMBER_OBJECT => MemberType::Object,
            other => MemberType::Other(other),
        }
    }

    /// The library's number for it.
    pub fn number(self) -> u32 {
        match self {
            MemberType::Opaque => sys::TLC_MEMBER_OPAQUE,
            MemberType::SharedObject => sys::TLC_MEMBER_SHARED_OBJECT,
            MemberType::DeviceBinary => sys::TLC_MEMBER_DEVICE_BINARY,
            MemberType::DeviceIr => sys::TLC_MEMBER_DEVICE_IR,
            MemberType::Source => sys::TLC_MEMBER_SOURCE,
            MemberType::Json => sys::TLC_MEMBER_JSON,
            MemberType::Object => sys::TLC_MEMBER_OBJECT,
            MemberType::Other(number) => number,
        }
    }
}

/// Members to publish, with what the library should know about them. Only a list: nothing happens before it is published,
/// and it may be published more than once.
///
/// ```
/// use tlcache::{Bundle, MemberType};
/// let bundle = Bundle::new()
///     .member("kernel.spv", vec![3, 2, 35, 7])
///     .typed_member("meta.json", MemberType::Json, "{}")
///     .label("blur 3x3");
/// # drop(bundle);
/// ```
#[derive(Clone, Debug, Default)]
pub struct Bundle {
    members: Vec<(String, MemberType, Cow<'static, [u8]>)>,
    guards: Vec<(PathBuf, Option<Digest>)>,
    absent: Vec<PathBuf>,
    requirements: Vec<Key>,
    compile_time: Option<Duration>,
    label: Option<String>,
}

/// Bytes of a member: taken over where they are owned, copied where they are borrowed.
pub trait IntoBytes {
    #[doc(hidden)]
    fn into_bytes(self) -> Vec<u8>;
}

macro_rules! into_bytes {
    ($($kind:ty, |$value:ident| $how:expr;)*) => {
        $(impl IntoBytes for $kind { fn into_bytes(self) -> Vec<u8> { let $value = self; $how } })*
    };
}
into_bytes! {
    Vec<u8>, |value| value;
    String, |value| value.into_bytes();
    &Vec<u8>, |value| value.clone();
    &[u8], |value| value.to_vec();
    &str, |value| value.as_bytes().to_vec();
    &String, |value| value.as_bytes().to_vec();
}
impl<const N: usize> IntoBytes for &[u8; N] {
    fn into_bytes(self) -> Vec<u8> {
        self.to_vec()
    }
}
impl<const N: usize> IntoBytes for [u8; N] {
    fn into_bytes(self) -> Vec<u8> {
        self.to_vec()
    }
}

impl Bundle {
    /// A bundle without members, which cannot be published yet.
    pub fn new() -> Bundle {
        Bundle::default()
    }

    /// With a member of opaque bytes. Its name is that of a file in a folder, and unique in the bundle.
    #[must_use]
    pub fn member(self, name: &str, bytes: impl IntoBytes) -> Bundle {
        self.typed_member(name, MemberType::Opaque, bytes)
    }

    /// With a member of a type.
    #[must_use]
    pub fn typed_member(mut self, name: &str, kind: MemberType, bytes: impl IntoBytes) -> Bundle {
        self.members.push((name.to_owned(), kind, Cow::Owned(bytes.into_bytes())));
        self
    }

    /// With a member of bytes that the program holds for ever; not copied.
    #[must_use]
    pub fn static_member(mut self, name: &str, kind: MemberType, bytes: &'static [u8]) -> Bundle {
        self.members.push((name.to_owned(), kind, Cow::Borrowed(bytes)));
        self
    }

    /// With a file the compile read (absolute path): the artifact is found only while it has this content. `digest` is
    /// BLAKE2b-256 of the content the compile saw; without it the file is read at publishing.
    #[must_use]
    pub fn guard(mut self, path: impl AsRef<Path>, digest: Option<Digest>) -> Bundle {
        self.guards.push((path.as_ref().to_owned(), digest));
        self
    }

    /// With a path where the compile found nothing: the artifact is found only while nothing is there.
    #[must_use]
    pub fn absent(mut self, path: impl AsRef<Path>) -> Bundle {
        self.absent.push(path.as_ref().to_owned());
        self
    }

    /// With another key that must be present for a closed look-up to find this artifact.
    #[must_use]
    pub fn require(mut self, key: &Key) -> Bundle {
        self.requirements.push(key.clone());
        self
    }

    /// How long the compile took: weighs against eviction. Measured where the library saw the compile.
    #[must_use]
    pub fn compile_time(mut self, time: Duration) -> Bundle {
        self.compile_time = Some(time);
        self
    }

    /// For people; overrides the request's.
    #[must_use]
    pub fn label(mut self, label: &str) -> Bundle {
        self.label = Some(label.to_owned());
        self
    }

    /// Adds everything to a bundle of the library's.
    ///
    /// # Safety
    /// `bundle` is valid, nobody else uses it, and it is destroyed before self changes or ends.
    pub(crate) unsafe fn fill(&self, bundle: *mut sys::tlc_bundle) -> Result<()> {
        self.add_all(bundle, sys::TLC_BUNDLE_BORROW)
    }

    /// # Safety
    /// `bundle` is valid and nobody else uses it. It copies the members.
    pub(crate) unsafe fn fill_copied(&self, bundle: *mut sys::tlc_bundle) -> Result<()> {
        self.add_all(bundle, 0)
    }

    unsafe fn add_all(&self, bundle: *mut sys::tlc_bundle, flags: u32) -> Result<()> {
        let mut report = Report::new();
        for (name, kind, bytes) in &self.members {
            let data = bytes.as_ptr().cast();
            let status =
                sys::tlc_bundle_add(bundle, text::of(name), kind.number(), data, bytes.len(), flags, report.out());
            report.check(status)?;
        }
        for (path, digest) in &self.guards {
            let digest = digest.as_ref().map_or(std::ptr::null(), |d| d.0.as_ptr());
            let status = sys::tlc_bundle_add_guard(bundle, text::of_path(path.as_os_str()), digest, report.out());
            report.check(status)?;
        }
        for path in &self.absent {
            let status = sys::tlc_bundle_add_absent(bundle, text::of_path(path.as_os_str()), report.out());
            report.check(status)?;
        }
        for key in &self.requirements {
            let status = sys::tlc_bundle_add_requirement(bundle, key.ptr(), report.out());
            report.check(status)?;
        }
        if let Some(time) = self.compile_time {
            let microseconds = u64::try_from(time.as_micros()).unwrap_or(u64::MAX);
            let status = sys::tlc_bundle_set_compile_time(bundle, microseconds, report.out());
            report.check(status)?;
        }
        if let Some(label) = &self.label {
            let status = sys::tlc_bundle_set_label(bundle, text::of(label), report.out());
            report.check(status)?;
        }
        Ok(())
    }
}

/// A bundle of the library's that borrows from one of ours.
pub(crate) struct Native<'a> {
    pub(crate) bundle: *mut sys::tlc_bundle,
    _from: &'a Bundle,
}

impl<'a> Native<'a> {
    pub(crate) fn new(from: &'a Bundle) -> Result<Native<'a>> {
        crate::library::ready()?;
        let (mut bundle, mut report) = (std::ptr::null_mut(), Report::new());
        // SAFETY: a new bundle, which ends before `from` does.
        let status = unsafe { sys::tlc_bundle_create(&mut bundle, report.out()) };
        report.check(status)?;
        let native = Native { bundle, _from: from };
        // SAFETY: as above.
        unsafe { from.fill(native.bundle) }?;
        Ok(native)
    }
}

impl Drop for Native<'_> {
    fn drop(&mut self) {
        // SAFETY: it is ours alone.
        unsafe { sys::tlc_bundle_destroy(self.bundle) }
    }
}
