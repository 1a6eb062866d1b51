/** `prl env dev [<path>]`: watches an environment's sources, and checks it and shows sample rollouts on every save, until Ctrl-C. */
import { existsSync, statSync } from "node:fs";
import { dirname, join, relative, resolve } from "node:path";

import { aborted } from "../../../async/aborted.ts";
import { environmentReference, sourceOf } from "../../../environments/internal.ts";
import { explain, PrlError } from "../../../errors.ts";
import { numberOption, type PlainArguments } from "../../arguments/args.ts";
import { type CommandIo, EXIT } from "../../command.ts";
import { askEnvironment } from "../../environment-check/environment-child.ts";
import type { EnvironmentQuestion, ModelAddress } from "../../environment-check/messages.ts";
import { passText, sampleText } from "../../environment-check/pass-text.ts";
import { watchSources } from "../../environment-check/watch-sources.ts";
import { environmentArgs } from "./options.ts";

const TASKS = 5;
const SAMPLES = 2;
const DEADLINE_S = 20;

export async function run(args: PlainArguments, io: CommandIo): Promise<number> {
  if (io.json)
    throw new PrlError(
      "PRL_CLI_USAGE",
      "prl env dev: it prints until it is stopped, so it has no --json; see prl env test",
    );
  const { module, folder } = watched(args, io.cwd);
  const question = questionOf(args, module, io);
  const once = args.options.has("--once");
  const sources = once ? null : watchSources(folder);
  try {
    io.stdout.write(
      `${relative(io.cwd, module) || "."}${once ? "" : `: watching ${relative(io.cwd, folder) || "."}, Ctrl-C ends it`}\n`,
    );
    for (let isGood = true; ;) {
      const saved = sources?.next() ?? null;
      const stop = AbortSignal.any(saved === null ? [io.signal] : [io.signal, saved]);
      isGood = await pass(question, io, stop);
      if (once) return isGood ? EXIT.done : EXIT.failed;
      if (saved?.aborted === false) await aborted(stop);
      if (io.signal.aborted) return EXIT.done;
      io.stdout.write("\n");
    }
  } finally {
    sources?.close();
  }
}

/** The module to run, and the folder whose files are watched. A package is run from its source, so that it need not be built on every save. */
function watched({ positionals }: PlainArguments, cwd: string): { module: string; folder: string } {
  const [name = ".", ...rest] = positionals;
  const { path = null } = environmentReference(name);
  if (rest.length > 0 || path === null)
    throw new PrlError("PRL_CLI_USAGE", "prl env dev: expected one folder or the path of a module");
  const place = resolve(cwd, path);
  const file = place.replace(/#[^#/\\]*$/u, "");
  if (!existsSync(file)) throw new PrlError("PRL_CLI_USAGE", `prl env dev: there is no ${file}`);
  if (!statSync(file).isDirectory()) return { module: place, folder: dirname(file) };
  const source = existsSync(join(place, "package.json")) ? sourceOf(place) : null;
  if (source !== null) return { module: source, folder: place };
  throw new PrlError(
    "PRL_CLI_USAGE",
    `prl env dev: ${place} has no package.json with "prl": { "source": "./src/index.ts" }; name the module instead`,
  );
}

function questionOf(args: PlainArguments, module: string, io: CommandIo): EnvironmentQuestion {
  const { options } = args;
  return {
    name: module,
    from: io.cwd,
    args: environmentArgs(args),
    tasks: numberOption(options, "--tasks", TASKS),
    seed: numberOption(options, "--seed", 0),
    deadlineMs: 1000 * numberOption(options, "--timeout-s", DEADLINE_S),
    gate: false,
    samples: numberOption(options, "--samples", SAMPLES),
    model: modelOf(options),
  };
}

function modelOf(options: ReadonlyMap<string, string>): ModelAddress | null {
  const [url, model] = [options.get("--base-url"), options.get("--model")];
  if (url === undefined && model === undefined && !options.has("--api-key-var")) return null;
  if (url !== undefined && model !== undefined)
    return { url, model, keyVariable: options.get("--api-key-var") ?? null };
  throw new PrlError("PRL_CLI_USAGE", "prl env dev: a model is named by both --base-url and --model");
}

/** One pass; a save ends it early. Whether nothing failed. */
async function pass(question: EnvironmentQuestion, io: CommandIo, stop: AbortSignal): Promise<boolean> {
  const begun = performance.now();
  const failed: string[] = [];
  let checks = 0;
  try {
    const stopped = await askEnvironment(question, {
      signal: stop,
      hear: (answer) => {
        if (answer.type === "sample") io.stdout.write(`${sampleText(answer.sample).join("\n")}\n`);
        if (answer.type !== "row") return;
        checks += 1;
        const lines = passText(answer.row);
        if (answer.row.status === "failed") failed.push(answer.row.check);
        if (lines.length > 0) io.stdout.write(`${lines.join("\n")}\n`);
      },
    });
    if (stopped !== null) {
      failed.push(stopped.attempt.check);
      const { check, task } = stopped.attempt;
      io.stdout.write(`  ${check}${task === null ? "" : `, task ${task}`}: ${stopped.why}\n`);
    }
  } catch (error) {
    // A save or Ctrl-C ends the pass: neither is a failure of the environment.
    if (stop.aborted) return false;
    io.stdout.write(`  ${explain(error)}\n`);
    failed.push("pass");
  }
  const seconds = ((performance.now() - begun) / 1000).toFixed(1);
  const what = failed.length === 0 ? `${checks} checks, none failed` : `failed: ${failed.join(", ")}`;
  io.stdout.write(`[${new Date().toLocaleTimeString("en-GB")}] ${what} (${seconds} s)\n`);
  return failed.length === 0;
}
