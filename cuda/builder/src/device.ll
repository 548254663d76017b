; Parts of cuda_std's nvptx backend that Rust can't express: address spaces, atomic scopes, read-only loads.
; The builder links this file into every kernel crate; all of it is inlined.

target datalayout = "e-p6:32:32-i64:64-i128:128-i256:256-v16:16-v32:32-n16:32:64"
target triple = "nvptx64-nvidia-cuda"

; The launch's dynamic shared memory: its size is given at launch, its address is one for the whole block.
@dynamic_shared = external addrspace(3) global [0 x i8], align 16

define ptr @"cuda_std.dynamic_shared_mem"() alwaysinline {
  ret ptr addrspacecast (ptr addrspace(3) @dynamic_shared to ptr)
}

; A generic address outside the shared, local and constant windows is the same number as the global address.
; Going through an integer keeps LLVM from folding the two casts away before it has seen what they say.
define ptr @"cuda_std.in_global_memory"(ptr %p) alwaysinline {
  %number = ptrtoint ptr %p to i64
  %global = inttoptr i64 %number to ptr addrspace(1)
  %generic = addrspacecast ptr addrspace(1) %global to ptr
  ret ptr %generic
}

; Loads that the compiler may assume to be invariant: `ld.global.nc`. The vectors are written element by element: LLVM
; drops the mark when it takes a vector load apart, and joins neighbouring marked loads with the mark kept.

define i8 @"cuda_std.ldg.b8"(ptr %p) alwaysinline {
  %global = addrspacecast ptr %p to ptr addrspace(1)
  %value = load i8, ptr addrspace(1) %global, align 1, !invariant.load !0
  ret i8 %value
}

define i16 @"cuda_std.ldg.b16"(ptr %p) alwaysinline {
  %global = addrspacecast ptr %p to ptr addrspace(1)
  %value = load i16, ptr addrspace(1) %global, align 2, !invariant.load !0
  ret i16 %value
}

define i32 @"cuda_std.ldg.b32"(ptr %p) alwaysinline {
  %global = addrspacecast ptr %p to ptr addrspace(1)
  %value = load i32, ptr addrspace(1) %global, align 4, !invariant.load !0
  ret i32 %value
}

define i64 @"cuda_std.ldg.b64"(ptr %p) alwaysinline {
  %global = addrspacecast ptr %p to ptr addrspace(1)
  %value = load i64, ptr addrspace(1) %global, align 8, !invariant.load !0
  ret i64 %value
}

define [2 x i32] @"cuda_std.ldg.v2b32"(ptr %p) alwaysinline {
  %g0 = addrspacecast ptr %p to ptr addrspace(1)
  %g1 = getelementptr inbounds i8, ptr addrspace(1) %g0, i64 4
  %e0 = load i32, ptr addrspace(1) %g0, align 8, !invariant.load !0
  %e1 = load i32, ptr addrspace(1) %g1, align 4, !invariant.load !0
  %a0 = insertvalue [2 x i32] poison, i32 %e0, 0
  %a1 = insertvalue [2 x i32] %a0, i32 %e1, 1
  ret [2 x i32] %a1
}

define [4 x i32] @"cuda_std.ldg.v4b32"(ptr %p) alwaysinline {
  %g0 = addrspacecast ptr %p to ptr addrspace(1)
  %g1 = getelementptr inbounds i8, ptr addrspace(1) %g0, i64 4
  %g2 = getelementptr inbounds i8, ptr addrspace(1) %g0, i64 8
  %g3 = getelementptr inbounds i8, ptr addrspace(1) %g0, i64 12
  %e0 = load i32, ptr addrspace(1) %g0, align 16, !invariant.load !0
  %e1 = load i32, ptr addrspace(1) %g1, align 4, !invariant.load !0
  %e2 = load i32, ptr addrspace(1) %g2, align 8, !invariant.load !0
  %e3 = load i32, ptr addrspace(1) %g3, align 4, !invariant.load !0
  %a0 = insertvalue [4 x i32] poison, i32 %e0, 0
  %a1 = insertvalue [4 x i32] %a0, i32 %e1, 1
  %a2 = insertvalue [4 x i32] %a1, i32 %e2, 2
  %a3 = insertvalue [4 x i32] %a2, i32 %e3, 3
  ret [4 x i32] %a3
}

define [2 x i64] @"cuda_std.ldg.v2b64"(ptr %p) alwaysinline {
  %g0 = addrspacecast ptr %p to ptr addrspace(1)
  %g1 = getelementptr inbounds i8, ptr addrspace(1) %g0, i64 8
  %e0 = load i64, ptr addrspace(1) %g0, align 16, !invariant.load !0
  %e1 = load i64, ptr addrspace(1) %g1, align 8, !invariant.load !0
  %a0 = insertvalue [2 x i64] poison, i64 %e0, 0
  %a1 = insertvalue [2 x i64] %a0, i64 %e1, 1
  ret [2 x i64] %a1
}

; Vector accesses. Written as copies of aligned structs, LLVM would split some of them in two.

define [2 x i32] @"cuda_std.ld.v2b32"(ptr %p) alwaysinline {
  %vector = load <2 x i32>, ptr %p, align 8
  %e0 = extractelement <2 x i32> %vector, i32 0
  %e1 = extractelement <2 x i32> %vector, i32 1
  %a0 = insertvalue [2 x i32] poison, i32 %e0, 0
  %a1 = insertvalue [2 x i32] %a0, i32 %e1, 1
  ret [2 x i32] %a1
}

define void @"cuda_std.st.v2b32"(ptr %p, i32 %e0, i32 %e1) alwaysinline {
  %v0 = insertelement <2 x i32> poison, i32 %e0, i32 0
  %v1 = insertelement <2 x i32> %v0, i32 %e1, i32 1
  store <2 x i32> %v1, ptr %p, align 8
  ret void
}

define [4 x i32] @"cuda_std.ld.v4b32"(ptr %p) alwaysinline {
  %vector = load <4 x i32>, ptr %p, align 16
  %e0 = extractelement <4 x i32> %vector, i32 0
  %e1 = extractelement <4 x i32> %vector, i32 1
  %e2 = extractelement <4 x i32> %vector, i32 2
  %e3 = extractelement <4 x i32> %vector, i32 3
  %a0 = insertvalue [4 x i32] poison, i32 %e0, 0
  %a1 = insertvalue [4 x i32] %a0, i32 %e1, 1
  %a2 = insertvalue [4 x i32] %a1, i32 %e2, 2
  %a3 = insertvalue [4 x i32] %a2, i32 %e3, 3
  ret [4 x i32] %a3
}

define void @"cuda_std.st.v4b32"(ptr %p, i32 %e0, i32 %e1, i32 %e2, i32 %e3) alwaysinline {
  %v0 = insertelement <4 x i32> poison, i32 %e0, i32 0
  %v1 = insertelement <4 x i32> %v0, i32 %e1, i32 1
  %v2 = insertelement <4 x i32> %v1, i32 %e2, i32 2
  %v3 = insertelement <4 x i32> %v2, i32 %e3, i32 3
  store <4 x i32> %v3, ptr %p, align 16
  ret void
}

define [2 x i64] @"cuda_std.ld.v2b64"(ptr %p) alwaysinline {
  %vector = load <2 x i64>, ptr %p, align 16
  %e0 = extractelement <2 x i64> %vector, i32 0
  %e1 = extractelement <2 x i64> %vector, i32 1
  %a0 = insertvalue [2 x i64] poison, i64 %e0, 0
  %a1 = insertvalue [2 x i64] %a0, i64 %e1, 1
  ret [2 x i64] %a1
}

define void @"cuda_std.st.v2b64"(ptr %p, i64 %e0, i64 %e1) alwaysinline {
  %v0 = insertelement <2 x i64> poison, i64 %e0, i32 0
  %v1 = insertelement <2 x i64> %v0, i64 %e1, i32 1
  store <2 x i64> %v1, ptr %p, align 16
  ret void
}

; Atomic loads, stores and exchanges with a scope.

define i32 @"cuda_std.ld.relaxed.block.i32"(ptr %p) alwaysinline {
  %value = load atomic i32, ptr %p syncscope("block") monotonic, align 4
  ret i32 %value
}

define i32 @"cuda_std.ld.acquire.block.i32"(ptr %p) alwaysinline {
  %value = load atomic i32, ptr %p syncscope("block") acquire, align 4
  ret i32 %value
}

define void @"cuda_std.st.relaxed.block.i32"(ptr %p, i32 %value) alwaysinline {
  store atomic i32 %value, ptr %p syncscope("block") monotonic, align 4
  ret void
}

define void @"cuda_std.st.release.block.i32"(ptr %p, i32 %value) alwaysinline {
  store atomic i32 %value, ptr %p syncscope("block") release, align 4
  ret void
}

define i32 @"cuda_std.ld.relaxed.device.i32"(ptr %p) alwaysinline {
  %value = load atomic i32, ptr %p syncscope("device") monotonic, align 4
  ret i32 %value
}

define i32 @"cuda_std.ld.acquire.device.i32"(ptr %p) alwaysinline {
  %value = load atomic i32, ptr %p syncscope("device") acquire, align 4
  ret i32 %value
}

define void @"cuda_std.st.relaxed.device.i32"(ptr %p, i32 %value) alwaysinline {
  store atomic i32 %value, ptr %p syncscope("device") monotonic, align 4
  ret void
}

define void @"cuda_std.st.release.device.i32"(ptr %p, i32 %value) alwaysinline {
  store atomic i32 %value, ptr %p syncscope("device") release, align 4
  ret void
}

define i32 @"cuda_std.ld.relaxed.system.i32"(ptr %p) alwaysinline {
  %value = load atomic i32, ptr %p monotonic, align 4
  ret i32 %value
}

define i32 @"cuda_std.ld.acquire.system.i32"(ptr %p) alwaysinline {
  %value = load atomic i32, ptr %p acquire, align 4
  ret i32 %value
}

define void @"cuda_std.st.relaxed.system.i32"(ptr %p, i32 %value) alwaysinline {
  store atomic i32 %value, ptr %p monotonic, align 4
  ret void
}

define void @"cuda_std.st.release.system.i32"(ptr %p, i32 %value) alwaysinline {
  store atomic i32 %value, ptr %p release, align 4
  ret void
}

define i32 @"cuda_std.cas.device.i32"(ptr %p, i32 %current, i32 %new) alwaysinline {
  %pair = cmpxchg ptr %p, i32 %current, i32 %new syncscope("device") monotonic monotonic
  %before = extractvalue { i32, i1 } %pair, 0
  ret i32 %before
}

define i64 @"cuda_std.ld.relaxed.block.i64"(ptr %p) alwaysinline {
  %value = load atomic i64, ptr %p syncscope("block") monotonic, align 8
  ret i64 %value
}

define i64 @"cuda_std.ld.acquire.block.i64"(ptr %p) alwaysinline {
  %value = load atomic i64, ptr %p syncscope("block") acquire, align 8
  ret i64 %value
}

define void @"cuda_std.st.relaxed.block.i64"(ptr %p, i64 %value) alwaysinline {
  store atomic i64 %value, ptr %p syncscope("block") monotonic, align 8
  ret void
}

define void @"cuda_std.st.release.block.i64"(ptr %p, i64 %value) alwaysinline {
  store atomic i64 %value, ptr %p syncscope("block") release, align 8
  ret void
}

define i64 @"cuda_std.ld.relaxed.device.i64"(ptr %p) alwaysinline {
  %value = load atomic i64, ptr %p syncscope("device") monotonic, align 8
  ret i64 %value
}

define i64 @"cuda_std.ld.acquire.device.i64"(ptr %p) alwaysinline {
  %value = load atomic i64, ptr %p syncscope("device") acquire, align 8
  ret i64 %value
}

define void @"cuda_std.st.relaxed.device.i64"(ptr %p, i64 %value) alwaysinline {
  store atomic i64 %value, ptr %p syncscope("device") monotonic, align 8
  ret void
}

define void @"cuda_std.st.release.device.i64"(ptr %p, i64 %value) alwaysinline {
  store atomic i64 %value, ptr %p syncscope("device") release, align 8
  ret void
}

define i64 @"cuda_std.ld.relaxed.system.i64"(ptr %p) alwaysinline {
  %value = load atomic i64, ptr %p monotonic, align 8
  ret i64 %value
}

define i64 @"cuda_std.ld.acquire.system.i64"(ptr %p) alwaysinline {
  %value = load atomic i64, ptr %p acquire, align 8
  ret i64 %value
}

define void @"cuda_std.st.relaxed.system.i64"(ptr %p, i64 %value) alwaysinline {
  store atomic i64 %value, ptr %p monotonic, align 8
  ret void
}

define void @"cuda_std.st.release.system.i64"(ptr %p, i64 %value) alwaysinline {
  store atomic i64 %value, ptr %p release, align 8
  ret void
}

define i64 @"cuda_std.cas.device.i64"(ptr %p, i64 %current, i64 %new) alwaysinline {
  %pair = cmpxchg ptr %p, i64 %current, i64 %new syncscope("device") monotonic monotonic
  %before = extractvalue { i64, i1 } %pair, 0
  ret i64 %before
}

!0 = !{}
