/** Scoring a group on a worker. */
import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { expect, test } from "vitest";

import { PrlError } from "../../../../ts/errors.ts";
import { connectEnvWorkers } from "../../../../ts/orchestrator/index.ts";

test("of a group that is cancelled meanwhile is an error of the group, not of the run", async () => {
  const server = createServer((request) => void request.resume());
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  const workers = connectEnvWorkers([`http://127.0.0.1:${port}`], { connections: 1 });
  try {
    const asked = once(server, "request");
    const cancelled = new AbortController();
    const task = { key: "k", hash: "", data: null };
    const request = { env: "e", split: "train", task, deadline_ms: 600_000, episodes: [] } as const;
    const scores = workers.scoreGroup({ ...request, episodes: [] }, cancelled.signal);
    await asked;
    cancelled.abort(new PrlError("PRL_EPISODE_CANCELLED", "group-3 is too old"));
    expect(await scores).toEqual({
      scores: [],
      error: { class: "infra", code: "PRL_EPISODE_CANCELLED", message: expect.stringContaining("group-3 is too old") },
    });
  } finally {
    await workers.close();
    server.closeAllConnections();
    server.close();
  }
});
