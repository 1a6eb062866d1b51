/** Options of `prl inference <model>` about adapters and the model's sampling defaults, under vLLM's names. */
import { resolve } from "node:path";

import { z } from "zod";

import { PrlError } from "../../errors.ts";
import { type InferenceServerOptions, MOST_ADAPTERS, samplingDefaults } from "../../inference/index.ts";
import { RULES } from "../arguments/option-rule.ts";
import { numberOption } from "../arguments/args.ts";
import type { CommandIo } from "../command.ts";

export const SERVING_OPTIONS = [
  {
    flag: "--generation-config",
    value: "<auto|vllm|folder>",
    rule: { is: "text" },
    summary:
      "Sampling defaults of requests under /v1: auto (default: the model's generation_config.json), vllm (the API's own), or a folder with such a file",
  },
  {
    flag: "--override-generation-config",
    value: "<json>",
    summary: 'Sampling defaults that go before those, such as {"temperature": 0.6}',
  },
  { flag: "--enable-lora", summary: "Adapters can be loaded, which they always can; this changes nothing" },
  {
    flag: "--lora-modules",
    value: "<name>=<folder>,...",
    rule: { is: "text" },
    summary: "Adapters to load at the start; requests name them as their model",
  },
  {
    flag: "--max-loras",
    value: "<n>",
    rule: { is: "integer", least: 1, most: MOST_ADAPTERS },
    summary: `Most adapters that are loaded at once, all of which may be in one batch (default ${MOST_ADAPTERS})`,
  },
  {
    flag: "--max-lora-rank",
    value: "<n>",
    rule: RULES.count,
    summary: "Largest rank of an adapter (default: any that the engine computes)",
  },
] as const;

type Options = ReadonlyMap<string, string>;

/** Errors: PRL_CLI_USAGE, PRL_CONFIG_FILE, PRL_CONFIG_INVALID. */
export async function servingOptions(
  options: Options,
  modelDir: string,
  { cwd }: Pick<CommandIo, "cwd">,
): Promise<Required<Pick<InferenceServerOptions, "samplingDefaults" | "adapters">>> {
  const source = options.get("--generation-config") ?? "auto";
  const number = (flag: string) => (options.has(flag) ? numberOption(options, flag, 0) : undefined);
  const most = number("--max-loras");
  const mostRank = number("--max-lora-rank");
  return {
    samplingDefaults: await samplingDefaults({
      modelDir,
      source: source === "auto" || source === "vllm" ? source : resolve(cwd, source),
      overrides: jsonObject("--override-generation-config", options.get("--override-generation-config") ?? "{}"),
    }),
    adapters: {
      loaded: adaptersOf(options.get("--lora-modules") ?? "", cwd),
      ...(most !== undefined && { most }),
      ...(mostRank !== undefined && { mostRank }),
    },
  };
}

function adaptersOf(text: string, cwd: string): { name: string; dir: string }[] {
  const parts = text.split(",").filter((part) => part.trim() !== "");
  return parts.map((part) => {
    const [, name, dir] = /^\s*([^=]+?)\s*=\s*(.+?)\s*$/su.exec(part) ?? [];
    if (name !== undefined && dir !== undefined) return { name, dir: resolve(cwd, dir) };
    throw new PrlError("PRL_CLI_USAGE", `prl inference: --lora-modules: must be <name>=<folder>,..., got ${part}`);
  });
}

const objectSchema = z.record(z.string(), z.unknown());

/** The value of an option that is a JSON object. Errors: PRL_CLI_USAGE. */
export function jsonObject(flag: string, text: string): Readonly<Record<string, unknown>> {
  let value: unknown = null;
  try {
    value = JSON.parse(text);
  } catch {
    // The check below says what is expected.
  }
  const { data } = objectSchema.safeParse(value);
  if (data !== undefined) return data;
  throw new PrlError("PRL_CLI_USAGE", `prl inference: ${flag}: must be a JSON object, got ${text}`);
}
