// SPDX-License-Identifier: MIT
//! Artifacts: what is found. Members are memory of the store's own mapping.
use std::ffi::OsStr;
use std::fmt;
use std::marker::PhantomData;
use std::ops::{Bound, Deref, Index, RangeBounds};
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;
use std::ptr::NonNull;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use tlcache_sys as sys;

use crate::bundle::MemberType;
use crate::error::{Error, ErrorKind, Report, Result};
use crate::key::Digest;
use crate::text::{self, Blob};

/// A verified, immutable artifact. Its members are valid while a handle of it is alive, also when the entry is evicted or
/// the cache is closed. Cloning counts a reference.
///
/// ```
/// # use tlcache::{Bundle, Cache, Request};
/// # fn main() -> tlcache::Result<()> {
/// # let cache = Cache::options().memory(true).open()?;
/// # let key = Request::builder("doc").no_toolchain().field("n", 1).build()?.key()?;
/// let artifact = cache.put(&key, &Bundle::new().member("kernel.bin", b"\x7fELF"))?.artifact;
/// let borrowed: &[u8] = &artifact["kernel.bin"];
/// assert_eq!(borrowed, b"\x7fELF");
/// let owned: tlcache::Bytes = artifact.bytes("kernel.bin")?; // keeps the artifact by itself
/// drop(artifact);
/// assert_eq!(&owned[1..], b"ELF");
/// # Ok(())
/// # }
/// ```
///
/// What is borrowed from an artifact cannot outlive it:
///
/// ```compile_fail
/// # use tlcache::Artifact;
/// fn leak(artifact: Artifact) -> &'static [u8] {
///     &artifact["kernel.bin"]
/// }
/// ```
pub struct Artifact(NonNull<sys::tlc_artifact>);

// SAFETY: an artifact never changes while it is held, and its references are counted atomically; the library allows every
// function on it from any thread at any time.
unsafe impl Send for Artifact {}
// SAFETY: as above.
unsafe impl Sync for Artifact {}

impl Artifact {
    /// Takes over a reference.
    #[inline]
    pub(crate) fn own(artifact: *mut sys::tlc_artifact) -> Option<Artifact> {
        NonNull::new(artifact).map(Artifact)
    }

    pub(crate) fn expect(artifact: *mut sys::tlc_artifact) -> Result<Artifact> {
        Artifact::own(artifact).ok_or_else(|| Error::new(ErrorKind::Internal, "the library gave no artifact"))
    }

    #[inline]
    pub(crate) fn ptr(&self) -> *mut sys::tlc_artifact {
        self.0.as_ptr()
    }

    /// Number of members.
    #[inline]
    pub fn len(&self) -> usize {
        // SAFETY: alive.
        unsafe { sys::tlc_artifact_member_count(self.ptr()) }
    }

    /// Whether it has no members. The library publishes none such.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The bytes of a member by position: the shortest way to them. 64-byte aligned.
    #[inline]
    pub fn data(&self, index: usize) -> Option<&[u8]> {
        let mut size = 0;
        // SAFETY: alive; the bytes live and stay as they are while self does.
        unsafe {
            let data = sys::tlc_artifact_data(self.ptr(), index, &mut size);
            if data.is_null() {
                return None;
            }
            Some(text::slice(data.cast(), size))
        }
    }

    /// A member by name. [`ErrorKind::NotFound`] lists the names there are.
    pub fn member(&self, name: &str) -> Result<Member<'_>> {
        let (mut out, mut report) = (empty_member(), Report::new());
        // SAFETY: alive; out has its size.
        let status = unsafe { sys::tlc_artifact_find(self.ptr(), text::of(name), &mut out, report.out()) };
        report.check(status)?;
        // SAFETY: borrowed from the artifact.
        Ok(unsafe { Member::read(&out) })
    }

    /// A member's bytes that keep the artifact by themselves.
    pub fn bytes(&self, name: &str) -> Result<Bytes> {
        let data = self.member(name)?.data;
        let (start, len) = (data.as_ptr(), data.len());
        Ok(Bytes { start, len, artifact: self.clone() })
    }

    /// All members, in the order they were added.
    pub fn members(&self) -> Members<'_> {
        Members { artifact: self, next: 0, end: self.len() }
    }

    /// A copy of a member, read with `pread` and verified again: faster than the mapping for bytes read once, and safe
    /// where somebody truncates the store's files.
    pub fn read(&self, name: &str) -> Result<Vec<u8>> {
        let (index, size) = match self.members().enumerate().find(|(_, member)| member.name == name) {
            Some((index, member)) => (index, member.data.len()),
            None => return self.member(name).map(|member| member.data.to_vec()),
        };
        let mut out = vec![0; size];
        let mut report = Report::new();
        // SAFETY: the buffer has that capacity.
        let status = unsafe { sys::tlc_artifact_read(self.ptr(), index, out.as_mut_ptr().cast(), size, report.out()) };
        report.check(status)?;
        Ok(out)
    }

    /// A folder with the members as files: verified, never changed, there as long as the artifact and the cache are.
    pub fn folder(&self) -> Result<PathBuf> {
        let (mut blob, mut report) = (Blob::NONE, Report::new());
        // SAFETY: alive.
        let status = unsafe { sys::tlc_artifact_folder(self.ptr(), &mut blob.0, report.out()) };
        report.check(status)?;
        Ok(PathBuf::from(OsStr::from_bytes(blob.bytes())))
    }

    /// Facts about it.
    pub fn info(&self) -> Result<ArtifactInfo<'_>> {
        // SAFETY: all zero is a valid tlc_artifact_info.
        let mut out: sys::tlc_artifact_info = unsafe { std::mem::zeroed() };
        out.struct_size = sys::TLC_SIZEOF!(sys::tlc_artifact_info, tier);
        let mut report = Report::new();
        // SAFETY: alive; out has its size.
        let status = unsafe { sys::tlc_artifact_get_info(self.ptr(), &mut out, report.out()) };
        report.check(status)?;
        // SAFETY: texts and digest are borrowed from the artifact.
        unsafe {
            Ok(ArtifactInfo {
                namespace: text::str(out.name_space),
                label: text::str(out.label),
                digest: Digest::read(out.digest),
                generation: out.generation,
                created: UNIX_EPOCH + Duration::from_nanos(out.created_ns),
                compile_time: Duration::from_micros(out.compile_us),
                size: out.size,
                tier: Tier::of(out.tier),
            })
        }
    }

    /// The target it was keyed for; empty: none.
    pub fn target(&self) -> &str {
        match crate::library::host().artifact_target {
            // SAFETY: alive; the text is borrowed from the artifact.
            Some(target) => unsafe { text::str(target(self.ptr())) },
            None => "",
        }
    }

    /// The encoding of its key; `None` where it was stored by digest only.
    pub fn key_encoding(&self) -> Option<&[u8]> {
        let mut len = 0;
        // SAFETY: alive; borrowed from the artifact.
        unsafe {
            let data = sys::tlc_artifact_key_encoding(self.ptr(), &mut len);
            if data.is_null() {
                return None;
            }
            Some(text::slice(data, len))
        }
    }
}

impl Clone for Artifact {
    #[inline]
    fn clone(&self) -> Artifact {
        // SAFETY: counts one more reference of an artifact that is alive.
        unsafe { sys::tlc_artifact_retain(self.ptr()) };
        Artifact(self.0)
    }
}

impl Drop for Artifact {
    #[inline]
    fn drop(&mut self) {
        // SAFETY: gives back the one reference of this handle.
        unsafe { sys::tlc_artifact_release(self.ptr()) }
    }
}

/// The bytes of a member; panics, and lists the names, where there is none. [`Artifact::member`] gives an error instead.
impl Index<&str> for Artifact {
    type Output = [u8];

    fn index(&self, name: &str) -> &[u8] {
        match self.member(name) {
            Ok(member) => member.data,
            Err(error) => panic!("{}", error),
        }
    }
}

impl<'a> IntoIterator for &'a Artifact {
    type Item = Member<'a>;
    type IntoIter = Members<'a>;

    fn into_iter(self) -> Members<'a> {
        self.members()
    }
}

impl fmt::Debug for Artifact {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut out = f.debug_struct("Artifact");
        if let Ok(info) = self.info() {
            out.field("digest", &info.digest).field("namespace", &info.namespace).field("label", &info.label);
        }
        let names: Vec<&str> = self.members().map(|member| member.name).collect();
        out.field("members", &names).finish()
    }
}

fn empty_member() -> sys::tlc_member {
    sys::tlc_member {
        struct_size: sys::TLC_SIZEOF!(sys::tlc_member, r#type),
        name: text::EMPTY,
        data: std::ptr::null(),
        size: 0,
        r#type: 0,
    }
}

/// One member, borrowed from its artifact. Is its bytes, too: `member.len()`, `&member[..4]`.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Member<'a> {
    /// Its name.
    pub name: &'a str,
    /// Its bytes, 64-byte aligned.
    pub data: &'a [u8],
    /// What it is.
    pub kind: MemberType,
}

impl<'a> Member<'a> {
    /// # Safety
    /// What the member refers to is valid for `'a`.
    unsafe fn read(member: &sys::tlc_member) -> Member<'a> {
        Member {
            name: text::str(member.name),
            data: text::slice(member.data.cast(), member.size as usize),
            kind: MemberType::of(member.r#type),
        }
    }
}

impl Deref for Member<'_> {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        self.data
    }
}

impl AsRef<[u8]> for Member<'_> {
    fn as_ref(&self) -> &[u8] {
        self.data
    }
}

impl fmt::Debug for Member<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Member({:?}, {:?}, {} bytes)", self.name, self.kind, self.data.len())
    }
}

/// Members of an artifact, in the order they were added.
#[derive(Clone, Debug)]
pub struct Members<'a> {
    artifact: &'a Artifact,
    next: usize,
    end: usize,
}

impl<'a> Members<'a> {
    fn at(&self, index: usize) -> Option<Member<'a>> {
        let mut out = empty_member();
        // SAFETY: alive; out has its size; no detail of an error is wanted.
        let status = unsafe { sys::tlc_artifact_member_at(self.artifact.ptr(), index, &mut out, std::ptr::null_mut()) };
        // SAFETY: borrowed from the artifact.
        (status == sys::TLC_OK).then(|| unsafe { Member::read(&out) })
    }
}

impl<'a> Iterator for Members<'a> {
    type Item = Member<'a>;

    fn next(&mut self) -> Option<Member<'a>> {
        if self.next == self.end {
            return None;
        }
        self.next += 1;
        self.at(self.next - 1)
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        (self.end - self.next, Some(self.end - self.next))
    }
}

impl DoubleEndedIterator for Members<'_> {
    fn next_back(&mut self) -> Option<Self::Item> {
        if self.next == self.end {
            return None;
        }
        self.end -= 1;
        self.at(self.end)
    }
}

impl ExactSizeIterator for Members<'_> {}

/// A member's bytes, or a part of them, that keep the artifact by themselves. Cheap to clone; any thread may hold it.
#[derive(Clone)]
pub struct Bytes {
    start: *const u8,
    len: usize,
    artifact: Artifact,
}

// SAFETY: the bytes never change while the artifact is held, and the artifact may be held by any thread.
unsafe impl Send for Bytes {}
// SAFETY: as above.
unsafe impl Sync for Bytes {}

impl Bytes {
    /// A part of it, without copying. Panics where it is not within it, as a slice does.
    #[must_use]
    pub fn slice(&self, range: impl RangeBounds<usize>) -> Bytes {
        let from = match range.start_bound() {
            Bound::Included(at) => *at,
            Bound::Excluded(at) => at + 1,
            Bound::Unbounded => 0,
        };
        let to = match range.end_bound() {
            Bound::Included(at) => at + 1,
            Bound::Excluded(at) => *at,
            Bound::Unbounded => self.len,
        };
        let part = &self[from..to];
        Bytes { start: part.as_ptr(), len: part.len(), artifact: self.artifact.clone() }
    }

    /// What it belongs to.
    pub fn artifact(&self) -> &Artifact {
        &self.artifact
    }
}

impl Deref for Bytes {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        // SAFETY: the artifact keeps them.
        unsafe { text::slice(self.start, self.len) }
    }
}

impl AsRef<[u8]> for Bytes {
    fn as_ref(&self) -> &[u8] {
        self
    }
}

impl PartialEq for Bytes {
    fn eq(&self, other: &Bytes) -> bool {
        **self == **other
    }
}
impl Eq for Bytes {}

impl fmt::Debug for Bytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Bytes({} bytes)", self.len)
    }
}

/// Where an artifact came from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Tier {
    /// This process only.
    Memory,
    /// The store on this host.
    Store,
    /// A read-only pack.
    Pack,
    /// A remote tier.
    Remote,
    /// One of a newer library.
    Other(u32),
}

impl Tier {
    fn of(number: u32) -> Tier {
        match number {
            sys::TLC_TIER_MEMORY => Tier::Memory,
            sys::TLC_TIER_STORE => Tier::Store,
            sys::TLC_TIER_PACK => Tier::Pack,
            sys::TLC_TIER_REMOTE => Tier::Remote,
            other => Tier::Other(other),
        }
    }
}

/// Facts about an artifact; texts are borrowed from it.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct ArtifactInfo<'a> {
    /// The namespace of its key.
    pub namespace: &'a str,
    /// For people.
    pub label: &'a str,
    /// The digest of its key.
    pub digest: Digest,
    /// Grows with each publish in this store.
    pub generation: u64,
    /// When it was published.
    pub created: SystemTime,
    /// How long it took to compile.
    pub compile_time: Duration,
    /// Bytes of all members.
    pub size: u64,
    /// Where it came from.
    pub tier: Tier,
}

/// A borrowed artifact: what a callback is given.
pub(crate) struct Lent<'a> {
    artifact: std::mem::ManuallyDrop<Artifact>,
    _call: PhantomData<&'a ()>,
}

impl Lent<'_> {
    /// The artifact is alive as long as this is; no reference is taken.
    pub(crate) fn new(artifact: *const sys::tlc_artifact) -> Result<Self> {
        let artifact = std::mem::ManuallyDrop::new(Artifact::expect(artifact as *mut _)?);
        Ok(Lent { artifact, _call: PhantomData })
    }
}

impl Deref for Lent<'_> {
    type Target = Artifact;

    fn deref(&self) -> &Artifact {
        &self.artifact
    }
}
