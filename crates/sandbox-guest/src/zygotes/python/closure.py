"""The modules that come with a module: all that its import leaves in `sys.modules`, in that order.

Bringing them one by one costs a search, some calls and some touched pages for each: for numpy a hundred times. So all
of them are put in place at once (`stash.Stash._bring`) where a program has changed nothing that an import looks at. For
modules of the standard library the recorded imports are used. Libraries also import in ways that cannot be recorded, so
each of them is imported by a child that has imported nothing else, and that reports the result.
"""
import os
import sys


class Closure:
    """`modules`: by name, without the one that they come with. `searched`: names that are searched for along
    `sys.path`. `attributes`: those that a package must get: name, the package's names, and attribute. `anew`: those
    that are made anew."""

    def __init__(self, modules, stash, holders, brought):
        self.modules = modules
        specs = ((name, getattr(module, '__spec__', None)) for name, module in modules.items())
        top = (name for name, spec in specs if '.' not in name and spec is not None)
        self.searched = frozenset(name for name in top if stash.kept[name].__spec__.origin not in ('built-in', 'frozen'))
        self.anew = tuple(name for name in modules if name in stash.anew)
        self.attributes = []
        for name in modules:
            package, _, child = name.rpartition('.')
            # When a package could not be imported, only the modules that it had imported are left.
            if package in holders and name in stash.kept and name not in brought.get(package, ()):
                self.attributes.append((name, vars(holders[package]), child))


def closures(stash, names, left_by, born):
    """The closures of these names, as far as all needed modules exist, when all modules have been put away. `left_by` holds
    the results of `ask`. Packages get the modules that they bring along back as attributes."""
    holders = {**born, **stash.kept}
    packages = (name for name, module in stash.kept.items() if hasattr(module, '__path__'))
    brought = {name: set(followed(name, stash, born) or ()) for name in packages}
    for package, modules in brought.items():
        taken = stash.taken.get(package, {})
        vars(stash.kept[package]).update({child: taken[child] for child in taken if f'{package}.{child}' in modules})
    there = {**stash.kept, **{name: module for made in stash.made.values() for name, module in made.items()}}
    found = {}
    for name in stash.kept.keys() & set(names):
        needed = left_by[name] if name in left_by else followed(name, stash, born)
        if needed and all(one in there for one in needed):
            found[name] = Closure({one: there[one] for one in needed}, stash, holders, brought)
    return found


def followed(name, stash, born):
    """The modules that come with a module as far as imports were recorded, or None when one would really have to be
    imported."""
    order, seen = [], {name}
    underway = [(name, needs_of(name, stash))]
    while underway:
        current, needs = underway[-1]
        needed = next((one for one in needs if one not in seen), None)
        if needed is None:
            underway.pop()
            order.extend(stash.made.get(current, ()))
            order.append(current)
            continue
        seen.add(needed)
        if needed in stash.kept:
            underway.append((needed, needs_of(needed, stash)))
        elif needed not in born:
            return None
    return order[:-1]


def needs_of(name, stash):
    """Each needed module after its packages, from the outermost."""
    for needed in stash.needs.get(name, ()):
        parts = needed.split('.')
        yield from ('.'.join(parts[:count]) for count in range(1, len(parts) + 1))


def ask(names, born):
    """The modules that an import of each of these names leaves in `sys.modules` of an interpreter that has just
    started."""
    left_by = {}
    for name in names:
        reader, writer = os.pipe()
        child = os.fork()
        if not child:
            try:
                for one in set(sys.modules) - set(born):
                    del sys.modules[one]
                __import__(name)
                left = [one for one in sys.modules if one not in born and one != name]
                os.write(writer, '\0'.join(left).encode())
            finally:
                os._exit(0)
        os.close(writer)
        with open(reader, 'rb') as file:
            left = file.read().decode()
        os.waitpid(child, 0)
        if left:
            left_by[name] = left.split('\0')
    return left_by
