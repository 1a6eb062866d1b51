"""Modules loaded in advance, out of sight until a program imports them.

A program must see the same as in a new interpreter: `sys.modules` holds only the modules that it imported, a package
has only the submodules that were imported, and a file of the program wins over a module of the same name. So all
preloaded modules are taken out of `sys.modules`. A finder at the head of `sys.meta_path` gives a module back, with the
modules that it had imported itself, when the ordinary search finds the same file.

Every object that is touched is a page that must be copied. So work that a program cannot notice is left out: the search
goes no further than the directories of the program, and a module comes back together with all that it needs
(`closure`).
"""
import builtins
import os
import sys
import time

from _frozen_importlib_external import PathFinder

ModuleSpec = type(sys.__spec__)


class Recorder:
    """Takes the place of `__import__` and notes which module imports which."""

    def __init__(self):
        self.needs = {}
        self._original = builtins.__import__
        self._underway = []
        builtins.__import__ = self._import

    def stop(self):
        builtins.__import__ = self._original

    def _import(self, name, globals=None, locals=None, fromlist=(), level=0):
        scope = globals or {}
        full = name
        if level:
            package = scope['__package__'].rsplit('.', level - 1)[0]
            full = f'{package}.{name}' if name else package
        importer = scope.get('__name__')
        if not getattr(scope.get('__spec__'), '_initializing', False):
            # A function imports when it is called: the import counts for the module that is being loaded.
            importer = self._underway[-1] if self._underway else None
        self._underway.append(full)
        try:
            module = self._original(name, globals, locals, fromlist, level)
        finally:
            self._underway.pop()
        children = [f'{full}.{child}' for child in fromlist or ()]
        self.needs.setdefault(importer, []).extend([full, *(child for child in children if child in sys.modules)])
        return module


class Stash:
    """The finder, which is also the loader."""

    def __init__(self, born, needs, names, left_by):
        """`names`: modules that were asked for. `left_by`: for some of them, the modules that an import leaves."""
        self.needs = {**needs, **left_by}
        self.kept = {}
        # Submodules that were taken from their packages, and attributes that hide a submodule of the same name.
        self.taken, self._hiding = {}, {}
        # Modules that remember the process that loaded them are made anew when a program imports them.
        self.anew = {
            'random': lambda module: module.seed(),
            'numpy.random': lambda module: module.seed(),
            'logging': begin_log,
        }
        # Modules that others put into `sys.modules` without an import.
        self.made = {}
        self._import = builtins.__import__
        self._path = [entry for entry in sys.path if entry]
        loaded = {name: module for name, module in sys.modules.items() if name not in born}
        for name, module in loaded.items():
            if getattr(module, '__spec__', None) is None:
                self.made.setdefault(name.rpartition('.')[0], {})[name] = sys.modules.pop(name)
            else:
                self._put_away(name, module, loaded)
        self._closures = closure.closures(self, names, left_by, born)
        # Modules that a program has from the beginning, and modules that it was given: it may have removed some.
        self._born, self._given = frozenset(born), set()
        sys.meta_path.insert(0, self)
        self._finders, self._hooks = list(sys.meta_path), list(sys.path_hooks)

    def _put_away(self, name, module, loaded):
        self.kept[name] = module
        del sys.modules[name]
        package, _, child = name.rpartition('.')
        holder = vars(loaded.get(package) or sys.modules.get(package) or sys)
        if package and child in holder:
            if holder[child] is module:
                self.taken.setdefault(package, {})[child] = holder.pop(child)
            else:
                self._hiding.setdefault(package, {})[child] = holder[child]

    def names(self):
        return list(self.kept)

    def holds(self, name, module):
        return self.kept.get(name) is module

    def get(self, name):
        """A preloaded module, imported by the program or not; or None."""
        return self.kept.get(name)

    # ---- finder ----

    def find_spec(self, name, path=None, target=None):
        module = self.kept.get(name)
        if module is None or target is not None:
            return None
        spec = self._search(name, path)
        if spec is None or spec.origin != module.__spec__.origin:
            return spec
        return ModuleSpec(name, self, origin=spec.origin)

    def _search(self, name, path):
        package = self.kept.get(name.rpartition('.')[0])
        if package is not None and path is package.__spec__.submodule_search_locations:
            # Inside a package that is ours no search is needed.
            return self.kept[name].__spec__
        if path is None and self._ordinary() and sys.path[1:] == self._path:
            # The path behind the program's directory is the same as when our module was found.
            spec = self.kept[name].__spec__
            if spec.origin in ('built-in', 'frozen') or self._not_its_own({name}):
                return spec
            own = PathFinder.find_spec(name, sys.path[:1])
            return spec if own is None or own.loader is None else own
        for finder in sys.meta_path:
            spec = None if finder is self else finder.find_spec(name, path)
            if spec is not None:
                return spec
        return None

    # ---- loader ----

    def create_module(self, spec):
        module = self.kept[spec.name]
        spec.loader_state = module.__spec__
        return module

    def exec_module(self, module):
        # A module may have another name for itself than the one by which it is imported.
        name = module.__spec__.name
        module.__spec__ = module.__spec__.loader_state
        self._give_back(name, module)

    def _give_back(self, name, module):
        self._make_anew(name, module)
        self._given.add(name)
        known = self._closures.get(name)
        if known is not None and self._bring(known):
            return
        for needed in self.needs.get(name, ()):
            if needed not in sys.modules:
                self._need(needed)
        vars(module).update(self._hiding.get(name, {}))
        sys.modules.update(self.made.get(name, {}))

    def _bring(self, known):
        """Puts all modules that come with a module in place, when imports would have no other effect. Returns whether
        it did."""
        if not self._ordinary() or not sys.modules.keys() >= self._born or not sys.modules.keys() >= self._given:
            return False
        if known.searched and not (sys.path[1:] == self._path and self._not_its_own(known.searched)):
            return False
        there = sys.modules.keys() & known.modules.keys()
        if not all(sys.modules[name] is known.modules[name] for name in there):
            return False
        # Before they become visible: another thread may use them at once.
        for name in known.anew:
            if name not in there:
                self._make_anew(name, known.modules[name])
        sys.modules.update(known.modules)
        self._given.update(known.modules)
        for name, package, child in known.attributes:
            if name not in there:
                package[child] = known.modules[name]
        return True

    def _make_anew(self, name, module):
        act = self.anew.pop(name, None)
        if act is not None:
            act(module)

    def _not_its_own(self, names):
        """Whether the program's directory has no file with these names. The answer is also no when that is unclear."""
        if sys.path_hooks != self._hooks or type(sys.path[0]) is not str:
            return False
        try:
            entries = os.listdir(sys.path[0] or '.')
        except (OSError, ValueError):
            return False
        return names.isdisjoint([entry.partition('.')[0] for entry in entries])

    def _ordinary(self):
        """Whether the program has left the search for modules unchanged, as far as finders go."""
        return builtins.__import__ is self._import and sys.meta_path == self._finders

    def _need(self, name):
        """Imports as `import` does. A module that can only be ours is put back without the import machinery."""
        package, _, child = name.rpartition('.')
        if package and package not in sys.modules:
            if name in self.kept and package not in self.kept:
                # It is left over from a package that could not be imported.
                sys.modules[name] = self.kept[name]
                return
            self._need(package)
            if name in sys.modules:
                return
        module, holder = self.kept.get(name), self.kept.get(package)
        ours = module is not None and self._ordinary()
        if ours and package:
            ours = holder is not None and sys.modules[package] is holder
        elif ours:
            ours = self._search(name, None) is module.__spec__
        if not ours:
            __import__(name)
            return
        self._make_anew(name, module)
        sys.modules[name] = module
        self._give_back(name, module)
        # Its place is behind the modules that it needs.
        sys.modules[name] = sys.modules.pop(name)
        if package:
            setattr(holder, child, module)


def begin_log(module):
    module._startTime = time.time_ns() if isinstance(module._startTime, int) else time.time()


RECORDER = Recorder()
