//! Expected results of [`crate::arithmetic`].

use super::{Buffer, Device, equal, launched, numbers};
use crate::arithmetic::{self, VALUES, of_doubles};

pub(super) fn doubles<D: Device>(device: &D) -> Result<(), String> {
    let n = 3000;
    // Positive numbers with all bits of the mantissa; `c` is about -`a` `b`, so that a fused
    // multiply-add gives another sum.
    let values = numbers(2 * n);
    let double = |v: u64| f64::from_bits(v >> 12 | (1013 + v % 20) << 52);
    let a: Vec<f64> = values[..n].iter().map(|&v| double(v)).collect();
    let b: Vec<f64> = values[n..].iter().map(|&v| double(v)).collect();
    let c: Vec<f64> = a.iter().zip(&b).map(|(a, b)| -(a * b)).collect();
    let rows = a.iter().zip(&b).zip(&c);
    let expected: Vec<u64> = rows
        .flat_map(|((&a, &b), &c)| of_doubles(a, b, c))
        .collect();
    let inputs = [&a, &b, &c].map(|values| Buffer::new(device, values));
    let out = Buffer::new(device, &vec![u64::MAX; n * VALUES as usize]);
    // SAFETY: as many elements each, and as many rows.
    launched(unsafe {
        arithmetic::doubles::launch_threads(
            device,
            n,
            inputs[0].view(),
            inputs[1].view(),
            inputs[2].view(),
            out.view_mut(),
        )
    })?;
    equal("doubles", &out.read(), &expected)
}
