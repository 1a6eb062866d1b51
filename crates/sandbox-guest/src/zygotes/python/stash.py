"""Modules loaded in advance, out of sight until a program imports them.

A program must see what it would see in an interpreter of its own: `sys.modules` holds only what it imported, a package
has only the submodules that were imported, and a file of its own that has a module's name wins over the module. So
everything that was preloaded is taken out of `sys.modules`, and a finder at the head of `sys.meta_path` gives a module
back, with the modules that it had imported itself, when the ordinary search comes to the same file.

Every object that is touched is a page that must be copied. So what a program cannot tell apart is not done: the search
goes no further than where a program has files of its own, and what a module needs comes back with it at once (`closure`).
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
            # A function that imports when it is called: it counts for the module that is being loaded.
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
    """A finder and a loader in one."""

    def __init__(self, born, needs, names, told):
        """`names`: modules that were asked for; of those in `told` it is known what they leave."""
        self.needs = {**needs, **told}
        self.kept = {}
        # Submodules that were taken from their packages, and what hides a submodule of the same name.
        self.taken, self._hiding = {}, {}
        # What a module remembers of the process that loaded it is made anew when a program imports it.
        self.anew = {
            'random': lambda module: module.seed(),
            'numpy.random': lambda module: module.seed(),
            'logging': begin_log,
        }
        # What modules put into `sys.modules` that was not imported.
        self.made = {}
        self._import = builtins.__import__
        self._path = [entry for entry in sys.path if entry]
        loaded = {name: module for name, module in sys.modules.items() if name not in born}
        for name, module in loaded.items():
            if getattr(module, '__spec__', None) is None:
                self.made.setdefault(name.rpartition('.')[0], {})[name] = sys.modules.pop(name)
            else:
                self._put_away(name, module, loaded)
        self._closures = closure.closures(self, names, told, born)
        # What a program has from the beginning, and what it has been given: it may have removed some.
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
        """A preloaded module, whether or not the program imported it; or None."""
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
            # Inside a package that was found to be ours there is nothing to look for.
            return self.kept[name].__spec__
        if path is None and self._ordinary() and sys.path[1:] == self._path:
            # What comes after the program's own directory is as it was when ours was found.
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
        # A module may call itself otherwise than it is imported.
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
        """Puts all that comes with a module in place, where imports would do nothing else. Returns whether it did."""
        if not self._ordinary() or not sys.modules.keys() >= self._born or not sys.modules.keys() >= self._given:
            return False
        if known.searched and not (sys.path[1:] == self._path and self._not_its_own(known.searched)):
            return False
        there = sys.modules.keys() & known.modules.keys()
        if not all(sys.modules[name] is known.modules[name] for name in there):
            return False
        # Before anybody sees them: another thread may use at once what it finds.
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
        """Whether the program's own directory has nothing by these names. No is also said where that is not clear."""
        if sys.path_hooks != self._hooks or type(sys.path[0]) is not str:
            return False
        try:
            entries = os.listdir(sys.path[0] or '.')
        except (OSError, ValueError):
            return False
        return names.isdisjoint([entry.partition('.')[0] for entry in entries])

    def _ordinary(self):
        """Whether modules are searched for as ever, as far as finders go."""
        return builtins.__import__ is self._import and sys.meta_path == self._finders

    def _need(self, name):
        """As `import` does it. What can only be ours is put back without its machinery."""
        package, _, child = name.rpartition('.')
        if package and package not in sys.modules:
            if name in self.kept and package not in self.kept:
                # It is left of a package that could not be imported.
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
        # It comes after what it needs.
        sys.modules[name] = sys.modules.pop(name)
        if package:
            setattr(holder, child, module)


def begin_log(module):
    module._startTime = time.time_ns() if isinstance(module._startTime, int) else time.time()


RECORDER = Recorder()
