"""What comes into sight with a module: all that an import of it leaves in `sys.modules`, found out once by the template.

Module by module each is a search, a call or two and some touched pages: for numpy a hundred times. So where a program has
changed nothing that an import looks at, all of them are put in place at once (`stash.Stash._bring`).
"""


class Closure:
    """`modules`: by name, in the order in which an import leaves them, without the one that they come with. `standing`:
    modules that every program has from the beginning, which they need in place. `searched`: names that are searched for
    along `sys.path`. `attributes`: what their packages do not have by themselves: name, package and attribute."""

    def __init__(self, name, stash, born):
        self.modules, self.standing = {}, {}
        # Whether it can be put in place at all: not when something would have to be imported in earnest.
        self.whole = True
        self._seen = {name}
        self._follow(name, stash, born)
        del self._seen
        kept = [needed for needed in self.modules if needed in stash.kept]
        top = (needed for needed in kept if '.' not in needed)
        self.searched = frozenset(one for one in top if stash.kept[one].__spec__.origin not in ('built-in', 'frozen'))
        self.anew = tuple(needed for needed in kept if needed in stash.anew)

    def _follow(self, name, stash, born):
        for needed in stash.needs.get(name, ()):
            self._take(needed, stash, born)
        self.modules.update(stash.made.get(name, {}))

    def _take(self, name, stash, born):
        package = name.rpartition('.')[0]
        if package:
            self._take(package, stash, born)
        if name in self._seen:
            return
        self._seen.add(name)
        if name in stash.kept:
            self._follow(name, stash, born)
            self.modules[name] = stash.kept[name]
        elif name in born:
            self.standing[name] = born[name]
        else:
            self.whole = False


def closures(stash, born):
    """Of every module that has one, when all modules have been put away. What comes with a package is its attribute again."""
    found = {name: Closure(name, stash, born) for name in stash.kept}
    brought = {name: one.modules if one.whole else {} for name, one in found.items()}
    for one in found.values():
        one.attributes = []
        for name in one.modules:
            package, _, child = name.rpartition('.')
            if package and name in stash.kept and name not in brought.get(package, ()):
                one.attributes.append((name, vars(stash.kept.get(package) or born[package]), child))
    for package, modules in brought.items():
        taken = stash.taken.get(package, {})
        vars(stash.kept[package]).update({child: taken[child] for child in taken if f'{package}.{child}' in modules})
    return {name: one for name, one in found.items() if one.whole and one.modules}
