/**
 * The containers of a run's pods, as its manifests have them, on this machine: no cluster is here. Their commands, arguments, variables and files
 * are those of the manifests; in place of the kubelet this test starts them, and their folder /prl is a temporary one.
 */
import { mkdir, readdir, readFile, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { type ChildProcess, spawn } from "node:child_process";
import { load } from "js-yaml";
import { afterEach, beforeEach, expect, test } from "vitest";

import { freePorts } from "../../support/free-ports.ts";
import { MAIN, prl, readJson, workspace } from "../../support/prl.ts";
import { runResult } from "../../support/runs/run-result.ts";

const SYNC = join(import.meta.dirname, "../configs/sync.toml");
const STEPS = 6;

interface Container {
  command: string[];
  args: string[];
  env: { name: string; value?: string; valueFrom?: { secretKeyRef: { key: string } } }[];
}

let place: Awaited<ReturnType<typeof workspace>>;
let started: ChildProcess[];
beforeEach(async () => {
  place = await workspace();
  started = [];
});
afterEach(async () => {
  await Promise.all(started.map((child) => ended(child, "SIGKILL")));
  await place.remove();
});

const args = (name: string) =>
  ["rl", SYNC, "--max-steps", String(STEPS), "--orchestrator.eval", "None", "--warm-start", "None"].concat([
    "--run.name",
    name,
  ]);
const call = (...given: string[]) => prl(given, { cwd: place.dir, cache: place.cache });

async function ended(child: ChildProcess, signal?: NodeJS.Signals): Promise<number | null> {
  if (child.exitCode !== null || child.signalCode !== null) return child.exitCode;
  const exit = new Promise<number | null>((resolve) => child.once("exit", resolve));
  if (signal !== undefined) child.kill(signal);
  return exit;
}

/** The folder of a deployment, as the containers would have it. */
class Pods {
  readonly #folder: string;
  readonly #root = join(place.dir, "prl");
  readonly #port: number;

  constructor(folder: string, port: number) {
    this.#folder = folder;
    this.#port = port;
  }

  get runs(): string {
    return join(this.#root, "data/runs");
  }

  /** What kubectl makes the ConfigMap of, with the names of the servers as DNS would resolve them. */
  async mountConfig(): Promise<void> {
    await mkdir(join(this.#root, "config"), { recursive: true });
    for (const file of ["rl.toml", "start.sh"]) {
      const text = await readFile(join(this.#folder, file), "utf8");
      const resolved = text.replaceAll(`//prl-deployed-inference-0.prl-deployed-inference:`, "//127.0.0.1:");
      await writeFile(join(this.#root, "config", file), this.#moved(resolved));
    }
  }

  async start(file: string, name: string): Promise<{ child: ChildProcess; output: () => string }> {
    const { command, args: given, env } = await this.#container(file, name);
    const keys = (await readFile(join(this.#folder, "key.env"), "utf8")).split("\n").map((line) => line.split("="));
    const variables = env.map(({ name: key, value, valueFrom }) => {
      const secret = keys.find(([entry]) => entry === valueFrom?.secretKeyRef.key)?.[1];
      return [key, secret ?? this.#moved(value ?? "")];
    });
    const [program = "", ...words] = [...command, ...given].map((word) => this.#moved(word).replaceAll("$$", "$"));
    const child = spawn(program, words, {
      env: { ...process.env, ...Object.fromEntries(variables) },
      cwd: place.dir,
      stdio: ["ignore", "pipe", "pipe"],
    });
    started.push(child);
    let output = "";
    for (const stream of [child.stdout, child.stderr]) stream?.on("data", (text) => (output += String(text)));
    return { child, output: () => output };
  }

  async #container(file: string, name: string): Promise<Container> {
    const documents = (await readFile(join(this.#folder, file), "utf8")).split(/^---$/mu).map((text) => load(text));
    const pods = documents as { spec: { template?: { spec: { containers: (Container & { name: string })[] } } } }[];
    const containers = pods.flatMap(({ spec }) => spec.template?.spec.containers ?? []);
    const found = containers.find((one) => one.name === name);
    if (found === undefined) throw new Error(`no container ${name} in ${file}`);
    return found;
  }

  #moved(text: string): string {
    return text.replaceAll(/(?<=^|["=\s])\/prl\//gu, `${this.#root}/`);
  }

  async health(path = "/health"): Promise<number> {
    return (await fetch(`http://127.0.0.1:${this.#port}${path}`).catch(() => null))?.status ?? 0;
  }
}

test("the pods of a run come to what prl rl comes to, though the inference pod is replaced; strangers get 401", async () => {
  expect((await call(...args("launched"))).code).toBe(0);
  const [port = 0] = await freePorts(1);
  const kubernetes = { image: "none", storage: "1Gi", inference_pods: "true", port: String(port) };
  const command = JSON.stringify([process.execPath, MAIN]);
  const given = Object.entries({ ...kubernetes, command }).flatMap(([key, value]) =>
    key === "inference_pods" ? ["--kubernetes.inference_pods"] : [`--kubernetes.${key}`, value],
  );
  const written = await call(...args("deployed"), "--kubernetes", "--dry-run", ...given);
  expect([written.code, written.stderr]).toEqual([0, ""]);
  const pods = new Pods(join(place.dir, "outputs/deployed/kubernetes"), port);
  await pods.mountConfig();
  const server = await pods.start("inference.yaml", "inference");
  const run = await pods.start("run.yaml", "run");
  const runDir = join(pods.runs, "deployed");
  const over = ended(run.child);
  let code: number | null | undefined;
  void over.then((exit) => (code = exit));
  const reached = async (version: number): Promise<void> => {
    const at = join(runDir, `weights/step_${version}/manifest.json`);
    while (!(await stat(at).catch(() => null))) {
      if (code !== undefined) throw new Error(`the run ended with ${code} before version ${version}: ${run.output()}`);
      await sleep(20);
    }
  };
  await reached(1);
  for (const path of ["/v1/models", "/metrics", "/is_paused"])
    expect([path, await pods.health(path)]).toEqual([path, 401]);
  expect(await pods.health()).toBe(200);
  await reached(2);
  await ended(server.child, "SIGKILL");
  await pods.start("inference.yaml", "inference");
  expect([await over, run.output()]).toEqual([0, expect.any(String)]);
  expect(await runResult(runDir, STEPS)).toEqual(await runResult(join(place.dir, "outputs/launched"), STEPS));
  expect(await readJson(join(runDir, "summary.json"))).toMatchObject({ status: "completed" });
  expect(await readdir(join(place.dir, "prl/data/starts"))).toHaveLength(1);
});
