/**
 * Whether a problem that is trained on can be held out, too.
 *
 * The split follows from the canonical form of an instance. If that has something which the problem has not, such as a seed that changes no word, one problem
 * has several forms, and those may lie in both splits. So problems are compared here as they are posed, all of them in one wording.
 */
import { useOfContent } from "../../../datasets/index.ts";
import { createRng } from "../../../random/rng.ts";
import { contentKeyOf, drawInstance, type Drawn, groupKeyOf } from "../drawn.ts";
import { conversationOf } from "../play.ts";
import { type AnyRow, isBoxRow, isWorldRow, LEVELS } from "../row.ts";

/** Seeds of the streams that are drawn besides the samples. */
const SEEDS = [101, 102];
/** Most instances of each seed. */
const MOST_DRAWN = 60;
/** All wordings draw with this seed, so that the order of records and the like are the same. */
const WORDING_SEED = 1;

/** Each names a problem of `train` that is in `eval`, too, among the samples and others of the two easiest levels, which repeat first. */
export function sharedBySplits(id: string, row: AnyRow, samples: readonly Drawn[]): string[] {
  const drawn = SEEDS.flatMap((seed) => {
    const rng = createRng(seed);
    const count = Math.min(MOST_DRAWN, Math.ceil(samples.length / LEVELS.length));
    return Array.from({ length: count }, (_, turn) => drawInstance(row, turn % 2 === 0 ? 1 : 2, rng));
  });
  const trained = new Set<string>();
  const held = new Set<string>();
  for (const { instance } of [...samples, ...drawn]) {
    const use = useOfContent(contentKeyOf(id, row, instance), groupKeyOf(id, row, instance));
    if (use === "demonstrations") continue;
    (use === "train" ? trained : held).add(posed(row, instance));
  }
  return [...held]
    .filter((problem) => trained.has(problem))
    .map((problem) => `train and eval share ${JSON.stringify(problem.slice(0, 160))}`);
}

/** The prompt and what can be read behind it: of a world the texts of the gold script, of a box its files and what the gold script prints. */
function posed(row: AnyRow, instance: object): string {
  const prompt = row.prompts[0]?.(instance, createRng(WORDING_SEED)) ?? "";
  return `${prompt}\n${behind(row, instance)}`.toLowerCase().replaceAll(/\s+/gu, " ").trim();
}

function behind(row: AnyRow, instance: object): string {
  if (isWorldRow(row)) return JSON.stringify(conversationOf(row, instance, [], row.gold(instance)));
  return isBoxRow(row) ? JSON.stringify([row.start(instance), row.gold(instance)]) : "";
}
