/** Programs of the sandbox: one makes the tree, one cleans it as a policy with a given skill would. */
import type { Commands, ShellStep } from "../../../row.ts";
import { literal, pythonCommand } from "../python.ts";
import { type Cleanup, deleted, freed, FULL_SKILL, type Skill } from "./policy.ts";
import { below, listText, policyText, type Tree } from "./tree.ts";

const DAY_S = 86_400;

/** Makes the tree, with its times. */
export function treeProgram(tree: Tree): string {
  const { root, beside, contents, names, links, policies, policyName, others } = tree;
  const spec = {
    root,
    beside,
    now: Date.parse(`${tree.today}T00:00:00Z`) / 1000,
    contents: contents.map(({ bytes, days, more, text = "" }) => [bytes, days * DAY_S + more, text]),
    names,
    links,
    texts: policies.map((policy) => [below(policy.folder, policyName), policyText(policy)]),
    others,
  };
  return `
import os
spec = ${literal(spec)}
root, now = spec["root"], spec["now"]
first = {}
def put(path, data, age):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "wb") as file:
        file.write(data)
    os.utime(path, (now - age, now - age))
for name, number in spec["names"]:
    path = os.path.join(root, name)
    size, age, text = spec["contents"][number]
    if number in first:
        os.makedirs(os.path.dirname(path), exist_ok=True)
        os.link(first[number], path)
    else:
        put(path, ((text or name + "\\n") * (size // len(text or name + "\\n") + 1)).encode()[:size], age)
        first[number] = path
for name, text in spec["texts"]:
    put(os.path.join(root, name), text.encode(), 400 * ${DAY_S})
for name in spec["others"]:
    put(os.path.join(spec["beside"], name), (name + "\\n").encode() * 50, 900 * ${DAY_S})
for name, target in spec["links"]:
    path = os.path.join(root, name)
    os.makedirs(os.path.dirname(path), exist_ok=True)
    os.symlink(os.path.relpath(os.path.join(root, target), os.path.dirname(path)), path)
`;
}

export function goldSteps(cleanup: Cleanup): ShellStep[] {
  const { root, policyName, keepList, openList } = cleanup;
  const gone = deleted(cleanup, cleanup.most);
  const policies = cleanup.policies
    .map((policy) => [`${root}/${below(policy.folder, policyName)}`, policyText(policy)] as const)
    .toSorted(([a], [b]) => (a < b ? -1 : 1));
  return [
    {
      command: `find ${root} -name ${policyName} | LC_ALL=C sort | while read -r file; do echo "== $file"; cat "$file"; done`,
      prints: policies.map(([path, text]) => `== ${path}\n${text}`).join(""),
    },
    { command: `cat ${keepList}; cat ${openList}`, prints: listText(cleanup.keep) + listText(cleanup.open) },
    {
      command: pythonCommand(cleaner(cleanup, FULL_SKILL)),
      prints: `${gone.size} names deleted, ${freed(cleanup, gone)} bytes freed\n`,
    },
  ];
}

export function cleaningCommands(cleanup: Cleanup, skill: Skill): Commands {
  return [pythonCommand(cleaner(cleanup, skill))];
}

/** Decides with Python's own view of the tree: it shares no code with the generator. */
function cleaner({ root, today, policyName, keepList, openList, most }: Cleanup, skill: Skill): string {
  const flag = (value: boolean): string => (value ? "True" : "False");
  return `
import datetime, os
ROOT, POLICY = "${root}", "${policyName}"
NOW = datetime.datetime.fromisoformat("${today}T00:00:00+00:00").timestamp()
def lines(path):
    return [line for line in open(path).read().split("\\n") if line and not line.startswith("#")]
def policy_of(folder):
    while ${flag(skill.nested)} and folder != ROOT and not os.path.isfile(os.path.join(folder, POLICY)):
        folder = os.path.dirname(folder)
    path = os.path.join(folder if ${flag(skill.nested)} else ROOT, POLICY)
    return dict(line.split(" = ") for line in lines(path))
inode = lambda path: os.stat(path).st_ino
kept_paths, kept_folders = set(), []
for entry in lines("${keepList}"):
    path = os.path.join(ROOT, entry)
    if entry.endswith("/"):
        kept_folders += [path] if ${flag(skill.keptFolders)} else []
    elif os.path.islink(path):
        kept_paths.add(os.path.relpath(os.path.realpath(path)) if ${flag(skill.keptLinks)} else path)
    elif ${flag(skill.keep)}:
        kept_paths.add(path)
if ${flag(skill.open)}:
    kept_paths.update(os.path.join(ROOT, entry) for entry in lines("${openList}"))
files, kept, guarded = {}, set(), set()
for folder, _, found in os.walk(ROOT):
    for name in found:
        path = os.path.join(folder, name)
        if os.path.islink(path) or name == POLICY:
            continue
        days = int((NOW - os.stat(path).st_mtime) // 86400)
        rule = files[path] = (policy_of(folder), days, os.stat(path).st_size)
        young = ${flag(skill.ages)} and days < int(rule[0]["young_days"])
        ending = ${flag(skill.endings)} and path.endswith(tuple(rule[0]["never"].split()))
        if young or ending or path in kept_paths or path.startswith(tuple(kept_folders)):
            kept.add(path)
            guarded.add(inode(path))
if ${flag(skill.shared)}:
    kept |= {path for path in files if inode(path) in guarded}
drop, optional = [], {}
for path, (rule, days, size) in files.items():
    if path in kept:
        continue
    if days >= int(rule["drop_days"]) and path.endswith(tuple(rule["drop"].split())):
        drop.append(path)
    else:
        optional.setdefault(inode(path), []).append(path)
MOST, CHOOSE = ${most}, "${skill.choose}"
names = sorted(path for paths in optional.values() for path in paths)
best = [(0, [])] * (MOST + 1)
for paths in optional.values():
    size, count = files[paths[0]][2], len(paths)
    best = [max(best[k], (best[k - count][0] + size, best[k - count][1] + paths), key=lambda one: one[0])
            if k >= count else best[k] for k in range(MOST + 1)]
chosen = {"best": best[MOST][1], "all": names, "none": [],
          "largest": sorted(names, key=lambda path: -files[path][2])[:MOST],
          "oldest": sorted(names, key=lambda path: -files[path][1])[:MOST]}[CHOOSE]
before = {inode(path): files[path][2] for path in files}
for path in drop + chosen:
    os.remove(path)
left = {inode(path) for path in files if os.path.exists(path)}
total = sum(size for number, size in before.items() if number not in left)
print(len(drop) + len(chosen), "names deleted,", total, "bytes freed")
`;
}
