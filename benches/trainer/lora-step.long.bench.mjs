// A whole step of GRPO on an adapter of rank 16 beside TRL and peft, which do the same: a group of 8 completions of 512 tokens behind one prompt of
// 512 tokens, then an optimizer step on them. Random bfloat16 weights in the shape of Qwen3-0.6B. Each side runs in a new process, by turns, and
// does one step without a warm-up: minutes. No completion ends early. The tokenizer of TRL writes a token as its number, ours is not needed.
// A try: PRL_BENCH_SHAPE=12m (another of benches/shapes), PRL_BENCH_LENGTHS=64,32 (prompt, completion), PRL_BENCH_ROUNDS=1.
import { spawnSync } from "node:child_process";
import { join } from "node:path";
import { useTwoCores } from "../measurement/cores.mjs";
import { report, rival, threads } from "../measurement/report.mjs";
import { withModels } from "../serving/shaped-model.mjs";

const { PRL_BENCH_SHAPE = "qwen3-0.6b", PRL_BENCH_LENGTHS = "512,512", PRL_BENCH_ROUNDS = "2" } = process.env;
const GROUP = 8;
const RANK = 16;
const [PROMPT, COMPLETION] = PRL_BENCH_LENGTHS.split(",").map(Number);
/** Longer than any step takes; only a hang reaches it. */
const DEADLINE_MS = 30 * 60_000;
const GIB = 2 ** 30;

useTwoCores();
await withModels([{ shape: PRL_BENCH_SHAPE, dtype: "bfloat16" }], ([model]) => {
  const sizes = { model, threads, prompt: PROMPT, completion: COMPLETION, group: GROUP, rank: RANK };
  const rounds = Array.from({ length: Number(PRL_BENCH_ROUNDS) }, () => ({ trl: byTrl(sizes), ours: byPrl(sizes) }));
  const ours = bestOf(rounds.map((round) => round.ours));
  const trl = bestOf(rounds.map((round) => round.trl).filter((result) => result !== undefined));
  const rate = (tokens, part) => ({
    unit: "tokens/s",
    better: "higher",
    ours: tokens / ours[part],
    rivals: { TRL: trl && tokens / trl[part] },
  });
  report({ name: "lora-rollouts", ...rate(GROUP * COMPLETION, "rollout") });
  report({ name: "lora-training", ...rate(GROUP * (PROMPT + COMPLETION), "train") });
  report({ name: "lora-step", unit: "s", better: "lower", ours: ours.step, rivals: { TRL: trl?.step } });
  const peak = { ours: ours.peak / GIB, rivals: { TRL: trl && trl.peak / GIB } };
  report({ name: "lora-memory", unit: "GiB at the most", better: "lower", ...peak });
});

/** Seconds of the step and its two parts, and the most memory that the process held, in bytes. */
function byPrl(sizes) {
  const script = join(import.meta.dirname, "grpo-step.mjs");
  const { status, stdout, error } = spawnSync(process.execPath, [script, JSON.stringify(sizes)], {
    encoding: "utf8",
    stdio: ["ignore", "pipe", "inherit"],
    timeout: DEADLINE_MS,
  });
  if (status !== 0) throw new Error(`our step exited with ${status}`, { cause: error });
  return shown("prl", JSON.parse(stdout));
}

function byTrl(sizes) {
  const args = Object.entries(sizes).flatMap(([name, value]) => [`--${name}`, String(value)]);
  const result = rival("trl_lora_step.py", args);
  return result && shown("TRL", result);
}

function shown(side, result) {
  const { rollout, train, step, peak } = result;
  const seconds = [rollout, train, step].map((value) => value.toFixed(1));
  console.log(
    `${side}: rollouts ${seconds[0]} s, training ${seconds[1]} s, whole step ${seconds[2]} s, ${(peak / GIB).toFixed(2)} GiB`,
  );
  return result;
}

/** The shortest times of all rounds and the greatest memory; undefined without rounds. */
function bestOf(results) {
  if (results.length === 0) return undefined;
  const shortest = (part) => Math.min(...results.map((result) => result[part]));
  const peak = Math.max(...results.map((result) => result.peak));
  return { rollout: shortest("rollout"), train: shortest("train"), step: shortest("step"), peak };
}
