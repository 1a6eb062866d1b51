/** Options of `prl plan`: its assumptions. */
import { DEVICES } from "../../../plan/index.ts";
import { type OptionRule, RULES } from "../../arguments/option-rule.ts";
import type { CommandOption } from "../../command.ts";

const LEAST_SHARE = 0.001;
const LEAST_SPEED = 0.001;
const FASTEST = 10_000;
const LONGEST_SECONDS = 1_000_000;
const share: OptionRule = { is: "number", least: LEAST_SHARE, most: 1 };

export const PLAN_OPTIONS: readonly (CommandOption & { readonly value: string })[] = [
  {
    flag: "--device",
    value: "<device>",
    rule: { is: "one of", values: [...DEVICES.map(({ id }) => id), "cpu"] },
    summary: `Kind of the GPUs: ${DEVICES.map(({ id }) => id).join(", ")}; cpu: there are none (default h100)`,
  },
  {
    flag: "--mfu",
    value: "<share>",
    rule: share,
    summary: "Share of the GPU's speed that training and prompts reach (default 0.4)",
  },
  {
    flag: "--bandwidth",
    value: "<share>",
    rule: share,
    summary: "Share of the memory's bandwidth that decoding reaches (default 0.6)",
  },
  {
    flag: "--prompt-tokens",
    value: "<n>",
    rule: RULES.count,
    summary: "Mean tokens of a prompt (default 512, at most a quarter of seq_len)",
  },
  {
    flag: "--completion-tokens",
    value: "<n>",
    rule: RULES.count,
    summary: "Mean tokens of a completion (default: half of the longest)",
  },
  {
    flag: "--env-seconds",
    value: "<s>",
    rule: { is: "number", least: 0, most: LONGEST_SECONDS },
    summary: "Time of a rollout in its environment, outside of sampling (default 1)",
  },
  {
    flag: "--transfer",
    value: "<GB/s>",
    rule: { is: "number", least: LEAST_SPEED, most: FASTEST },
    summary: "Speed at which weights travel (default 2 for files, 1.25 for gRPC)",
  },
  {
    flag: "--server-gpus",
    value: "<n>",
    rule: RULES.count,
    summary: "GPUs of each server of orchestrator.client.base_url (default 1)",
  },
];
