import { expect, test } from "vitest";

import { rlConfigSchema } from "../../../../ts/config/schema/rl.ts";

function problems(remote: object, rest: { client?: object; host?: string } = {}): string[] {
  const { client = {}, host = "10.0.0.1" } = rest;
  const parsed = rlConfigSchema.safeParse({
    model: { name: "m" },
    orchestrator: {
      client,
      remote_env_workers: remote,
      train: { source: [{ env: { id: "reverse-text" } }] },
      eval: { source: [{ name: "held-out", env: { id: "reverse-text" } }] },
    },
    inference: { server: { host } },
  });
  return parsed.error?.issues.map(({ path, message }) => `${path.join(".")}: ${message}`) ?? [];
}

const WORKER = "https://env-1.local:7443";

test("sources of training and evaluation can be placed, those without a name by the name that they get", () => {
  expect(problems({ connect: [WORKER], sources: ["held-out", "reverse-text"] })).toEqual([]);
  expect(problems({ connect: [WORKER], sources: ["other"] })).toEqual([
    'orchestrator.remote_env_workers.sources: there is no source "other"',
  ]);
  expect(problems({ sources: ["held-out"] })).toEqual([
    "orchestrator.remote_env_workers.sources: needs connect, the workers that these sources run on",
  ]);
});

test("the token is sent in the clear to no other machine", () => {
  expect(problems({ connect: ["http://127.0.0.1:7443", WORKER] })).toEqual([]);
  expect(problems({ connect: ["http://env-1.local:7443"] })).toEqual([
    "orchestrator.remote_env_workers.connect.0: must begin with https:// beyond this machine",
  ]);
});

test("certificate and key go together", () => {
  expect(problems({ tls_cert: "cert.pem" })).toEqual(["orchestrator.remote_env_workers.tls_cert: needs tls_key"]);
});

test.each<[string, { client?: object; host?: string }, string]>([
  ["loopback", { host: "127.0.0.1" }, "inference.server.host: is 127.0.0.1"],
  ["every address", { host: "0.0.0.0" }, "inference.server.host: is 0.0.0.0"],
  ["this machine", { client: { base_url: ["http://localhost:8000"] } }, "orchestrator.client.base_url: is localhost"],
])("an inference server at %s is out of the workers' reach", (_, rest, message) => {
  expect(problems({ connect: [WORKER] }, rest)).toEqual([expect.stringContaining(message)]);
  expect(problems({ connect: ["https://127.0.0.1:7443"] }, rest)).toEqual([]);
});
