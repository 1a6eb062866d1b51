/** The worker thread of `verifyMath`: pairs in, judgements out, one after the other. */
import { parentPort } from "node:worker_threads";

import { judge, type Judgement, type JudgeOptions } from "./judge.ts";

export interface Pair {
  readonly id: number;
  readonly gold: string;
  readonly answer: string;
  readonly options: JudgeOptions;
}

export interface Judged extends Judgement {
  readonly id: number;
}

parentPort?.on("message", ({ id, gold, answer, options }: Pair) => {
  parentPort?.postMessage({ id, ...judge(gold, answer, options) } satisfies Judged);
});
