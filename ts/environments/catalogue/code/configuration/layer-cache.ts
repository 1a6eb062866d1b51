/** layer-cache: the steps of container builds that run again after files, arguments and lines have changed. */
import { sample } from "../../../../random/draws.ts";
import type { Rng } from "../../../../random/rng.ts";
import { at, range } from "../../lists.ts";
import type { Level } from "../../row.ts";
import { itemRow } from "../item-row.ts";

interface Step {
  stage: number;
  do: "copy" | "run" | "from-stage" | "arg";
  /** Files, the text of a command, the stage that is copied from, or the argument's name. */
  what: string;
}
export interface LayerProblem {
  /** The stage on which each stage builds; null: an image from outside. */
  bases: (number | null)[];
  steps: Step[];
  /** What differs from the last build, build by build. */
  builds: { files: string[]; args: string[]; edited: number | null; target: number }[];
}

/** By level: stages, steps, builds. */
const SIZES = [
  [1, 4, 2],
  [2, 6, 2],
  [2, 8, 3],
  [3, 11, 4],
  [4, 15, 5],
] as const;
const FILES = ["app.py", "lock", "conf", "data", "docs"];

export const layerCache = itemRow<LayerProblem>({
  id: "layer-cache",
  asks: "the steps of multi-stage container builds that run again after changes",
  form: "lines",
  tries: 80,
  make,
  prompts: [
    (one) =>
      `${file(one)}\n\nThe last build was complete, and all its layers are cached. ${RULES}\n\n${builds(one)}\n\nWrite one line for each build: the numbers of the steps that run again, ascending with spaces, or - for none.`,
    (one) =>
      `Container builds with a layer cache. ${RULES}\n\n${file(one)}\n\nEverything has been built once. Then:\n${builds(one)}\n\nList, a line per build, the steps that are not taken from the cache (numbers in order, spaces between; - if there are none).`,
    (one) =>
      `Which steps are executed?\n\n${builds(one)}\n\nThe build file is\n\n${file(one)}\n\nIts layers are cached from a full build at the beginning. ${RULES} One line of step numbers per build (ascending, space-separated, or -).`,
    (one) =>
      `${RULES}\n\n${file(one)}\n\nAfter a complete first build these builds follow:\n${builds(one)}\n\nName the executed steps of each, in one line per build, as ascending numbers with spaces, and - when all come from the cache.`,
  ],
});

const RULES =
  "A step runs if it, or something that it builds on, has changed since it was last executed: a COPY if one of its files has, a COPY --from if a step of that stage runs (or the stage has changed without being built since), an ARG if its value has (and with it all later steps of the stage), any step if an earlier step of its stage, or of the stage on which its stage is based, has. Only stages that the target needs are built: the target, the stages on which it is based and those that it copies from, in turn. Changes add up until a step is executed.";

function file({ bases, steps }: LayerProblem): string {
  const lines = bases.flatMap((base, stage) => {
    const own = steps.flatMap((step, index) => (step.stage === stage ? [`${index + 1}: ${stepText(step)}`] : []));
    return [`FROM ${base === null ? "debian" : `stage${base}`} AS stage${stage}`, ...own];
  });
  return lines.join("\n");
}

function stepText({ do: what, what: text }: Step): string {
  return {
    copy: `COPY ${text} .`,
    run: `RUN ${text}`,
    "from-stage": `COPY --from=stage${text} out .`,
    arg: `ARG ${text}`,
  }[what];
}

function builds({ builds: all }: LayerProblem): string {
  return all
    .map(({ files, args, edited, target }, index) => {
      const changes = [
        ...files.map((one) => `${one} has changed`),
        ...args.map((one) => `${one} has a new value`),
        ...(edited === null ? [] : [`the text of step ${edited + 1} has changed`]),
      ];
      return `Build ${index + 1}, target stage${target}: ${changes.join(", ") || "nothing has changed"}.`;
    })
    .join("\n");
}

function make(rng: Rng, level: Level) {
  const [stages, count, buildCount] = at(SIZES, level - 1);
  const bases = range(stages).map((stage) => (stage > 0 && rng.integer(2) === 0 ? rng.integer(stage) : null));
  const owners = [...range(stages), ...range(count - stages).map(() => rng.integer(stages))].toSorted((a, b) => a - b);
  let commands = 0;
  const steps = owners.map((stage): Step => {
    const kind = rng.integer(8);
    if (kind < 3) return { stage, do: "copy", what: sample(FILES, 1 + rng.integer(2), rng).join(" ") };
    if (kind < 5 && stage > 0) return { stage, do: "from-stage", what: String(rng.integer(stage)) };
    if (kind === 5) return { stage, do: "arg", what: rng.pick(["MODE", "TAG"]) };
    commands += 1;
    return { stage, do: "run", what: `make ${"abcdefghijklmnop".charAt(commands)}` };
  });
  const all = range(buildCount).map(() => ({
    files: sample(FILES, rng.pick([0, 1, 1, 2]), rng),
    args: rng.integer(4) === 0 ? [rng.pick(["MODE", "TAG"])] : [],
    edited: rng.integer(4) === 0 ? rng.integer(count) : null,
    target: rng.integer(3) === 0 ? rng.integer(stages) : stages - 1,
  }));
  const problem = { bases, steps, builds: all };
  const items = executed(problem, "right");
  if (items.filter((item) => item === "-").length > buildCount / 3 || new Set(items).size < Math.min(buildCount, 2))
    return null;
  const everything = steps.map((_, index) => index + 1).join(" ");
  if (items.includes(everything)) return null;
  const misses = (["alone", "whole", "forgets"] as const).map((slip) => executed(problem, slip));
  if (misses[0]?.join() === items.join()) return null;
  return { problem, items, misses, effort: count * buildCount + stages };
}

/** Slips: only the changed step runs, every stage is built, or changes that no build has used are forgotten. */
function executed({ bases, steps, builds: all }: LayerProblem, how: "right" | "alone" | "whole" | "forgets"): string[] {
  let dirty = new Set<number>();
  // A stage that a copy has not seen since it changed.
  const stale = new Set<number>();
  return all.map(({ files, args, edited, target }) => {
    for (const [index, { do: what, what: text }] of steps.entries()) {
      const isTouched =
        (what === "copy" && text.split(" ").some((one) => files.includes(one))) ||
        (what === "arg" && args.includes(text)) ||
        index === edited;
      if (isTouched) dirty.add(index);
    }
    const needed = new Set([target]);
    for (const stage of needed) {
      const base = bases[stage];
      if (base !== undefined && base !== null) needed.add(base);
      for (const step of steps) if (step.stage === stage && step.do === "from-stage") needed.add(Number(step.what));
    }
    const broken = new Set<number>();
    const run: number[] = [];
    for (const stage of bases.keys()) {
      if (!needed.has(stage) && how !== "whole") continue;
      const base = bases[stage] ?? null;
      let isBroken = base !== null && broken.has(base) && how !== "alone";
      for (const [index, step] of steps.entries()) {
        if (step.stage !== stage) continue;
        const isOwn = dirty.has(index) || stale.has(index);
        if (!isOwn && !isBroken) continue;
        isBroken = how !== "alone";
        run.push(index);
      }
      if (!run.some((index) => steps[index]?.stage === stage) && !isBroken) continue;
      broken.add(stage);
      // What copies from this stage, or is based on it, has to follow, perhaps in a later build.
      for (const [index, step] of steps.entries()) {
        const isFirst = steps.findIndex((one) => one.stage === step.stage) === index;
        if (
          how !== "alone" &&
          ((step.do === "from-stage" && Number(step.what) === stage) || (isFirst && bases[step.stage] === stage))
        )
          stale.add(index);
      }
    }
    for (const index of run) {
      dirty.delete(index);
      stale.delete(index);
      // A later step of a stage that is executed is as new as the whole stage.
    }
    if (how === "forgets") dirty = new Set();
    return (
      run
        .toSorted((a, b) => a - b)
        .map((index) => index + 1)
        .join(" ") || "-"
    );
  });
}
