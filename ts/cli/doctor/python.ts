/** Checks the Python environments of backends. They are optional, so that none is a problem when it is missing. */
import { isCpuVllm, newerVllmNote } from "../../inference/internal.ts";
import {
  cachedInterpreter,
  cudaBuild,
  hasNvidiaDriver,
  lacking,
  NEEDED_BY,
  probe,
  PYTHON_ENVIRONMENTS,
  type PythonEnvironment,
} from "../../python/index.ts";
import { explain } from "../../errors.ts";
import { ok, problem, warning, type Check } from "./check.ts";
import { cudaChecks } from "./cuda.ts";
import type { Gpu } from "./gpus.ts";

export async function pythonChecks(cache: string, gpus: readonly Gpu[]): Promise<Check[]> {
  const names = Object.keys(PYTHON_ENVIRONMENTS) as PythonEnvironment[];
  return (await Promise.all(names.map((name) => pythonCheck(name, cache, gpus)))).flat();
}

/** Whether a vLLM is for the processors or the GPUs of this machine, and no newer than its client. */
export function vllmCheck(title: string, detail: string, version: string, hasDriver: boolean): Check {
  const isCpu = isCpuVllm(version);
  if (!isCpu && !hasDriver) {
    return problem(
      title,
      `${detail}: there is no NVIDIA driver`,
      "install it, or run `npx prl python setup vllm --cpu`",
    );
  }
  if (isCpu && hasDriver) {
    return warning(title, `${detail}: it leaves the GPUs alone`, "run `npx prl python setup vllm --cuda`");
  }
  const note = newerVllmNote(version);
  return note === null ? ok(title, detail) : warning(title, note, "run `npx prl python setup vllm`");
}

async function pythonCheck(name: PythonEnvironment, cache: string, gpus: readonly Gpu[]): Promise<Check[]> {
  const title = `Python for ${name}`;
  const again = `run \`npx prl python setup ${name}\``;
  const interpreter = await cachedInterpreter(name, cache);
  if (interpreter === null) {
    return [ok(title, `not set up; only ${NEEDED_BY[name]} needs it (npx prl python setup ${name})`)];
  }
  try {
    const found = await probe(name, interpreter);
    const lacks = lacking(name, found);
    if (lacks.length > 0) return [problem(title, `${interpreter} has ${lacks.join(", ")}`, again)];
    const versions = Object.entries(found.packages).map(([what, version]) => `${what} ${version}`);
    const detail = `Python ${found.python}, ${versions.join(", ")} in ${interpreter}`;
    const version = found.packages["vllm"] ?? "";
    const check = name === "vllm" ? vllmCheck(title, detail, version, await hasNvidiaDriver()) : ok(title, detail);
    if (name === "vllm" && isCpuVllm(version)) return [check];
    return [check, ...cudaChecks(name, await cudaBuild(interpreter), gpus, again)];
  } catch (error) {
    return [problem(title, explain(error), again)];
  }
}
