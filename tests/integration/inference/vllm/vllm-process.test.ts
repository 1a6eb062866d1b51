/** One vLLM that a process of a run starts and watches: a stand-in for `vllm serve`, as a program. */
import { afterEach, beforeEach, describe, expect, test } from "vitest";

import { parseInferenceProcessConfig, type VllmServer } from "../../../../ts/inference/index.ts";
import { serveVllm } from "../../../../ts/inference/vllm/serve-vllm.ts";
import { VllmProcess } from "../../../../ts/inference/vllm/vllm-process.ts";
import { isAlive } from "../../../support/prl.ts";
import { type VllmPython, vllmPython } from "../../../support/vllm/vllm-python.ts";
import { publishVersion, scratch } from "../tiny-model.ts";

let root: Awaited<ReturnType<typeof scratch>>;
let folder: string;
beforeEach(async () => {
  root = await scratch();
  ({ dir: folder } = await publishVersion(root.dir, 0));
});
afterEach(() => root.remove());

const TIMES = { pollMs: 50, watchMs: 50, silenceMs: 200 };

/** Serves until `use` has what it wants; the outcome of serving. */
async function served(python: VllmPython, use: (server: VllmServer, end: AbortController) => Promise<void>) {
  const end = new AbortController();
  const lines: string[] = [];
  const inference = { backend: "vllm", python: python.path, max_model_len: 128, model: { name: "tiny" } };
  const config = parseInferenceProcessConfig({ model_dir: folder, inference }, "the test");
  const options = { index: 0, env: {}, signal: end.signal, log: (text: string) => void lines.push(text), times: TIMES };
  const error = await serveVllm(config, options, (server) => use(server, end)).then(
    () => null,
    (reason: unknown) => reason,
  );
  return { error, log: lines.join("") };
}

async function gone(pid: number): Promise<void> {
  while (isAlive(pid)) await new Promise((done) => setTimeout(done, 20));
}

describe("a vLLM that a run keeps", () => {
  test("answers as the client needs it, and ends with its caller", async () => {
    const python = await vllmPython(root.dir);
    const { error, log } = await served(python, async ({ url, dtype }, end) => {
      expect(dtype).toBe("float32");
      expect(await (await fetch(`${url}/weight_info`)).json()).toEqual({ weight_version: "default" });
      end.abort("SIGTERM");
    });
    expect(error).toEqual(new Error("SIGTERM"));
    expect(log).toContain("INFO the stand-in shuts down");
    const [start] = await python.starts();
    await gone(start?.worker ?? 0);
  });

  test("is given up when it answers nothing for too long", async () => {
    const python = await vllmPython(root.dir);
    const { error } = await served(python, async () => {
      process.kill((await python.starts())[0]?.pid ?? 0, "SIGSTOP");
    });
    expect(error).toMatchObject({
      code: "PRL_INFERENCE_TIMEOUT",
      message: expect.stringContaining("has not answered"),
    });
    const [start] = await python.starts();
    await gone(start?.pid ?? 0);
    await gone(start?.worker ?? 0);
  });

  test("is refused by name where it lacks what the client needs", async () => {
    const python = await vllmPython(root.dir, { settings: { VLLM_SERVER_DEV_MODE: "0" } });
    const { error } = await served(python, async () => undefined);
    expect(error).toMatchObject({
      code: "PRL_INFERENCE_UNSUPPORTED",
      message: expect.stringContaining("/weight_info"),
    });
  });
});

describe("the process group of a vLLM", () => {
  const begin = (...args: string[]) => new VllmProcess({ interpreter: "/bin/sh", args, env: {}, log: () => undefined });

  test("ends with the program: processes that it left behind are gone, and its last lines are kept", async () => {
    const vllm = begin("-c", "sleep 1000 & echo $!; seq 1 40 >&2; exit 7");
    expect(await vllm.ended).toBe("exit code 7");
    const [head, ...lines] = vllm.summary.split("\n").map((line) => line.trim());
    expect(head).toBe("The end of what it printed:");
    expect(lines).toEqual(Array.from({ length: 15 }, (_, i) => String(26 + i)));
    await expect(vllm.failure()).rejects.toMatchObject({
      code: "PRL_PROCESS_DIED",
      message: expect.stringContaining("40"),
    });
  });

  test("is killed after a grace when the program does not end", async () => {
    const lines: string[] = [];
    const stubborn = "trap '' TERM; sleep 1000 & echo $!; wait; wait; sleep 1000";
    const vllm = new VllmProcess({
      interpreter: "/bin/sh",
      args: ["-c", stubborn],
      env: {},
      log: (text) => lines.push(text),
    });
    while (lines.length === 0) await new Promise((done) => setTimeout(done, 10));
    await vllm.stop();
    expect(await vllm.ended).toBe("signal SIGKILL");
    await gone(Number(lines[0]));
  });

  test("a program that is not there is named", async () => {
    const vllm = new VllmProcess({ interpreter: "/nowhere/python", args: [], env: {}, log: () => undefined });
    expect(await vllm.ended).toBe("exit code 127");
    expect(vllm.summary).toContain("/nowhere/python");
  });
});
