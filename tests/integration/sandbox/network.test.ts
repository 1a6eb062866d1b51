/** What a sandbox reaches, as asked for from TypeScript. */

import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { afterAll, beforeAll, expect, test } from "vitest";
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
