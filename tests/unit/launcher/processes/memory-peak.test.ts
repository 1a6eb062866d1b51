import { spawn } from "node:child_process";
import { once } from "node:events";
import { expect, test } from "vitest";

import { descendants } from "../../../../ts/launcher/processes/memory-peak.ts";

test.skipIf(process.platform !== "linux")("the processes below a process are found, however deep", async () => {
  const script = "sleep 100 & sh -c 'sleep 100 & echo ready; wait' & wait";
  const shell = spawn("/bin/sh", ["-c", script], { detached: true, stdio: ["ignore", "pipe", "ignore"] });
  try {
    await once(shell.stdout, "data");
    expect(await descendants(shell.pid ?? 0)).toHaveLength(3);
    expect(await descendants(2 ** 30)).toEqual([]);
  } finally {
    process.kill(-(shell.pid ?? 0), "SIGKILL");
  }
});
