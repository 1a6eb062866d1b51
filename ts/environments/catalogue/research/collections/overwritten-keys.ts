/** overwritten-keys: last values in a long log of settings, with deletions, renamings, copies and returns to saved states. */
import { sample } from "../../../../random/draws.ts";
import type { Rng } from "../../../../random/rng.ts";
import { distinct, word } from "../../../builtin/words.ts";
import { fieldRow, type Solution } from "../../field-row.ts";
import { at, range } from "../../lists.ts";
import type { Level } from "../../row.ts";

type Entry =
  | { kind: "set"; key: string; value: string }
  | { kind: "delete"; key: string }
  | { kind: "rename" | "copy" | "swap"; key: string; other: string }
  | { kind: "save" | "restore"; name: string };

interface Given {
  entries: Entry[];
  asked: string[];
  values: string[];
}

/** By level: entries, keys, whether states are saved. */
const SIZES = [
  [12, 4, false],
  [24, 5, false],
  [50, 6, true],
  [100, 7, true],
  [200, 9, true],
] as const;
const QUESTIONS = 6;
const MISSING = "missing";

export const overwrittenKeys = fieldRow<Given>({
  id: "overwritten-keys",
  asks: "final values of keys after a log of updates, deletions, renamings, copies and restored states",
  draw,
  solve,
  isShared: true,
  values: () => `each value is a word, or ${MISSING} for a key that does not exist at the end`,
  wordings: [
    (one) =>
      `A settings file was changed like this, line by line:\n${log(one)}\n\n${rules()}\n\nWhat are the values of ${questions(one)} at the end?`,
    (one) => `${rules()}\n\nReplay the log and give the last state of ${questions(one)}.\n${log(one)}`,
    (one) => `Keys: ${questions(one)}. What does each hold after the last line?\n${log(one)}\n\n${rules()}`,
    (one) =>
      `The following commands ran in this order on an empty store.\n${log(one)}\n${rules()} Find out what ${questions(one)} hold now.`,
  ],
});

function draw(rng: Rng, level: Level): Given {
  const [count, keyCount, saves] = at(SIZES, level - 1);
  const words = distinct(keyCount + 24, () => word(rng));
  const keys = words.slice(0, Math.max(keyCount, QUESTIONS));
  const values = words.slice(-18);
  const names = ["dawn", "noon", "dusk"];
  const saved = new Set<string>();
  const entries = range(count).map((): Entry => {
    const [key = "", other = ""] = sample(keys, 2, rng);
    const roll = rng.integer(20);
    if (saves && roll < 2) {
      const name = rng.pick(names);
      saved.add(name);
      return { kind: "save", name };
    }
    if (saves && roll === 2 && saved.size > 0) return { kind: "restore", name: rng.pick([...saved]) };
    if (roll < 4) return { kind: "delete", key };
    if (roll < 10) return { kind: rng.pick(["rename", "copy", "swap"] as const), key, other };
    return { kind: "set", key, value: rng.pick(values) };
  });
  return { entries, asked: keys.slice(0, QUESTIONS), values };
}

function solve({ entries, asked, values }: Given): Solution | null {
  const state = replayed(entries);
  const found = asked.map((key) => state.get(key) ?? MISSING);
  if (new Set(found).size < 4 || found.filter((value) => value === MISSING).length > 2) return null;
  const lastSet = asked.map((key) => {
    const last = entries.findLast((entry) => entry.kind === "set" && entry.key === key);
    return last?.kind === "set" ? last.value : MISSING;
  });
  const simple = replayed(entries.filter(({ kind }) => kind === "set" || kind === "delete"));
  const unsaved = replayed(entries.filter(({ kind }) => kind !== "restore"));
  const slips = [
    lastSet,
    asked.map((key) => simple.get(key) ?? MISSING),
    asked.map((key) => unsaved.get(key) ?? MISSING),
  ];
  const gold = found.join();
  return {
    fields: asked.map((name, index) => ({
      name,
      kind: "word",
      value: at(found, index),
      options: [...values, MISSING],
    })),
    slips: slips.filter((slip, index) => slip.join() !== gold || index === 0),
    steps: entries.length + dependent(entries),
  };
}

/** Entries whose effect depends on the state. */
function dependent(entries: readonly Entry[]): number {
  return entries.filter(({ kind }) => kind !== "set").length;
}

/** Where the named key does not exist, an entry has no effect. */
function replayed(entries: readonly Entry[]): Map<string, string> {
  let state = new Map<string, string>();
  const saved = new Map<string, Map<string, string>>();
  for (const entry of entries) {
    switch (entry.kind) {
      case "set":
        state.set(entry.key, entry.value);
        break;
      case "delete":
        state.delete(entry.key);
        break;
      case "save":
        saved.set(entry.name, new Map(state));
        break;
      case "restore":
        state = new Map(saved.get(entry.name) ?? state);
        break;
      default: {
        const [value, other] = [state.get(entry.key), state.get(entry.other)];
        if (value === undefined || (entry.kind === "swap" && other === undefined)) break;
        state.set(entry.other, value);
        if (entry.kind === "rename") state.delete(entry.key);
        if (entry.kind === "swap" && other !== undefined) state.set(entry.key, other);
      }
    }
  }
  return state;
}

function rules(): string {
  return "The store is empty at first. RENAME a b gives the value of a to b, whatever b had, and removes a; COPY a b does so and keeps a; SWAP a b exchanges the two values. A line that names a key which does not exist (for RENAME and COPY the first one, for SWAP either) has no effect, but SET makes a key. SAVE keeps the whole state under a name, in place of an earlier one of this name; RESTORE brings that state back, and it stays saved.";
}

function log({ entries }: Given): string {
  return entries
    .map((entry) => {
      switch (entry.kind) {
        case "set":
          return `SET ${entry.key} ${entry.value}`;
        case "delete":
          return `DELETE ${entry.key}`;
        case "save":
        case "restore":
          return `${entry.kind.toUpperCase()} ${entry.name}`;
        default:
          return `${entry.kind.toUpperCase()} ${entry.key} ${entry.other}`;
      }
    })
    .join("\n");
}

function questions({ asked }: Given): string {
  return asked.join(", ");
}
