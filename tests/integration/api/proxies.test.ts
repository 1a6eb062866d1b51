/** The command as it is installed reaches the hub through a proxy: its bundle has the agent for that in a separate file. */
import { createServer, type IncomingMessage } from "node:http";
import type { AddressInfo, Socket } from "node:net";
import { expect, test, vi } from "vitest";

import { start, workspace } from "../../support/prl.ts";

test("prl model pull asks the proxy of HTTPS_PROXY for a tunnel to the hub", async () => {
  const { dir, cache, remove } = await workspace("empty");
  const seen: string[] = [];
  const proxy = createServer();
  proxy.on("connect", (request: IncomingMessage, socket: Socket) => {
    seen.push(request.url ?? "");
    socket.end("HTTP/1.1 502 Bad Gateway\r\n\r\n");
  });
  await new Promise<void>((done) => proxy.listen(0, "127.0.0.1", done));
  const env = {
    HTTPS_PROXY: `http://127.0.0.1:${(proxy.address() as AddressInfo).port}`,
    HF_ENDPOINT: "https://hub.invalid",
    HF_HOME: dir,
  };
  const { child, finished } = start(["model", "pull", "owner/name"], { cwd: dir, cache, env });
  try {
    await vi.waitFor(() => expect(seen).toContain("hub.invalid:443"), { timeout: 60_000, interval: 50 });
  } finally {
    child.kill("SIGTERM");
    await finished;
    proxy.closeAllConnections();
    proxy.close();
    await remove();
  }
});
