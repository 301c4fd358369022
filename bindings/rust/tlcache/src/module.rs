// SPDX-License-Identifier: MIT
//! Modules: artifacts loaded on a device.
use std::fmt;
use std::marker::PhantomData;
use std::os::raw::c_void;
use std::ptr::NonNull;

use tlcache_sys as sys;

use crate::error::{Error, ErrorKind, Report, Result};
use crate::text;

/// Where to load. The default is the backend's current device and context, and the member it chooses. A program that has
/// contexts of its own makes the one it means current before it loads.
#[derive(Clone, Debug, Default)]
pub struct LoadOptions {
    /// Ordinal of the device.
    pub device: Option<i64>,
    /// Which member.
    pub member: Option<String>,
}

/// An artifact loaded on a device, shared by all who load it there in this process. Ends with its last handle.
pub struct Module(NonNull<sys::tlc_module>);

// SAFETY: the library allows every function on a module from any thread at any time; references are counted atomically.
unsafe impl Send for Module {}
// SAFETY: as above.
unsafe impl Sync for Module {}

impl Module {
    pub(crate) fn own(module: *mut sys::tlc_module) -> Result<Module> {
        match NonNull::new(module) {
            Some(module) => Ok(Module(module)),
            None => Err(Error::new(ErrorKind::Internal, "the library gave no module")),
        }
    }

    /// A symbol: a function for a CPU module, the driver's function handle for a device.
    pub fn symbol(&self, name: &str) -> Result<Symbol<'_>> {
        let (mut out, mut report) = (std::ptr::null_mut(), Report::new());
        // SAFETY: alive; the address is borrowed from the module.
        let status = unsafe { sys::tlc_module_symbol(self.0.as_ptr(), text::of(name), &mut out, report.out()) };
        report.check(status)?;
        match NonNull::new(out) {
            Some(address) => Ok(Symbol { address, _module: PhantomData }),
            None => Err(Error::new(ErrorKind::NotFound, format!("the symbol '{}' has no address", name))),
        }
    }

    /// The backend's own handle of the module; `None` in a child that may not use it.
    pub fn native(&self) -> Option<NonNull<c_void>> {
        // SAFETY: alive.
        NonNull::new(unsafe { sys::tlc_module_native(self.0.as_ptr()) })
    }
}

impl Clone for Module {
    fn clone(&self) -> Module {
        // SAFETY: counts one more reference of a module that is alive.
        unsafe { sys::tlc_module_retain(self.0.as_ptr()) };
        Module(self.0)
    }
}

impl Drop for Module {
    fn drop(&mut self) {
        // SAFETY: gives back the one reference of this handle.
        unsafe { sys::tlc_module_release(self.0.as_ptr()) }
    }
}

impl fmt::Debug for Module {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Module({:p})", self.0)
    }
}

/// The address of a symbol, valid while its module is. Calling it is the caller's to vouch for: only they know its type.
///
/// ```no_run
/// # fn add_of(module: &tlcache::Module) -> tlcache::Result<()> {
/// let symbol = module.symbol("add")?;
/// // SAFETY: the source says `int add(int, int)`, and the module lives until the last call.
/// let add: extern "C" fn(i32, i32) -> i32 = unsafe { std::mem::transmute(symbol.address()) };
/// assert_eq!(add(2, 3), 5);
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Symbol<'a> {
    address: NonNull<c_void>,
    _module: PhantomData<&'a Module>,
}

// SAFETY: an address; using it is what needs care.
unsafe impl Send for Symbol<'_> {}
// SAFETY: as above.
unsafe impl Sync for Symbol<'_> {}

impl Symbol<'_> {
    /// The address.
    pub fn address(self) -> *mut c_void {
        self.address.as_ptr()
    }
}
