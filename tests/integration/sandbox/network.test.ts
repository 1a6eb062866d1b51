/** What a sandbox reaches, as asked for from TypeScript. */

import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { sandboxDaemonPath } from "../../../ts/native/index.ts";
import { SandboxPool } from "../../../ts/sandbox/index.ts";

let pool: SandboxPool;
let server: Server;
let port: number;
beforeAll(async () => {
  pool = await SandboxPool.start();
  server = createServer((request, response) => response.end(`hello ${request.url}`));
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  port = (server.address() as AddressInfo).port;
});
afterAll(async () => {
  server.close();
  await pool.close();
});

const get = (url: string): string[] => [
  "python3",
  "-c",
  `import urllib.request as u
try: print(u.urlopen("${url}", timeout=5).read().decode())
except OSError as e: print("refused", type(e).__name__)`,
];

test("nothing but its own loopback", async () => {
  const result = await pool.runOnce({ command: get(`http://127.0.0.1:${port}/x`) });
  expect(result.stdout.toString()).toMatch(/^refused/);
});

test("one service on its own port, in runs and in boxes", async () => {
  const network = { forward: [{ listen: 7000, to: `127.0.0.1:${port}` }] };
  const result = await pool.runOnce({ command: get("http://127.0.0.1:7000/run"), network });
  expect(result.stdout.toString()).toBe("hello /run\n");
  const box = await pool.create({ network });
  expect((await box.exec(get("http://127.0.0.1:7000/box"))).stdout.toString()).toBe("hello /box\n");
  await box.close();
});

/** A daemon in a new network, where it reaches nothing of ours, as on another machine. */
async function daemonElsewhere(dir: string): Promise<{ daemon: ChildProcess; address: string }> {
  const socket = join(dir, "sandboxd.sock");
  const args = ["--net", sandboxDaemonPath(), "--socket", socket, "--park", "0"];
  const daemon = spawn("unshare", args, { stdio: ["ignore", "pipe", "inherit"] });
  await once(daemon.stdout ?? daemon, "data"); // It announces itself.
  return { daemon, address: `unix:${socket}` };
}

const ownNetworks = spawnSync("unshare", ["--net", "true"]).status === 0;

test.skipIf(!ownNetworks)(
  `a service that the daemon cannot reach is reached by its caller${ownNetworks ? "" : " (skipped: unshare --net is not allowed here)"}`,
  async () => {
    const dir = await mkdtemp(join(tmpdir(), "prl-elsewhere-"));
    const { daemon, address } = await daemonElsewhere(dir);
    const far = await SandboxPool.connect({ addresses: [address] });
    try {
      const to = `127.0.0.1:${port}`;
      const forward = [
        { listen: 7000, to, by: "caller" as const },
        { listen: 7001, to, by: "daemon" as const },
      ];
      const box = await far.create({ network: { forward } });
      expect((await box.exec(get("http://127.0.0.1:7000/caller"))).stdout.toString()).toBe("hello /caller\n");
      const unreached = await box.exec(get("http://127.0.0.1:7001/daemon"));
      expect(unreached.stdout.toString()).toMatch(/^refused/);
      await box.close();
      await expect(far.runOnce({ command: ["true"], network: { forward } })).rejects.toMatchObject({
        code: "PRL_SANDBOX_REQUEST",
      });
    } finally {
      await far.close();
      daemon.kill("SIGTERM");
      await once(daemon, "exit");
      await rm(dir, { recursive: true });
    }
  },
);

test("a program reaches the allowed hosts by the proxy, and nothing else", async () => {
  const ask = (to: string): string[] => [
    "python3",
    "-c",
    `import os, socket
host, at = os.environ["HTTP_PROXY"].removeprefix("http://").rstrip("/").split(":")
s = socket.create_connection((host, int(at)), 5)
s.sendall(b"CONNECT ${to} HTTP/1.1\\r\\nHost: ${to}\\r\\n\\r\\n")
answer = s.recv(4096).split(b"\\r\\n")[0]
print(answer.split()[1].decode())
if b" 200" in answer:
    s.sendall(b"GET /proxy HTTP/1.0\\r\\n\\r\\n")
    print(b"".join(iter(lambda: s.recv(4096), b"")).split(b"\\r\\n\\r\\n")[1].decode())`,
  ];
  const network = { allow: [`127.0.0.1:${port}`] };
  const allowed = await pool.runOnce({ command: ask(`127.0.0.1:${port}`), network });
  expect(allowed.stdout.toString()).toBe("200\nhello /proxy\n");
  const refused = await pool.runOnce({ command: ask("127.0.0.1:1"), network });
  expect(refused.stdout.toString()).toBe("403\n");
});
