"""From a zygote to a program: what the process becomes, and how the program's end looks from outside.

The program must not notice that it was not started by exec. `stash` does this for modules. This file does it for the
environment, arguments, `__main__`, random state, and the order of things at the end. Where it is impossible, the
interpreter is executed after all.
"""
import _thread
import _weakref
import atexit
import gc
import os
import signal
import stat
import sys
import threading
import time

EXECUTABLE = sys.executable
PATH = [entry for entry in sys.path if entry]
SITE = sys.modules['site']
USER_SITE = SITE.getusersitepackages() if SITE.ENABLE_USER_SITE else None
ENVIRONMENT = [name + b'=' + value for name, value in os.environb.items()]


REHEARSED = b'def nothing(): return []'
# Types of objects whose end cannot be noticed: when a program has made no others, nothing needs to be torn down. Frozen
# objects are not counted.
ORDINARY = {dict, list, tuple}


class MustExecute(Exception):
    """Only a new interpreter can run this command; says why."""


def set_environment(entries):
    if entries == ENVIRONMENT:
        return
    os.environ.clear()
    for entry in entries:
        name, _, value = entry.partition(b'=')
        os.environb[name] = value
    if b'TZ' in os.environb:
        time.tzset()


def forget_the_template():
    """Renews a module that is always loaded and remembers the process that loaded it. For the others see
    `stash.Stash.anew`."""
    main = threading.main_thread()
    if hasattr(main, '_set_native_id'):
        main._set_native_id()


def execute(command):
    """Becomes the ordinary interpreter."""
    for number in (signal.SIGPIPE, signal.SIGXFSZ):
        signal.signal(number, signal.SIG_DFL)
    os.execv(EXECUTABLE, command)


class Program:
    """Runs `python3 -c code` or `python3 file` in a new `__main__`."""

    def __init__(self, command, stash):
        if USER_SITE is not None and os.access(USER_SITE, os.F_OK):
            raise MustExecute('the user has packages of their own')
        command = [os.fsdecode(part) for part in command]
        self.error = None
        self._stash = stash
        self._compiled = False
        self._status = 0
        self._died_of = None
        self._source, self._name, sys.argv, first = read(command)
        sys.orig_argv = command
        sys.path[:] = [first, *PATH]
        main = type(sys)('__main__')
        self.namespace = vars(main)
        self.namespace['__loader__'] = sys.modules['_frozen_importlib'].BuiltinImporter
        self.namespace['__annotations__'] = {}
        self.namespace['__builtins__'] = sys.modules['builtins']
        if self._name != '<string>':
            loader = sys.modules['_frozen_importlib_external'].SourceFileLoader
            self.namespace['__loader__'] = loader('__main__', self._name)
            self.namespace.update(__file__=self._name, __cached__=None)
        sys.modules['__main__'] = main

    def compiled(self):
        code = compile(self._source, self._name, 'exec', dont_inherit=True)
        self._source = None
        self._compiled = True
        return code

    def end(self):
        """Ends the process: report, threads, exit functions, output, and the program's objects. Never returns. Raises
        SystemExit to leave the end to the interpreter, which takes longer and handles every case."""
        if self.error is not None:
            self._report()
        if self._name != '<string>':
            self.namespace.pop('__file__', None)
            self.namespace.pop('__cached__', None)
        try:
            if 'threading' in sys.modules:
                threading._shutdown()
            atexit._run_exitfuncs()
        except BaseException:
            raise SystemExit(self._status) from None
        if _thread._count() or not flushed():
            raise SystemExit(self._status)
        if 'gc' in sys.modules or not all(type(one) in ORDINARY for one in gc.get_objects()):
            self._tear_down()
            if not flushed():
                raise SystemExit(self._status)
        kernel.fflush(None)
        if self._died_of is not None:
            signal.signal(self._died_of, signal.SIG_DFL)
            os.kill(os.getpid(), self._died_of)
        os._exit(self._status & 0xFF)

    def _report(self):
        """Does with an exception what the interpreter does, and sets the exit status."""
        error, self.error = self.error, None
        # The first entry is that of the loader.
        error.__traceback__ = error.__traceback__.tb_next if self._compiled else None
        if isinstance(error, SystemExit):
            self._status = exit_status(error)
            return
        self._status = 1
        if type(error) is KeyboardInterrupt:
            self._died_of = signal.SIGINT
        sys.last_type, sys.last_value, sys.last_traceback = type(error), error, error.__traceback__
        if sys.version_info >= (3, 12):
            sys.last_exc = error
        try:
            hook = sys.excepthook
        except AttributeError:
            print('sys.excepthook is missing', file=sys.stderr)
            hook = sys.__excepthook__
        failure = None
        try:
            hook(type(error), error, error.__traceback__)
        except BaseException as second:
            failure = second
        if isinstance(failure, SystemExit):
            self._status = exit_status(failure)
        elif failure is not None:
            failure.__traceback__ = failure.__traceback__.tb_next
            print('Error in sys.excepthook:', file=sys.stderr)
            sys.__excepthook__(type(failure), failure, failure.__traceback__)
            print('\nOriginal exception was:', file=sys.stderr)
            sys.__excepthook__(type(error), error, error.__traceback__)

    def _tear_down(self):
        """Frees all objects that the program made, in the interpreter's order."""
        gc.collect()
        for name in ('last_type', 'last_value', 'last_traceback', 'last_exc'):
            vars(sys).pop(name, None)
        sys.stdin, sys.stdout, sys.stderr = sys.__stdin__, sys.__stdout__, sys.__stderr__
        references = []
        for name, module in list(sys.modules.items()):
            if born.get(name) is not module and not self._stash.holds(name, module):
                if isinstance(module, type(sys)):
                    references.append(_weakref.ref(module))
                sys.modules[name] = None
        module = self.namespace = None
        gc.collect()
        for reference in reversed(references):
            module = reference()
            if module is not None:
                clear(module)
        module = None
        gc.collect()


def rehearse(stash, whole=True):
    """Runs a program that does nothing, as far as that leaves no trace. The pages that it touches are ready for the
    next program. Returns the types of the objects that exist at its end."""
    try:
        program = Program([b'python3', b'-c', REHEARSED], stash)
    except MustExecute:
        return set()
    exec(program.compiled(), program.namespace)
    flushed()
    if not whole:
        gc.freeze()
        return set()
    types = {type(one) for one in gc.get_objects()}
    program._tear_down()
    gc.freeze()
    return types


def read(command):
    """The source, the file name, `sys.argv` and the first entry of `sys.path`."""
    if len(command) > 2 and command[1] == '-c':
        return command[2] + '\n', '<string>', ['-c', *command[3:]], ''
    if len(command) == 1 or command[1][:1] in ('-', ''):
        raise MustExecute('options, or a program on standard input')
    path = command[1]
    try:
        with open(path, 'rb', buffering=0, opener=open_now) as file:
            source = file.read()
        source.decode()
    except (OSError, UnicodeDecodeError) as error:
        raise MustExecute(str(error)) from None
    head = b'\n'.join(source.split(b'\n', 2)[:2])
    if b'coding' in head or b'\0' in source or path.endswith('.pyc') or source[:2] == b'PK':
        raise MustExecute('the file is not plain UTF-8 source')
    return source, os.path.join(os.getcwd(), path), command[1:], os.path.dirname(os.path.realpath(path))


def open_now(path, flags):
    """Opens a regular file. It never waits for the other end of a pipe with a program's name."""
    opened = os.open(path, flags | os.O_NONBLOCK)
    if not stat.S_ISREG(os.fstat(opened).st_mode):
        os.close(opened)
        raise OSError('not a regular file')
    return opened


def exit_status(error):
    if error.code is None:
        return 0
    if isinstance(error.code, int):
        return error.code if -(2**63) <= error.code < 2**63 else -1
    print(error.code, file=sys.stderr)
    return 1


def flushed():
    """Whether both streams are flushed; a failure is left to the interpreter to report."""
    try:
        for stream in (sys.stdout, sys.stderr):
            if stream is not None and not stream.closed:
                stream.flush()
    except BaseException:
        return False
    return True


def clear(module):
    """Clears a module as the interpreter does: names with one underscore first."""
    names = vars(module)
    for private in (True, False):
        for name in list(names):
            if (name[0] == '_' and name[1:2] != '_') == private and name != '__builtins__':
                names[name] = None
