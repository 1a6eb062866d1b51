/** The lines of a plan that the head of a config in `configs/gpu` repeats. */
import { formatBytes, formatCount, formatSeconds } from "../../../ts/monitors/index.ts";
import type { Plan } from "../../../ts/plan/index.ts";

const seconds = (value: number | null): string => (value === null ? "not estimated" : formatSeconds(value));

export function budgetLines(plan: Plan): string[] {
  const { model, trainer, inference, time, batch, versions, processes, share } = plan;
  const kinds = (bytes: Readonly<Record<string, number>>): string =>
    Object.entries(bytes)
      .map(([name, value]) => `${name.replace("kv_cache", "KV cache")} ${formatBytes(value)}`)
      .join(", ");
  const of = (place: string): string => (place === "gpu" ? "of each GPU" : "of the machine");
  const servers = `${formatBytes(inference.total)} ${of(inference.place)}: ${kinds(inference.bytes)}`;
  const sequences = `${formatCount(inference.longest_sequences)} of ${formatCount(inference.max_model_len)} tokens`;
  return [
    `parameters  ${formatCount(model.parameters)}, ${formatCount(model.trained)} train, ${formatCount(model.active)} of a token`,
    `trainer     ${formatBytes(trainer.total)} ${of(trainer.place)}: ${kinds(trainer.bytes)}`,
    `loading     ${formatBytes(trainer.loading ?? undefined)} of each GPU, ${formatBytes(trainer.loading_host ?? undefined)} of the machine`,
    `inference   ${servers}`,
    ...(share === null
      ? []
      : [
          `turns       vLLM --gpu-memory-utilization ${share.utilization}, asleep ${formatBytes(share.server_rest)}; the trainer away ${formatBytes(share.trainer_rest)}; ${formatBytes(share.host)} wait in the machine's memory; ${seconds(time.handover)} a step`,
        ]),
    `sequences   ${sequences} in a server, or ${formatCount(inference.mean_sequences)} of the mean length`,
    `step        ${seconds(time.step)} for ${formatCount(batch.tokens)} tokens: training ${seconds(time.train)}, sampling ${seconds(time.sample)}`,
    `a version   ${formatBytes(versions.full)}, ${formatSeconds(versions.full_seconds)} to travel`,
    `processes   ${processes.gpus} GPU${processes.gpus === 1 ? "" : "s"}, ${processes.env_workers} env workers, ${processes.sandboxes} sandboxes`,
  ];
}
