//! Runs the kernels on a device and compares.
