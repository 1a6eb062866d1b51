"""What comes into sight with a module: all that an import of it leaves in `sys.modules`, in that order.

Module by module each is a search, a call or two and some touched pages: for numpy a hundred times. So where a program has
changed nothing that an import looks at, all of them are put in place at once (`stash.Stash._bring`). Of modules of the
standard library it is known from what was seen to import what. Libraries import in ways that nobody sees, so each of
those is imported by a child that has imported nothing else, and tells.
"""
import os
import sys


class Closure:
    """`modules`: by name, without the one that they come with. `searched`: names that are searched for along `sys.path`.
    `attributes`: what their packages do not have by themselves: name, the package's names, and attribute. `anew`: those
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
            # Of a package that could not be imported only what it had imported is left.
            if package in holders and name in stash.kept and name not in brought.get(package, ()):
                self.attributes.append((name, vars(holders[package]), child))


def closures(stash, names, told, born):
    """Of these names, as far as everything that they need is there, when all modules have been put away. `told`: what
    `ask` found out. Packages have what they bring along as their attributes again."""
    holders = {**born, **stash.kept}
    packages = (name for name, module in stash.kept.items() if hasattr(module, '__path__'))
    brought = {name: set(followed(name, stash, born) or ()) for name in packages}
    for package, modules in brought.items():
        taken = stash.taken.get(package, {})
        vars(stash.kept[package]).update({child: taken[child] for child in taken if f'{package}.{child}' in modules})
    there = {**stash.kept, **{name: module for made in stash.made.values() for name, module in made.items()}}
    found = {}
    for name in stash.kept.keys() & set(names):
        needed = told[name] if name in told else followed(name, stash, born)
        if needed and all(one in there for one in needed):
            found[name] = Closure({one: there[one] for one in needed}, stash, holders, brought)
    return found


def followed(name, stash, born):
    """What comes with a module as far as imports were seen, or None where something would have to be imported in earnest."""
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
    """Each behind its packages, from the outermost."""
    for needed in stash.needs.get(name, ()):
        parts = needed.split('.')
        yield from ('.'.join(parts[:count]) for count in range(1, len(parts) + 1))


def ask(names, born):
    """What an import of each of these names leaves in `sys.modules` of an interpreter that has only just begun."""
    told = {}
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
            told[name] = left.split('\0')
    return told
