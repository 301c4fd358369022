// SPDX-License-Identifier: MIT
//! Targets: what code is compiled for.
use std::fmt::{self, Write as _};

/// What code is compiled for: `kind[:arch[:feature...]]`. The library knows the grammar, the kind's backend the meaning.
///
/// ```
/// use tlcache::Target;
/// assert_eq!(Target::kind("cuda").arch("sm_90a").to_string(), "cuda:sm_90a");
/// assert_eq!(Target::kind("cpu").arch("x86_64").feature("avx2").feature("fma").to_string(), "cpu:x86_64:avx2:fma");
/// // Any text is a word: what the grammar has no letter for is written by its bytes.
/// assert_eq!(Target::kind("opencl").arch("PoCL 4").to_string(), "opencl:%50o%43%4C%204");
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Target(String);

impl Target {
    /// A target of a kind (`cpu`, `cuda`), without an arch.
    pub fn kind(kind: &str) -> Target {
        let mut target = Target(String::new());
        target.word(kind);
        target
    }

    /// With an arch; `native` or `auto` is what the backend finds on this machine.
    #[must_use]
    pub fn arch(self, arch: &str) -> Target {
        self.feature(arch)
    }

    /// With a feature. The order of features does not matter.
    #[must_use]
    pub fn feature(mut self, feature: &str) -> Target {
        self.0.push(':');
        self.word(feature);
        self
    }

    /// For several targets in one artifact.
    #[must_use]
    pub fn and(mut self, other: &Target) -> Target {
        self.0.push(',');
        self.0.push_str(&other.0);
        self
    }

    /// The text.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    fn word(&mut self, word: &str) {
        for byte in word.bytes() {
            match byte {
                b'a'..=b'z' | b'0'..=b'9' | b'_' | b'.' | b'+' | b'-' => self.0.push(byte as char),
                other => write!(self.0, "%{:02X}", other).expect("a String takes everything"),
            }
        }
    }
}

/// As it stands: what is wrong in it is said when a key is made.
impl From<&str> for Target {
    fn from(text: &str) -> Target {
        Target(text.to_owned())
    }
}

impl From<String> for Target {
    fn from(text: String) -> Target {
        Target(text)
    }
}

impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}
