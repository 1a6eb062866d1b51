import ast, linecache, os, socket, sys, traceback

control = socket.socket(fileno=3)
os.set_inheritable(3, False)
main = type(sys)('__main__')
main.__builtins__ = __builtins__
sys.modules['__main__'] = main
sys.argv = ['']
kept = [os.dup(1), os.dup(2)]
count = 0


def redirect(descriptors):
    sys.stdout.flush()
    sys.stderr.flush()
    for target, descriptor in zip((1, 2), descriptors):
        os.dup2(descriptor, target)


def run(code, name):
    """The last expression's value, and the error that ended it, as one line."""
    linecache.cache[name] = (len(code), None, code.splitlines(True), name)
    try:
        tree = ast.parse(code, name)
        last = tree.body[-1:]
        asked = bool(last) and isinstance(last[0], ast.Expr)
        body = compile(ast.Module(tree.body[:-1] if asked else tree.body, tree.type_ignores), name, 'exec')
        exec(body, vars(main))
        if asked:
            value = eval(compile(ast.Expression(last[0].value), name, 'eval'), vars(main))
            if value is not None:
                main._ = value
                return repr(value), ''
        return '', ''
    except SystemExit:
        raise
    except BaseException as error:
        error.__traceback__ = error.__traceback__ and error.__traceback__.tb_next
        # The interpreter's own hook does not look into `linecache`.
        hook = traceback.print_exception if sys.excepthook is sys.__excepthook__ else sys.excepthook
        hook(type(error), error, error.__traceback__)
        return '', f'{type(error).__name__}: {error}'


while True:
    request, descriptors, _, _ = socket.recv_fds(control, 1 << 18, 2)
    if not request:
        break
    redirect(descriptors)
    for descriptor in descriptors:
        os.close(descriptor)
    count += 1
    # The first byte only keeps the message from being empty.
    value, error = run(request[1:].decode(), f'<repl-{count}>')
    redirect(kept)
    parts = [text.encode(errors='backslashreplace')[: 1 << 16].replace(b'\0', b'') for text in (value, error)]
    control.send(b'\0'.join([b'raised' if error else b'ended', *parts]))
