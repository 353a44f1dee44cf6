"""What OpenCL and CUDA call differently, as macros in front of the C of `afa.compiled.device.c_text`; and the kernel behind it.

ints wrap; a checked operation tells whether it did; floats are IEEE doubles, no two operations joined.
"""

SHARED = """
#define ADD(a, b) ((long)((ulong)(a) + (ulong)(b)))
#define SUB(a, b) ((long)((ulong)(a) - (ulong)(b)))
#define MUL(a, b) ((long)((ulong)(a) * (ulong)(b)))
#define SHL(a, b) ((long)((ulong)(a) << (b)))
#define LSHR(a, b) ((long)((ulong)(a) >> (b)))
#define ADD_OVER(a, b, r) ((((a) ^ (r)) & ((b) ^ (r))) < 0)
#define SUB_OVER(a, b, r) ((((a) ^ (b)) & ((a) ^ (r))) < 0)
#define MUL_OVER(a, b, r) (mul_hi((long)(a), (long)(b)) != ((r) >> 63))
#define COPY(to, from, n) for (long at = 0; at < (n); at += 8) *(G long *)(B + (to) + at) = *(G long *)(B + (from) + at)
"""
OPENCL = f"""
#pragma OPENCL EXTENSION cl_khr_fp64 : enable
#pragma OPENCL FP_CONTRACT OFF
#define G __global
{SHARED}"""
CUDA = f"""
#define long long long
#define ulong unsigned long
#define uchar unsigned char
#define G
#define as_double(x) __longlong_as_double((long)(x))
#define as_long(x) ((long)__double_as_longlong(x))
#define mul_hi(a, b) ((long)__mul64hi(a, b))
#define static static __device__
{SHARED}"""
ENTRY = """
{kernel} void run(G char *B, long records, long size, long count) {{
    long i = (long){number};
    if (i < count) F_f(B, records + i * size);
}}
"""
"""Work item ``i`` takes the record at ``records + i * size``."""
OPENCL_ENTRY = ENTRY.format(kernel="__kernel", number="get_global_id(0)")
CUDA_ENTRY = ENTRY.format(kernel='extern "C" __global__', number="blockIdx.x * blockDim.x + threadIdx.x")
