"""Turn LLVM IR into machine code, and the kernels into one native function.

native          one LLVM engine for the process; folder: machine code on disk
kernels         the kernels as one function, kept on disk; background: compiled in full by another process
kernel_ir       kernel source -> LLVM IR; statements, kernel_words: of one kernel, of its expressions; ir_lines: the text
"""
