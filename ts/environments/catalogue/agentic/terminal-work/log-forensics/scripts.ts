/** Readers of the logs: with all care, or as a hasty one would read. */
import type { Commands, ShellStep } from "../../../row.ts";
import { pythonCommand } from "../python.ts";
import type { Day } from "./day.ts";
import { logFiles, REPORT, truth } from "./logs.ts";

export interface Skill {
  /** Which failures are looked at: those that no other failure explains, or all. */
  readonly origins: boolean;
  /** How the pair of service and code is chosen. */
  readonly choose: "newest" | "loudest" | "first";
  readonly clocks: boolean;
  readonly older: boolean;
  /** The last change of the service, or of any. */
  readonly ownChanges: boolean;
  /** Counts failures that were tolerated, too. */
  readonly countsAll: boolean;
}

export const FULL_SKILL: Skill = {
  origins: true,
  choose: "newest",
  clocks: true,
  older: true,
  ownChanges: true,
  countsAll: false,
};

export function goldSteps(day: Day): ShellStep[] {
  const files = logFiles(day);
  const names = Object.keys(files).toSorted((a, b) => (a < b ? -1 : 1));
  const { service, change, request, failed } = truth(day);
  return [
    {
      command: `cd ${day.folder}; LC_ALL=C ls; cat LOGS.txt`,
      prints: `${names.map((name) => `${name}\n`).join("")}${files["LOGS.txt"] ?? ""}`,
    },
    { command: `cat ${day.folder}/changes.log`, prints: files["changes.log"] ?? "" },
    {
      command: readerCommand(day, FULL_SKILL),
      prints: `{"service": "${service}", "change": "${change}", "request": "${request}", "failed": ${failed}}\n`,
    },
  ];
}

export function readingCommands(day: Day, skill: Partial<Skill>): Commands {
  return [readerCommand(day, { ...FULL_SKILL, ...skill })];
}

function readerCommand({ folder }: Day, skill: Skill): string {
  const flag = (value: boolean): string => (value ? "True" : "False");
  return pythonCommand(`
import collections, datetime, glob, json, os, re
os.chdir("${folder}")
def seconds(text):
    return datetime.datetime.fromisoformat(text.replace("Z", "+00:00")).timestamp()
ahead = collections.Counter()
if ${flag(skill.clocks)} and os.path.exists("clocks.txt"):
    ahead.update({name: int(value) for name, value in (line.split() for line in open("clocks.txt"))})
changes = []
for line in open("changes.log"):
    time, change, service, *_ = line.split()
    changes.append((seconds(time), change, service))
calls = {}
for path in glob.glob("*.log")${skill.older ? ' + glob.glob("*.log.1")' : ""}:
    service = path.split(".")[0]
    if service == "changes":
        continue
    for line in open(path):
        if line.startswith("{"):
            record = json.loads(line)
            time = record["ms"] / 1000
        else:
            stamp, rest = line.split(" ", 1)
            record, time = dict(re.findall(r'(\\w+)=("[^"]*"|\\S+)', rest)), seconds(stamp)
        if "call" in record:
            calls[record["call"]] = dict(record, time=time - ahead[service], service=service)
failed = {name: one for name, one in calls.items() if one["status"] == "failed"}
explained = {one["by"] for one in failed.values()} if ${flag(skill.origins)} else set()
pairs = collections.defaultdict(list)
for name, one in failed.items():
    if name not in explained:
        pairs[one["service"], one["code"]].append(one)
first = {pair: min(found, key=lambda one: one["time"]) for pair, found in pairs.items()}
choose = {"newest": lambda pair: first[pair]["time"], "loudest": lambda pair: len(pairs[pair]),
          "first": lambda pair: -first[pair]["time"]}["${skill.choose}"]
pair = max(sorted(pairs), key=choose)
begin = first[pair]
before = [one for one in changes if one[0] <= begin["time"] and (one[2] == pair[0] or not ${flag(skill.ownChanges)})]
top = {one["request"] for one in failed.values() if one["by"] == "-"}
requests = {one["request"] for one in (failed.values() if ${flag(skill.countsAll)} else pairs[pair])}
report = {"service": pair[0], "change": max(before)[1] if before else "", "request": begin["request"],
          "failed": len(requests if ${flag(skill.countsAll)} else requests & top)}
json.dump(report, open("../${REPORT}", "w"))
print(json.dumps(report))
`);
}
