"""Turn LLVM IR into machine code, and the kernels into one native function.

native          one engine of LLVM for the process; folder: machine code on disk
kernels         the kernels as one function, kept on disk; background: compiled in full by a process of its own
kernel_ir       the kernels' source -> LLVM IR; statements, kernel_words: one of them, its expressions; ir_lines: the text
"""
