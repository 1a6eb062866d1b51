/** Draws services with faults that show, and the scripts of operators. */
import { between, sample } from "../../../../random/draws.ts";
import type { Rng } from "../../../../random/rng.ts";
import { at, range } from "../../lists.ts";
import type { Level, Script } from "../../row.ts";
import { call, namesOf } from "../records.ts";
import { type Instance, Live } from "./live.ts";
import { type Program, programOf } from "./machine.ts";
import { answersOf, type Request, sequenceOf } from "./probes.ts";
import {
  DOMAINS,
  drawNames,
  drawOrder,
  drawRules,
  type Fault,
  FAULTS,
  type File,
  FILES,
  hasLine,
  named,
  optionsOf,
  sourcesOf,
  type Spec,
} from "./source.ts";
import { NotSource } from "./syntax.ts";

/** By level: faults, optional rules, minutes, and whether users say what is wrong. */
const SIZES = [
  [1, 0, 40, true],
  [1, 2, 45, true],
  [2, 2, 50, true],
  [2, 3, 55, false],
  [3, 3, 60, false],
] as const;
/** Hidden sequences of each test, and draws for them. */
const OF_TEST = 3;
const TRIES = 60;
/** Where so many of them do not show a fault, the draw is given up. */
const FEW_TRIES = 15;
const KEYS = ["k-a", "k-b", "k-c"];
/** The line without which nothing is ever shown from the cache. */
const COPIES = '    put("$until", key, now() + $KEEP)';

export function make(rng: Rng, level: Level): Instance | null {
  const [count, options, minutes, complains] = at(SIZES, level - 1);
  const rules = drawRules(rng, optionsOf(options, rng));
  const spec: Spec = { rules, names: drawNames(rng), order: drawOrder(rng) };
  const faults = drawFaults(spec, count, rng);
  if (faults === null) return null;
  const seed = rng.integer(2 ** 30);
  const probes = probesOf(spec, faults, seed);
  if (probes === null) return null;
  const instance: Instance = {
    ...spec,
    faults,
    minutes,
    pace: between(rng, 2, 3),
    accounts: namesOf("acc", 5, rng),
    seed,
    probes,
    complaint: complains ? complaintOf(spec, faults, seed) : null,
    answered: 0,
  };
  if ((complains && instance.complaint === null) || !seesLoss(instance)) return null;
  return { ...instance, answered: playedBy(instance, scriptOf(instance)).answered };
}

/** Faults of different files, as far as there are so many. */
function drawFaults(spec: Spec, count: number, rng: Rng): string[] | null {
  const files = sample(FILES, count, rng);
  const faults = files.flatMap((file): string[] => {
    const some = FAULTS.filter((fault) => fault.file === file && hasLine(spec, fault));
    return some.length === 0 ? [] : [rng.pick(some).id];
  });
  return faults.length === count ? faults : null;
}

/** Sequences that the faulty service, and the one with this fault alone, answer wrongly. Null where there are too few. */
function probesOf(spec: Spec, faults: readonly string[], seed: number): number[][] | null {
  const [right, all] = [programOf(sourcesOf(spec)), programOf(sourcesOf(spec, faults))];
  const alone = faults.map((fault) => programOf(sourcesOf(spec, [fault])));
  const tests: number[][] = faults.map(() => []);
  const fine: number[] = [];
  const wrong: number[] = [];
  for (let probe = seed; probe < seed + TRIES && tests.some((some) => some.length < OF_TEST); probe++) {
    if (probe === seed + FEW_TRIES && tests.some((some) => some.length === 0)) return null;
    const sequence = sequenceOf(spec.rules, probe, KEYS);
    const wanted = textOf(right, sequence);
    const isWrong = textOf(all, sequence) !== wanted;
    (isWrong ? wrong : fine).push(probe);
    const shown = isWrong ? alone.map((program) => textOf(program, sequence) !== wanted) : [];
    for (const [index, shows] of shown.entries()) if (shows) tests[index]?.push(probe);
  }
  if (tests.some((some) => some.length < OF_TEST)) return null;
  const cacheless = programOf(without(sourcesOf(spec), "cache", named(COPIES, spec.names)));
  const old = range(TRIES).find((index) => {
    const sequence = sequenceOf(spec.rules, seed + index, KEYS);
    return textOf(cacheless, sequence) !== textOf(right, sequence);
  });
  if (old === undefined) return null;
  const whole = [...wrong.slice(0, 1), ...fine.slice(0, OF_TEST), seed + old];
  return [...tests.map((some) => some.slice(-OF_TEST)), whole];
}

/** Whether the tests see that a faulty line was only taken away. */
function seesLoss(instance: Instance): boolean {
  return instance.faults.every((id) => {
    const { file, right } = faultOf(id);
    const sources = without(sourcesOf(instance), file, named(right, instance.names));
    return testsPassed(instance, readable(sources)).includes(false);
  });
}

function without(sources: readonly string[], file: File, line: string): string[] {
  const lines = at(sources, FILES.indexOf(file)).split("\n");
  const left = lines.filter((_, index) => index !== lines.indexOf(line)).join("\n");
  return sources.map((source, index) => (index === FILES.indexOf(file) ? left : source));
}

function readable(sources: readonly string[]): Program | null {
  try {
    return programOf(sources);
  } catch (error) {
    if (error instanceof NotSource) return null;
    throw error;
  }
}

function textOf(program: Program | null, sequence: readonly Request[]): string {
  return JSON.stringify(answersOf(program, sequence));
}

/** A sequence that is no hidden one, with a wrong answer. */
function complaintOf(spec: Spec, faults: readonly string[], seed: number): number | null {
  const [right, all] = [programOf(sourcesOf(spec)), programOf(sourcesOf(spec, faults))];
  const found = range(TRIES).find((index) => {
    const sequence = sequenceOf(spec.rules, seed + TRIES + index, KEYS);
    return textOf(right, sequence) !== textOf(all, sequence);
  });
  return found === undefined ? null : seed + TRIES + found;
}

/** The requests up to the first wrong answer, with what was answered and what would have been right. */
export function complaintText(instance: Instance): string {
  if (instance.complaint === null) return "Users only say that some answers are wrong.";
  const sequence = sequenceOf(instance.rules, instance.complaint, KEYS);
  const right = answersOf(programOf(sourcesOf(instance)), sequence) ?? [];
  const given = answersOf(programOf(sourcesOf(instance, instance.faults)), sequence) ?? [];
  const first = right.findIndex((answer, index) => answer !== given[index]);
  let minute = 0;
  const lines = sequence.slice(0, first + 1).map(({ after, op, key, other, amount, id }, index) => {
    minute += after;
    return `- minute ${minute}: ${op} ${key} ${other} ${amount} (id ${id}) was answered ${given[index] ?? "not at all"}`;
  });
  return `A tester sent these requests to a service with an empty store:\n${lines.join("\n")}\nThe last answer should have been ${at(right, first)}.`;
}

/** Whether a program answers as it should, for each fault and in the end for the whole. */
export function testsPassed(instance: Instance, running: Program | null): boolean[] {
  const right = programOf(sourcesOf(instance));
  return instance.probes.map((seeds) =>
    seeds.every((seed) => {
      const sequence = sequenceOf(instance.rules, seed, KEYS);
      return textOf(running, sequence) === textOf(right, sequence);
    }),
  );
}

export function playedBy(instance: Instance, script: Script): Live {
  const live = new Live(instance);
  for (const { tool, args } of script) apply(live, tool, args);
  live.finish();
  return live;
}

/** What the tools do, for scripts that are right in form. */
function apply(live: Live, tool: string, args: Readonly<Record<string, unknown>>): void {
  if (tool === "read") live.read(args["file"] as File);
  if (tool === "edit") live.edit(args["file"] as File, Number(args["from"]), Number(args["to"]), String(args["text"]));
  if (tool === "restart") live.restart(args["queue"] === "kill" ? "kill" : "save");
}

type Repair = Readonly<Record<string, unknown>> & { readonly file: File };

/** The edit that takes a fault back. */
export function repairOf(instance: Instance, id: string, text?: string): Repair {
  const { file, right } = faultOf(id);
  const wanted = sourcesOf(instance);
  const given = sourcesOf(instance, [id]);
  const index = FILES.indexOf(file);
  const line = at(wanted, index)
    .split("\n")
    .findIndex((one, place) => one !== at(given, index).split("\n")[place]);
  return { file, from: line + 1, to: line + 1, text: text ?? named(right, instance.names) };
}

function faultOf(id: string): Fault {
  return at(
    FAULTS.filter((one) => one.id === id),
    0,
  );
}

const READS: Script = FILES.map((file) => call("read", { file }));

export function scriptOf(instance: Instance, faults = instance.faults, queue = "save"): Script {
  return [...READS, ...faults.map((id) => call("edit", repairOf(instance, id))), call("restart", { queue })];
}

/** Plausible mistakes, by name. */
export function slipsOf(instance: Instance, rng: Rng): Readonly<Record<string, Script>> {
  const { faults, rules } = instance;
  const restart = call("restart", { queue: "save" });
  const edits = faults.map((id) => call("edit", repairOf(instance, id)));
  const handler = at(sourcesOf(instance, faults), 0).split("\n");
  const start = handler.findIndex((line) => line.startsWith("def handle(")) + 2;
  const [show] = at(DOMAINS, rules.domain).ops;
  const constant = `    if op == "${show}" and key == "k-a":\n        return ${between(rng, 10, 90)}`;
  const [first = ""] = faults;
  const slips: Record<string, Script> = {
    "no restart": [...READS, ...edits],
    "a restart for each edit, and one to be sure": [...READS, ...edits.flatMap((edit) => [edit, restart]), restart],
    "answers one request by a constant": [
      ...READS,
      call("edit", { file: "handler", from: start, to: start - 1, text: constant }),
      restart,
    ],
    "takes the faulty line away": [
      ...READS,
      ...edits.slice(1),
      call("edit", repairOf(instance, first, "    # todo")),
      restart,
    ],
    "brings the backup back": [...READS, ...edits, call("restore"), restart],
    "a file that cannot be read": [
      ...READS,
      ...edits.slice(1),
      call("edit", repairOf(instance, first, `${named(faultOf(first).right, instance.names)} then`)),
      restart,
    ],
  };
  if (faults.length > 1) slips["leaves the last fault"] = scriptOf(instance, faults.slice(0, -1));
  const killed = scriptOf(instance, faults, "kill");
  if (playedBy(instance, killed).lost > 0) slips["kills the queue"] = killed;
  return slips;
}

/** Scripts that need no look at the service. */
export function blanketsOf(instance: Instance): Readonly<Record<string, Script>> {
  const restart = call("restart", { queue: "save" });
  return {
    restart: [restart],
    "restore and restart": [call("restore"), restart],
    "kill and restart": [call("restart", { queue: "kill" }), restart],
    "an empty cache": [
      call("edit", { file: "cache", from: 1, to: at(sourcesOf(instance), 2).trimEnd().split("\n").length, text: "" }),
      restart,
    ],
  };
}
