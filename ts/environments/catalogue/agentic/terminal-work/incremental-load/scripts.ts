/** The description of the drops, loaders with a given skill, and the program that runs what is left day by day. */
import type { Commands, ShellStep } from "../../../row.ts";
import { literal } from "../python.ts";
import {
  COLUMNS,
  dropTexts,
  type Feature,
  type Feed,
  FULL_SKILL,
  type Names,
  type Skill,
  stateHeader,
  statesOf,
} from "./drops.ts";

export const LOADER = "load.py";
const DRAFT = "draft.py";
export const STATE = "current.csv";
export const SPEC = "SPEC.txt";

function ruleText(feature: Feature, { seq, changed, op, target }: Names): string {
  switch (feature) {
    case "late":
      return `A row says what a key is since the minute ${changed}. Rows come late, come again, and come in any order: what counts is ${changed}, not when a row is delivered. Where rows of a key have the same ${changed}, the one with the greater ${seq} is the newer.`;
    case "deletes":
      return `${op} is put or delete. After a delete, rows of the key that are older than it do not count any more, even if they come later; newer ones do.`;
    case "columns":
      return "Columns stand in any order.";
    case "missing":
      return "A file without a column says nothing about it: the column keeps the value of the newest row of the key that has it, unless that is older than a delete. Where there is no such row it is empty.";
    case "manifest":
      return "MANIFEST.txt of a drop has a line for each file: its name and its number of rows without the header. A file with another number is broken, and none of its rows counts; they come again in a later drop.";
    case "units":
      return "A price column whose header ends in _cents has cents; one without has units with a decimal comma.";
    case "voids":
      return `A row whose ${op} is void makes the row void whose ${seq} is its ${target}: that row counts as never delivered, whichever of the two comes first. A void row itself says nothing about its key.`;
  }
}

export function specText(feed: Feed): string {
  const { features, aliases, names } = feed;
  const has = (feature: Feature): boolean => features.includes(feature);
  const others = COLUMNS.filter((column) => aliases[column].length > 0).map(
    (column) =>
      `${aliases[column].join(" and ")} are other names of the column ${column}${column === "price" ? ", also in front of _cents" : ""}.\n`,
  );
  const further = `${has("deletes") ? `, ${names.op}` : ""}${has("voids") ? `, ${names.target}` : ""}`;
  return `A drop is a folder of CSV files. Columns: ${names.seq} (number of the row), ${names.key} (the key), ${names.changed}, ${COLUMNS.join(", ")} (the last as price_cents${has("units") ? " or price" : ""})${further}.
${features.map((feature) => `- ${ruleText(feature, names)}\n`).join("")}${others.join("")}
The state has the columns ${stateHeader(feed)}, and a line for each key that exists, in the order of the keys.
`;
}

export function goldSteps(feed: Feed): ShellStep[] {
  const [first, ...rest] = feed.days.slice(0, feed.seen);
  const texts = Object.entries(dropTexts(feed, first?.files ?? [])).toSorted(([a], [b]) => (a < b ? -1 : 1));
  const days = [first, ...rest].map((day) => `python3 ${DRAFT} drops/${day?.name}`).join(" && ");
  const state = statesOf(feed)[feed.seen - 1] ?? [];
  return [
    {
      command: `cat ${SPEC}; LC_ALL=C; for file in drops/${first?.name}/*; do echo "== $file"; cat "$file"; done`,
      prints: `${specText(feed)}${texts.map(([name, text]) => `== drops/${first?.name}/${name}\n${text}`).join("")}`,
    },
    { command: writeCommand(DRAFT, feed, FULL_SKILL), prints: "" },
    { command: `${days} && cat ${STATE}`, prints: state.map((line) => `${line}\n`).join("") },
    // The state of the trial is not that of the test, which begins with none.
    { command: `mv ${DRAFT} ${LOADER}; rm ${STATE} rows.json`, prints: "" },
  ];
}

export function loaderCommands(feed: Feed, skill: Partial<Skill>): Commands {
  return [writeCommand(LOADER, feed, { ...FULL_SKILL, ...skill })];
}

function writeCommand(path: string, feed: Feed, skill: Skill): string {
  return `cat > ${path} <<'END'\n${loader(feed, skill).trim()}\nEND`;
}

/** Keeps all rows that count and works the state out anew. */
function loader(feed: Feed, skill: Skill): string {
  const { aliases, names: fixed } = feed;
  const flag = (value: boolean): string => (value ? "True" : "False");
  const names = Object.fromEntries(COLUMNS.flatMap((column) => aliases[column].map((alias) => [alias, column])));
  return `
import csv, json, os, sys
COLUMNS = ["name", "quantity", "price"]
ALIASES = ${skill.aliases ? literal(names) : "{}"}
folder = sys.argv[1]
rows = json.load(open("rows.json")) if os.path.exists("rows.json") else []
counts = {}
if ${flag(skill.manifest)} and os.path.exists(folder + "/MANIFEST.txt"):
    counts = dict(line.strip().split(",") for line in open(folder + "/MANIFEST.txt"))
for name in sorted(os.listdir(folder)):
    if not name.endswith(".csv"):
        continue
    found = list(csv.DictReader(open(os.path.join(folder, name), newline="")))
    if name in counts and len(found) != int(counts[name]):
        continue
    for one in found:
        row = {"seq": int(one["${fixed.seq}"]), "key": one["${fixed.key}"], "changed": int(one["${fixed.changed}"]),
               "op": one.get("${fixed.op}", "put"), "target": one.get("${fixed.target}", "")}
        for header, value in one.items():
            column = header[:-6] if header.endswith("_cents") else header
            column = ALIASES.get(column, column)
            if column not in COLUMNS:
                continue
            if column == "price" and not header.endswith("_cents") and ${flag(skill.units)}:
                value = value.replace(",", "")
            row[column] = value
        rows.append(row)
json.dump(rows, open("rows.json", "w"))
void = {int(row["target"]) for row in rows if row["op"] == "void"} if ${flag(skill.voids)} else set()
keys = {}
for row in rows:
    if row["op"] != "void" and row["seq"] not in void:
        keys.setdefault(row["key"], []).append(row)
with open("${STATE}", "w", newline="") as out:
    print("${stateHeader(feed)}", file=out)
    for key in sorted(keys):
        found = keys[key]
        if ${flag(skill.newest)}:
            found = sorted(found, key=lambda row: (row["changed"], row["seq"]${skill.ties ? "" : " * 0"}))
        since = []
        for row in found:
            if row["op"] == "delete":
                since = []
            elif row["op"] == "put":
                since.append(row)
        if not ${flag(skill.tombstones)}:
            since = [row for row in found if row["op"] == "put"]
        if since and ${flag(skill.missing)}:
            print(key, *[next((row[column] for row in reversed(since) if column in row), "") for column in COLUMNS],
                  sep=",", file=out)
        elif since:
            print(key, *[since[-1].get(column, "") for column in COLUMNS], sep=",", file=out)
`;
}

/**
 * Runs the loader over all drops, from an empty state, and prints the state after each: a text, or null where there is none. Each run is a
 * process that was forked, which spares the start of an interpreter.
 */
export function runProgram({ days }: Feed): string {
  return `
import csv, json, os, runpy, signal, sys, time
def run(drop):
    child = os.fork()
    if child == 0:
        code = 1
        try:
            os.setsid()
            os.chdir("run")
            null = os.open("/dev/null", os.O_RDWR)
            for number in range(3):
                os.dup2(null, number)
            sys.argv, sys.path[0] = ["${LOADER}", drop], os.getcwd()
            runpy.run_path("${LOADER}", run_name="__main__")
            code = 0
        except SystemExit as end:
            code = 0 if end.code in (None, 0) else 1
        finally:
            os._exit(code)
    for _ in range(3000):
        done, status = os.waitpid(child, os.WNOHANG)
        if done:
            return status == 0
        time.sleep(0.001)
    os.killpg(child, signal.SIGKILL)
    os.waitpid(child, 0)
    return False
found = []
for day in ${literal(days.map(({ name }) => name))}:
    path = "run/${STATE}"
    ended = run("drops/" + day)
    there = ended and os.path.isfile(path) and not os.path.islink(path) and os.path.getsize(path) < 100000
    found.append(open(path, "rb").read().decode("latin-1") if there else None)
print(json.dumps(found))
`;
}
