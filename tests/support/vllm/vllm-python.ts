/** A Python interpreter for tests that has vLLM, as far as a run can see: it says its versions, and starts the stand-in. */
import { writeFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { join } from "node:path";
import { pathToFileURL } from "node:url";

import { readJsonLines } from "../prl.ts";

const PROGRAM = join(import.meta.dirname, "vllm-stand-in-program.ts");

/** One start of the stand-in. */
export interface VllmStart {
  pid: number;
  /** The process that it started, as vLLM starts its engine. */
  worker: number;
  args: string[];
  env: Record<string, string>;
}

export interface VllmPython {
  /** The interpreter, for `inference.python`. */
  path: string;
  starts(): Promise<VllmStart[]>;
  /** What the stand-ins were asked, in the order of time (seconds since 1970). */
  calls(): Promise<{ time: number; call: string }[]>;
}

/** Makes it in `dir`. `settings` are those of the stand-in program. */
export async function vllmPython(
  dir: string,
  { version = "0.32.0+cpu", settings = {} }: { version?: string; settings?: Record<string, string> } = {},
): Promise<VllmPython> {
  const path = join(dir, "python-with-vllm");
  const record = join(dir, "vllm-starts.jsonl");
  const calls = join(dir, "vllm-calls.jsonl");
  const loader = pathToFileURL(createRequire(import.meta.url).resolve("tsx")).href;
  const variables = Object.entries({ STAND_IN_RECORD: record, STAND_IN_CALLS: calls, ...settings });
  const probed = JSON.stringify({ python: "3.12.1", packages: { vllm: version } });
  const lines = [
    "#!/bin/sh",
    `if [ "$1" = -c ]; then echo '${probed}'; exit 0; fi`,
    ...variables.map(([name, value]) => `export ${name}='${value}'`),
    `exec '${process.execPath}' --import '${loader}' '${PROGRAM}' "$@"`,
  ];
  await writeFile(path, `${lines.join("\n")}\n`, { mode: 0o755 });
  return {
    path,
    starts: () => readJsonLines<VllmStart>(record).catch(() => []),
    calls: () => readJsonLines<{ time: number; call: string }>(calls).catch(() => []),
  };
}
