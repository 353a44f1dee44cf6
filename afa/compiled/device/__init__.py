"""Lanes on a device, a graphics processor or another one: the kernels of the processor, printed as C.

c_text       LLVM IR -> C                    preludes     what OpenCL and CUDA call differently
devices      a device: memory, a launch      arena        arrays in one buffer, an address a place in it
device_run   lanes on it: counted, then written into room of that size
"""
