/** The evaluations of a supervised run as the run that makes them: the same blocks, with a learner that is not the trainer of `prl rl`. */
import { type RlConfig, rlConfigSchema } from "../rl.ts";
import type { SftConfig } from "../sft.ts";

/** Its training sources are those of the evaluation: a config has some, nothing is drawn from them. Null: no evaluations. */
export function evaluationRun(config: SftConfig): RlConfig | null {
  const { eval: evaluation, inference, run, output_dir, seed, max_steps, seq_len, model, ...others } = config;
  if (evaluation === null) return null;
  const source = evaluation.source.map(({ name, env }) => ({ name, env }));
  return rlConfigSchema.parse({
    run,
    output_dir,
    seed,
    max_steps,
    seq_len,
    model,
    log: others.log,
    monitors: others.monitors,
    sandbox: others.sandbox,
    inference: { ...inference, model: undefined },
    orchestrator: { train: { source }, eval: evaluation },
  });
}
