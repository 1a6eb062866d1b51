/**
 * The config of the RL run that makes the evaluations of a supervised run: the same blocks, with another learner than the trainer of
 * `prl rl`.
 */
import type { Problem } from "../problem.ts";
import { type RlConfig, rlConfigSchema } from "../rl.ts";
import { nameProblems } from "../rl/source-names.ts";
import type { SftConfig } from "../sft.ts";

/** Its training sources are those of the evaluation, because a config needs some; no tasks are drawn from them. Null: no evaluations. */
export function evaluationRun(config: SftConfig): RlConfig | null {
  return config.eval === null ? null : rlConfigSchema.parse(evaluationInput(config, config.eval));
}

/** The problems that such a run refuses, by the keys of `sft.toml`. */
export function* evaluationProblems(config: SftConfig): Generator<Problem> {
  if (config.eval === null) return;
  const names = [...nameProblems(["eval", "source"], config.eval.source)];
  yield* names;
  // The same names would be reported by the keys of that run.
  if (names.length > 0) return;
  const { error } = rlConfigSchema.safeParse(evaluationInput(config, config.eval));
  for (const { path, message } of error?.issues ?? []) yield { path: ownPath(path as Problem["path"]), message };
}

function evaluationInput(config: SftConfig, evaluation: NonNullable<SftConfig["eval"]>): Record<string, unknown> {
  const { inference, model, run, output_dir, seed, max_steps, seq_len, log, monitors, deployment, sandbox } = config;
  const source = evaluation.source.map(({ env }, index) => ({ name: `evaluated-${index}`, env }));
  return {
    run,
    output_dir,
    seed,
    max_steps,
    seq_len,
    // Servers drop nothing.
    model: model.lora === null ? { ...model, base_dtype: null } : { ...model, lora: { ...model.lora, dropout: 0 } },
    log,
    monitors,
    deployment,
    sandbox,
    inference: { ...inference, model: undefined },
    orchestrator: { train: { source }, eval: evaluation },
  };
}

/** `orchestrator.eval` is `eval` there. */
function ownPath(path: Problem["path"]): Problem["path"] {
  const [section, block, ...rest] = path;
  return section === "orchestrator" && block === "eval" ? ["eval", ...rest] : path;
}
