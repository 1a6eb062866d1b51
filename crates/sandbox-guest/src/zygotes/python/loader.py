import os, sys
born, parts = dict(sys.modules), {}
while len(parts) < 10:
    name, _, source = os.read(3, 1 << 18).decode().partition('\0')
    part = parts[name] = type(sys)(name)
    vars(part).update(parts, born=born)
    exec(compile(source, name, 'exec'), vars(part))
program = part.serve(3)
try:
    exec(program.compiled(), program.namespace)
except BaseException as error:
    program.error = error
program.end()
