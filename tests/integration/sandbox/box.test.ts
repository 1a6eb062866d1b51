/** Held sandboxes: what stays, what ends, and who sees it. */

import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type Box, SandboxPool } from "../../../ts/sandbox/index.ts";
import { until } from "./support.ts";

let pool: SandboxPool;
beforeAll(async () => {
  pool = await SandboxPool.start();
});
afterAll(async () => pool.close());

const sh = (script: string): string[] => ["sh", "-c", script];
const held = async (use: (box: Box) => Promise<void>, request: Parameters<SandboxPool["create"]>[0] = {}) => {
  const box = await pool.create(request);
  try {
    await use(box);
  } finally {
    await box.close();
  }
};
const out = (result: { stdout: Buffer }): string => result.stdout.toString();

describe("a held sandbox", () => {
  test("keeps files and processes from one exec to the next", async () => {
    await held(async (box) => {
      expect(await box.exec(sh("echo kept > note; sleep 60 & echo $! > pid"))).toMatchObject({
        cause: "EXITED",
        exitCode: 0,
      });
      expect(out(await box.exec(sh("cat note; kill -0 $(cat pid) && echo alive")))).toBe("kept\nalive\n");
    });
  });

  test("gives stdin, environment, folder and user to an exec, and its own truth back", async () => {
    await held(
      async (box) => {
        const result = await box.exec(sh('cat; echo "$A $B"; pwd; exit 7'), {
          stdin: "in\n",
          env: { B: "exec" },
          cwd: "/tmp",
        });
        expect(result).toMatchObject({ cause: "EXITED", exitCode: 7 });
        expect(out(result)).toBe("in\nbox exec\n/tmp\n");
        expect((await box.exec(sh("echo x > mine"), { user: "nobody" })).exitCode).not.toBe(0);
        expect(await box.exec(["sleep", "60"], { timeoutMs: 200 })).toMatchObject({ cause: "WALL_TIMEOUT" });
      },
      { env: { A: "box" } },
    );
  });

  test("an abort gives up on a box that is being made, and leaves none behind", async () => {
    const labels = { abort: "create" };
    const reason = new Error("enough");
    await expect(pool.create({ labels, signal: AbortSignal.abort(reason) })).rejects.toBe(reason);
    const controller = new AbortController();
    const making = pool.create({ labels, signal: controller.signal });
    controller.abort(reason);
    await expect(making).rejects.toBe(reason);
    await (await pool.create({ labels, signal: new AbortController().signal })).close();
    expect(await until(async () => (await pool.list({ labels })).length === 0, 10_000)).toBe(true);
  });

  test("an abort kills one exec and leaves the box", async () => {
    await held(async (box) => {
      const controller = new AbortController();
      const other = box.exec(sh("sleep 1; echo other"));
      const aborted = box.exec(sh("echo before; sleep 60"), { signal: controller.signal, timeoutMs: 60_000 });
      await new Promise((resolve) => setTimeout(resolve, 300));
      controller.abort();
      const result = await aborted;
      expect(result).toMatchObject({ cause: "CANCELLED", exitCode: null });
      expect(out(result)).toBe("before\n");
      expect(out(await other)).toBe("other\n");
      expect((await box.exec(["true"], { signal: AbortSignal.abort() })).cause).toBe("CANCELLED");
    });
  });

  test("one key is one execution", async () => {
    await held(async (box) => {
      const first = await box.exec(sh("date +%s%N"), { key: "once" });
      const again = await box.exec(sh("date +%s%N"), { key: "once" });
      expect(out(again)).toBe(out(first));
      expect(again.replayed).toBe(true);
    });
  });

  test("output comes as it is written, and a slow listener loses none", async () => {
    await held(async (box) => {
      const seen: string[] = [];
      const result = await box.exec(sh("for i in 1 2 3; do echo $i; echo e$i >&2; done"), {
        onStdout: async (data) => {
          await new Promise((resolve) => setTimeout(resolve, 20));
          seen.push(data.toString());
        },
        onStderr: (data) => void seen.push(data.toString()),
      });
      expect(result).toMatchObject({ cause: "EXITED", exitCode: 0, stdoutGap: 0 });
      expect(out(result)).toBe("1\n2\n3\n");
      expect(result.stderr.toString()).toBe("e1\ne2\ne3\n");
      expect(seen.join("").replace(/e\d\n/g, "")).toBe("1\n2\n3\n");
    });
  });

  test("a command with a listener has the limits of its box", async () => {
    const onStdout = (): void => undefined;
    await held(
      async (box) => {
        expect(await box.exec(["sleep", "9"], { onStdout })).toMatchObject({ cause: "WALL_TIMEOUT" });
        expect(await box.exec(["sleep", "0.5"], { onStdout, timeoutMs: 9000 })).toMatchObject({ cause: "EXITED" });
      },
      { limits: { wallMs: 300 } },
    );
  });

  test("a listener that throws ends the command and rejects", async () => {
    await held(async (box) => {
      const onStdout = (): void => {
        throw new Error("of the listener");
      };
      await expect(box.exec(sh("echo x; sleep 60"), { onStdout, timeoutMs: 60_000 })).rejects.toThrow(
        "of the listener",
      );
      const isIdle = async () => (await box.processes()).every(({ running }) => !running);
      expect(await until(isIdle, 5000)).toBe(true);
    });
  });
});

describe("the life of a box", () => {
  test("an exec after its end is INFRA, after its closing a mistake", async () => {
    const box = await pool.create({ ttlMs: 300 });
    await new Promise((resolve) => setTimeout(resolve, 600));
    expect(await box.exec(["true"])).toMatchObject({ cause: "INFRA", reason: "box_ended", exitCode: null });
    await expect(box.processes()).rejects.toMatchObject({ code: "PRL_SANDBOX_BOX_ENDED" });
    const closed = await pool.create();
    await closed.close();
    await closed.close();
    await expect(closed.exec(["true"])).rejects.toMatchObject({ code: "PRL_SANDBOX_CLOSED" });
  });

  test("its lease is renewed as long as it is held", async () => {
    await held(
      async (box) => {
        await new Promise((resolve) => setTimeout(resolve, 1500));
        expect((await box.exec(["true"])).cause).toBe("EXITED");
      },
      { leaseMs: 400 },
    );
  });

  test("its lifetime can be set anew", async () => {
    await held(
      async (box) => {
        await box.setTimeout(null);
        await new Promise((resolve) => setTimeout(resolve, 1000));
        expect((await box.exec(["true"])).cause).toBe("EXITED");
      },
      { ttlMs: 600 },
    );
  });

  test("boxes are found and closed by label", async () => {
    const made = await Promise.all(["a", "a", "b"].map((of) => pool.create({ labels: { of, test: "labels" } })));
    const ids = async (labels: Record<string, string>) => (await pool.list({ labels })).map(({ id }) => id).sort();
    const all = made.map(({ id }) => id).sort();
    expect(await ids({ test: "labels" })).toEqual(all);
    expect((await pool.closeAll({ labels: { of: "a", test: "labels" } })).sort()).toEqual(
      made
        .slice(0, 2)
        .map(({ id }) => id)
        .sort(),
    );
    expect(await ids({ test: "labels" })).toEqual([made[2]?.id]);
    await expect(pool.closeAll({ labels: {} })).rejects.toMatchObject({ code: "PRL_SANDBOX_REQUEST" });
    expect(await made[0]?.exec(["true"])).toMatchObject({ cause: "INFRA", reason: "box_ended" });
    await made[2]?.close();
  });

  test("one that exists is opened by its id, and no other", async () => {
    await held(async (box) => {
      await box.exec(sh("echo here > note"));
      const again = await pool.open(box.id);
      expect(out(await again.exec(["cat", "note"]))).toBe("here\n");
      expect(again.info).toMatchObject({ id: box.id, labels: {}, remainingMs: null });
    });
    await expect(pool.open("nowhere")).rejects.toMatchObject({ code: "PRL_SANDBOX_BOX_UNKNOWN" });
  });

  test("an id is one box", async () => {
    const first = await pool.create({ id: "chosen", labels: { a: "1" } });
    await first.exec(sh("echo x > note"));
    const same = await pool.create({ id: "chosen", labels: { a: "1" } });
    expect(out(await same.exec(["cat", "note"]))).toBe("x\n");
    await expect(pool.create({ id: "chosen", labels: { a: "2" } })).rejects.toMatchObject({
      code: "PRL_SANDBOX_EXISTS",
    });
    await first.close();
    await expect(pool.create({ id: "chosen", labels: { a: "1" } })).rejects.toMatchObject({
      code: "PRL_SANDBOX_BOX_ENDED",
    });
  });

  test("the pool's end closes it", async () => {
    const other = await SandboxPool.start();
    const box = await other.create();
    await other.close();
    await expect(box.exec(["true"])).rejects.toMatchObject({ code: "PRL_SANDBOX_CLOSED" });
  });

  test("the daemon's death makes an exec INFRA", async () => {
    const other = await SandboxPool.start();
    const box = await other.create();
    const running = box.exec(["sleep", "60"], { timeoutMs: 60_000 });
    await until(async () => (await box.processes().catch(() => [])).length > 0, 300);
    process.kill(other.daemonPid ?? 0, "SIGKILL");
    expect(await running).toMatchObject({ cause: "INFRA", reason: "daemon_exited", exitCode: null });
    expect((await box.exec(["true"])).cause).toBe("INFRA");
    await other.close();
  });
});

describe("a process", () => {
  test("takes input, gives output and its end, and is attached to again", async () => {
    await held(async (box) => {
      const cat = await box.start(["cat"]);
      expect(cat.pid).toBeGreaterThan(1);
      await cat.write("one\n");
      await cat.write("two\n");
      const again = box.attach(cat.id);
      await cat.end();
      const result = await again.wait();
      expect(result).toMatchObject({ cause: "EXITED", exitCode: 0 });
      expect(out(result)).toBe("one\ntwo\n");
      expect(out(await cat.wait({ stdoutFrom: 4 }))).toBe("two\n");
      expect(await box.processes()).toMatchObject([{ id: cat.id, command: ["cat"], running: false }]);
      await expect(box.attach("nowhere").wait()).rejects.toMatchObject({ code: "PRL_SANDBOX_UNKNOWN" });
    });
  });

  test("gets signals", async () => {
    await held(async (box) => {
      const trap = await box.start(sh("trap 'echo got; exit 3' TERM; echo ready; while :; do sleep 0.05; done"), {
        stdin: "",
      });
      for await (const chunk of trap.output()) if (chunk.data.includes("ready")) break;
      await trap.signal("SIGTERM");
      expect(await trap.wait({ stdoutFrom: 6 })).toMatchObject({
        cause: "EXITED",
        exitCode: 3,
        stdout: Buffer.from("got\n"),
      });
      const sleeper = await box.start(["sleep", "60"], { stdin: "", timeoutMs: 60_000 });
      await sleeper.kill();
      expect(await sleeper.wait()).toMatchObject({ cause: "SIGNALED", signal: "SIGKILL" });
      const controller = new AbortController();
      const waited = (await box.start(["sleep", "60"], { timeoutMs: 60_000 })).wait({ signal: controller.signal });
      controller.abort();
      expect((await waited).cause).toBe("CANCELLED");
    });
  });

  test("sits on a terminal of a size", async () => {
    await held(async (box) => {
      const shell = await box.start(["sh"], { pty: { rows: 31, columns: 97 } });
      await shell.write("stty size; tty\n");
      let seen = "";
      for await (const chunk of shell.output()) {
        seen += chunk.data.toString();
        if (/\/dev\/pts/.test(seen)) break;
      }
      expect(seen).toMatch(/31 97\r\n\/dev\/pts/);
      await shell.resize({ rows: 10, columns: 20 });
      await shell.write("stty size; exit 4\n");
      const result = await shell.wait();
      expect(out(result)).toContain("10 20");
      expect(result.exitCode).toBe(4);
    });
  });
});

describe("a port", () => {
  test("of the box is reached by an address of this machine", async () => {
    await held(async (box) => {
      const server = await box.start(["python3", "-m", "http.server", "8123", "--bind", "127.0.0.1"], {
        stdin: "",
        timeoutMs: 60_000,
      });
      const url = box.url(8123);
      expect(box.url(8123)).toBe(url);
      await box.exec(sh("echo from the box > page.txt"));
      let text = "";
      await until(async () => {
        // Node 20's fetch can wait for ever on a connection that is closed before it answers, as those to a server that is not up yet are.
        const response = await fetch(`${url}/page.txt`, { signal: AbortSignal.timeout(1000) }).catch(() => null);
        text = response?.ok === true ? await response.text().catch(() => "") : "";
        return text !== "";
      }, 10_000);
      expect(text).toBe("from the box\n");
      await server.kill();
    });
  });
});
