/** Checks that gold answers get the full reward, equal ones every time, and that other answers do not. */
import type { ScoredReply } from "../model/configured-environment.ts";
import type { Split } from "../../datasets/index.ts";
import type { Task } from "../model/tasks.ts";
import type { Inspection } from "./inspection.ts";
import { choiceOf, lastText, saidInstead } from "./lazy-replies.ts";

/** Replies of a policy that does not know the answer. */
const IGNORANT = ["", "I do not know."];
/** Share of other tasks' gold answers that may also be right (two tasks can have one answer). */
const MOST_SHARED_GOLD = 0.5;

/** For each task the best reply that the environment's own check knows, where it has scored one. */
export type Golds = ReadonlyMap<Task, ScoredReply>;

export async function checkGolds(inspection: Inspection, split: Split, tasks: readonly Task[]): Promise<Golds> {
  const golds = new Map<Task, ScoredReply>();
  for (const task of tasks) {
    const gold = await goldOf(inspection, split, task);
    if (gold !== null) golds.set(task, gold);
  }
  return golds;
}

async function goldOf(inspection: Inspection, split: Split, task: Task): Promise<ScoredReply | null> {
  const { environment, notes } = inspection;
  const scored = await inspection.attempt("gold", split, task.key, () =>
    inspection.work.scores.of(
      () => environment.validate(task),
      (replies) => replies.length,
    ),
  );
  if (scored === null) return null;
  const gold = scored.toSorted((a, b) => b.reward - a.reward)[0];
  if (gold !== undefined && gold.reward > 0) return gold;
  // A check without a score, such as a program in a sandbox, has found the gold answer right.
  if (environment.validates)
    notes.add("its validate() has no right answer scored: whether wrong ones score as high was not tried");
  return null;
}

/** Checks that neither silence nor the answer of another task gets as much as the right one. */
export async function checkWrong(inspection: Inspection, split: Split, golds: Golds): Promise<void> {
  const all = [...golds.values()];
  let [foreign, paid] = [0, 0];
  for (const [index, [task, gold]] of [...golds].entries()) {
    for (const reply of IGNORANT) {
      const reward = await inspection.score("wrong", split, task, reply);
      if (reward === null || reward < gold.reward) continue;
      const message = `${JSON.stringify(reply)} scores ${reward}, the gold answer ${gold.reward}`;
      inspection.fail("wrong", split, task.key, message);
    }
    const other = all[(index + 1) % all.length];
    if (other === undefined || JSON.stringify(other.reply) === JSON.stringify(gold.reply)) continue;
    const reward = await inspection.score("wrong", split, task, other.reply);
    if (reward === null) continue;
    foreign += 1;
    if (reward >= gold.reward) paid += 1;
  }
  await checkChoices(inspection, split, golds);
  if (foreign === 0 || paid / foreign <= MOST_SHARED_GOLD) return;
  inspection.fail("wrong", split, null, `${paid} of ${foreign} answers to another task get full marks`);
}

/** Checks replies that leave open which of two answers they mean (`#### 5 or 6`): they must not count. */
async function checkChoices(inspection: Inspection, split: Split, golds: Golds): Promise<void> {
  const all = [...golds];
  let [tried, paid, example] = [0, 0, ""];
  for (const [index, [task, { reply, reward: best }]] of all.entries()) {
    const choice = choiceOf(lastText(reply), lastText(all[(index + 1) % all.length]?.[1].reply ?? ""));
    if (choice === null) continue;
    const reward = await inspection.score(
      "wrong",
      split,
      task,
      saidInstead(reply, () => choice),
    );
    if (reward === null) continue;
    tried += 1;
    if (reward < best) continue;
    paid += 1;
    example = choice;
  }
  if (tried === 0 || paid / tried <= MOST_SHARED_GOLD) return;
  const message = `${paid} of ${tried} replies that leave a choice, such as ${JSON.stringify(example)}, get full marks`;
  inspection.fail("wrong", split, null, message);
}

export async function checkScoresAgain(inspection: Inspection, split: Split, golds: Golds): Promise<void> {
  for (const [task, { reply, reward }] of golds) {
    const again = await inspection.score("deterministic", split, task, reply);
    if (again !== null && again !== reward)
      inspection.fail("deterministic", split, task.key, `the same reply scores ${reward} and then ${again}`);
  }
}
