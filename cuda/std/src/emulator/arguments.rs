//! The views among a launch's arguments.

use core::ffi::c_void;

use crate::kernel::ParamKind;
use crate::launch::KernelSpec;
use crate::view::RawView;

/// A view among a kernel's arguments: a parameter, or a field of one.
pub(super) struct ViewArgument {
    /// Its name in the kernel's source: `labels`, or `problem.labels` for a field.
    pub(super) name: String,
    pub(super) start: usize,
    /// In elements.
    pub(super) len: usize,
    /// Size of an element in bytes.
    pub(super) element: usize,
    /// Whether the kernel may write through it.
    pub(super) writes: bool,
    pub(super) zero_at_exit: bool,
}

impl ViewArgument {
    /// Its size in bytes. A view may claim more elements than there are addresses.
    pub(super) fn bytes(&self) -> usize {
        self.len.saturating_mul(self.element)
    }
}

/// The views among the arguments of a launch, in the order of the parameters and their fields;
/// none if there is not one argument per parameter.
///
/// # Safety
///
/// If there are as many arguments as the kernel has parameters, they point at values of those
/// types.
pub(super) unsafe fn views(spec: &KernelSpec, args: &[*const c_void]) -> Vec<ViewArgument> {
    let mut views = Vec::new();
    if args.len() == spec.params.len() {
        for (param, &value) in spec.params.iter().zip(args) {
            // SAFETY: by the caller's promise a value of the parameter's type.
            unsafe { add(spec, param.name.to_owned(), param.kind, value, &mut views) };
        }
    }
    views
}

/// Adds the views of one parameter or field.
///
/// # Safety
///
/// `value` points at a value of a type that `kind` describes.
unsafe fn add(
    spec: &KernelSpec,
    name: String,
    kind: ParamKind,
    value: *const c_void,
    views: &mut Vec<ViewArgument>,
) {
    match kind {
        ParamKind::Value => {}
        ParamKind::View { element, writes } => {
            // SAFETY: a view is there, and every view has this layout.
            let RawView { ptr, len } = unsafe { value.cast::<RawView>().read() };
            views.push(ViewArgument {
                zero_at_exit: spec.zero_at_exit.contains(&name.as_str()),
                name,
                start: ptr.addr(),
                len,
                element,
                writes,
            });
        }
        ParamKind::Struct(fields) => {
            for field in fields {
                let name = format!("{name}.{}", field.name);
                // SAFETY: the field lies in the value, and `field.kind` describes its type.
                unsafe { add(spec, name, field.kind, value.byte_add(field.offset), views) };
            }
        }
    }
}
