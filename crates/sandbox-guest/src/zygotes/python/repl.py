import ast, linecache, os, socket, sys, traceback

control = socket.socket(fileno=3)
os.set_inheritable(3, False)
main = type(sys)('__main__')
main.__builtins__ = __builtins__
sys.modules['__main__'] = main
sys.argv = ['']
kept = [os.dup(1), os.dup(2)]
streams = sys.stdout, sys.stderr
own = os.getpid()
count = 0


def flush():
    # A program may have replaced them by objects that are not streams.
    for stream in (*streams, getattr(sys, 'stdout', None), getattr(sys, 'stderr', None)):
        try:
            stream.flush()
        except Exception:
            pass


def redirect(descriptors):
    flush()
    for target, descriptor in zip((1, 2), descriptors):
        os.dup2(descriptor, target)


def as_line(error):
    try:
        text = str(error)
    except Exception:
        text = '<exception str() failed>'
    return f'{type(error).__name__}: {text}'


def show(error):
    # The interpreter's hook does not look into `linecache`.
    hook = traceback.print_exception if sys.excepthook is sys.__excepthook__ else sys.excepthook
    try:
        hook(type(error), error, error.__traceback__)
    except Exception:
        traceback.print_exception(type(error), error, error.__traceback__, file=streams[1])


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
        show(error)
        return '', as_line(error)


while True:
    request, descriptors, _, _ = socket.recv_fds(control, 1 << 18, 2)
    if not request:
        break
    redirect(descriptors)
    for descriptor in descriptors:
        os.close(descriptor)
    count += 1
    evaluation, code = request.split(b'\0', 1)
    value, error = run(code.decode(), f'<repl-{count}>')
    if os.getpid() != own:
        # A fork has reached the end of its program, as that of a script does.
        sys.exit(bool(error))
    redirect(kept)
    parts = [text.encode(errors='backslashreplace')[: 1 << 16].replace(b'\0', b'') for text in (value, error)]
    control.send(b'\0'.join([evaluation, b'%d' % own, b'raised' if error else b'ended', *parts]))
