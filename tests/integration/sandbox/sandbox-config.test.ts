/** `[sandbox]`: where environments get their sandboxes, and what is said when there are none. */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, expect, test } from "vitest";

import { type SandboxConfig, sandboxBlock } from "../../../ts/config/index.ts";
import { checkSandboxes, daemonSettings, sandboxSource } from "../../../ts/environments/internal.ts";
import type { SandboxSource } from "../../../ts/environments/index.ts";
import { unobservable } from "./support.ts";

const sources: SandboxSource[] = [];
afterEach(async () => {
  for (const source of sources.splice(0)) await source.close();
});

const configOf = (given: object): SandboxConfig => sandboxBlock.parse(given);
function open(given: object, env: Record<string, string> = {}): SandboxSource {
  const source = sandboxSource(configOf(given), env);
  sources.push(source);
  return source;
}
const needing = [
  { name: "plain", requires: {} },
  { name: "boxed", requires: { sandbox: true } },
] as const;

test("our own daemon is started as the config says, and its sandboxes have the limits of the config", async ({
  skip,
}) => {
  expect(daemonSettings(configOf({ warm: { python: 3 }, max_held: 5 }))).toEqual({
    warm: { python: 3 },
    maxHeld: 5,
    images: {},
  });
  const source = open({ max_held: 1, limits: { memory_bytes: 64 << 20, wall_ms: 4_000 } });
  expect(source.limits).toEqual({ memoryBytes: 64 << 20, wallMs: 4_000 });
  await checkSandboxes(source, needing);
  const pool = await source.pool();
  const first = await pool.create();
  await expect(pool.create({ queueMs: 10 })).rejects.toMatchObject({ code: "PRL_SANDBOX_OVERLOADED" });
  await first.close();
  if ((await unobservable(pool, "OOM")) !== null) skip();
  const box = await pool.create({ limits: source.limits });
  const { cause } = await box.exec(["python3", "-c", "x = bytearray(512 << 20)"]);
  expect(cause).toBe("OOM");
});

test("nothing is opened for environments that need none", async () => {
  await checkSandboxes(open({ addresses: ["unix:/nowhere/sandboxd.sock"] }), needing.slice(0, 1));
});

test("daemons at addresses are used with their token, and a wrong one is an error", async () => {
  const server = await open({}).pool();
  const [address = ""] = (await server.capabilities()).daemons;
  const source = open({ addresses: [address], token_var: "MY_TOKEN" }, { MY_TOKEN: "secret" });
  await checkSandboxes(source, needing);
  expect((await source.pool()).daemonPid).toBeNull();
});

test.each([
  [{ addresses: ["unix:/nowhere/sandboxd.sock"] }, "PRL_SANDBOX_UNREACHABLE"],
  [{ addresses: ["nonsense"] }, "PRL_SANDBOX_ADDRESS"],
])("%j: the error names the environment, the mistake and the command that says more: %s", async (given, code) => {
  const checked = checkSandboxes(open(given), needing);
  await expect(checked).rejects.toMatchObject({ code });
  await expect(checked).rejects.toThrow(/environment "boxed" needs sandboxes.*prl sandbox doctor/su);
});

test("a certificate that cannot be read is a mistake of the config", async () => {
  const dir = await mkdtemp(join(tmpdir(), "prl-ca-"));
  try {
    expect(() => open({ addresses: ["127.0.0.1:1"], ca: join(dir, "none.pem") })).toThrow(
      expect.objectContaining({ code: "PRL_CONFIG_FILE" }),
    );
  } finally {
    await rm(dir, { recursive: true });
  }
});
