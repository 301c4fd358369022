// SPDX-License-Identifier: MIT
//! CPU kernels written by a generator: what is known when the program is compiled is in the kernel, the rest are arguments.
use std::marker::PhantomData;
use std::os::raw::c_int;

use tlcache::{Cache, Module, Request, Result};

/// An element type of a kernel.
pub trait Element: Copy {
    /// Its name in C.
    const C: &'static str;
}
impl Element for f32 {
    const C: &'static str = "float";
}
impl Element for f64 {
    const C: &'static str = "double";
}
impl Element for i32 {
    const C: &'static str = "int";
}

/// An operation, element by element: the expression in C, of `x` and `y`.
#[derive(Clone, Debug)]
pub enum Expression {
    /// The first argument.
    X,
    /// The second argument.
    Y,
    /// A sum.
    Add(Box<Expression>, Box<Expression>),
    /// A product.
    Mul(Box<Expression>, Box<Expression>),
    /// The greater.
    Max(Box<Expression>, Box<Expression>),
}

impl Expression {
    fn c(&self) -> String {
        match self {
            Expression::X => "x[i]".to_owned(),
            Expression::Y => "y[i]".to_owned(),
            Expression::Add(a, b) => format!("({} + {})", a.c(), b.c()),
            Expression::Mul(a, b) => format!("({} * {})", a.c(), b.c()),
            Expression::Max(a, b) => {
                let (a, b) = (a.c(), b.c());
                format!("({a} > {b} ? {a} : {b})")
            }
        }
    }
}

/// A kernel that is loaded. Called with slices; it keeps its module.
pub struct Kernel<T> {
    module: Module,
    _element: PhantomData<fn(T)>,
}

impl<T: Element> Kernel<T> {
    /// The kernel of an expression, from the cache or compiled.
    pub fn new(cache: &Cache, expression: &Expression, unroll: u32) -> Result<Kernel<T>> {
        let source = format!(
            "void kernel(const {c}* restrict x, const {c}* restrict y, {c}* restrict out, int n) {{\n\
             #pragma GCC unroll {unroll}\n  for (int i = 0; i < n; ++i) out[i] = {e};\n}}\n",
            c = T::C,
            e = expression.c()
        );
        let request = Request::builder("clients/kernels")
            .target("cpu:native")
            .field("source", source.as_str())
            .field("options", ["-O3"])
            .label(&format!("{} {}", T::C, expression.c()))
            .build()?;
        let module = cache.load(&cache.get_or_compile_by_backend(&request)?)?;
        module.symbol("kernel")?; // said now, not at the first call
        Ok(Kernel { module, _element: PhantomData })
    }

    /// Runs it. Panics where the slices have not the same length.
    pub fn call(&self, x: &[T], y: &[T], out: &mut [T]) {
        assert!(x.len() == y.len() && y.len() == out.len(), "slices of {}, {} and {}", x.len(), y.len(), out.len());
        let symbol = self.module.symbol("kernel").expect("it was there when the kernel was made");
        let n = c_int::try_from(out.len()).expect("a length that C's int holds");
        // SAFETY: the source above says so, for elements of this type, and the module is kept.
        let kernel: extern "C" fn(*const T, *const T, *mut T, c_int) = unsafe { std::mem::transmute(symbol.address()) };
        kernel(x.as_ptr(), y.as_ptr(), out.as_mut_ptr(), n);
    }
}

/// `max(x * y, x + y)`.
pub fn example() -> Expression {
    let (x, y) = (|| Box::new(Expression::X), || Box::new(Expression::Y));
    Expression::Max(Box::new(Expression::Mul(x(), y())), Box::new(Expression::Add(x(), y())))
}
