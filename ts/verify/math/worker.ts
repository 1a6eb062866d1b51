/** The worker thread of `verifyMath`: pairs in, judgements out, one after the other. */
import { parentPort } from "node:worker_threads";

import { type NumberedJob, type NumberedResult, READY } from "../deadline-thread.ts";
import { judge, type Judgement, type JudgeOptions } from "./judge.ts";

export interface Pair {
  readonly gold: string;
  readonly answer: string;
  readonly options: JudgeOptions;
}

parentPort?.on("message", ({ id, job }: NumberedJob<Pair>) => {
  const result = judge(job.gold, job.answer, job.options);
  parentPort?.postMessage({ id, result } satisfies NumberedResult<Judgement>);
});
parentPort?.postMessage(READY);
