import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, onTestFinished, test } from "vitest";

import { rlConfigSchema } from "../../../ts/config/schema/rl.ts";
import { PrlError } from "../../../ts/errors.ts";
import { certificates, hasOpenssl } from "../../support/certificates.ts";
import { openOrchestratorTransports, openTrainerTransports, readTls } from "../../../ts/transports/index.ts";

const FILES = { tls_cert: null, tls_key: null, tls_ca: null, tls_client_ca: null, tls_server_name: null };

async function folder(): Promise<string> {
  const dir = await mkdtemp(join(tmpdir(), "prl-tls-"));
  onTestFinished(() => rm(dir, { recursive: true }));
  return dir;
}

function config(block: Record<string, unknown>) {
  const sources = [{ name: "a", env: { id: "reverse-text" } }];
  return rlConfigSchema.safeParse({
    model: { name: "m" },
    orchestrator: { train: { source: sources } },
    rollout_transport: { type: "grpc", ...block },
    weight_broadcast: { type: "grpc", ...block },
  });
}

describe("certificates of the transports", () => {
  test("are read from the files of the config; none leaves connections in the clear", async () => {
    const dir = await folder();
    const path = join(dir, "ca.pem");
    await writeFile(path, "pem");
    expect(readTls(FILES)).toBeNull();
    expect(readTls({ ...FILES, tls_ca: path, tls_server_name: "node" })).toEqual({ ca: "pem", serverName: "node" });
    const missing = () => readTls({ ...FILES, tls_ca: join(dir, "none.pem") });
    expect(missing).toThrow(PrlError);
    expect(missing).toThrow(/none\.pem cannot be read/);
  });

  test("go together with their keys", () => {
    expect(config({ tls_cert: "/c", tls_key: "/k", tls_client_ca: "/a" }).success).toBe(true);
    for (const [block, key] of [
      [{ tls_cert: "/c" }, "tls_cert"],
      [{ tls_key: "/k" }, "tls_key"],
      [{ tls_client_ca: "/a" }, "tls_client_ca"],
    ] as const) {
      const paths = config(block).error?.issues.map(({ path }) => path.join("."));
      expect(paths).toContain(`weight_broadcast.${key}`);
    }
  });

  test.skipIf(!hasOpenssl())(
    "encrypt the traffic of a run's processes, and keep out callers without a certificate",
    async () => {
      const dir = await folder();
      const { ca, cert, key } = await certificates(dir);
      const tls = { tls_cert: cert, tls_key: key, tls_ca: ca, tls_client_ca: ca, timeout_s: 1 };
      const open = (block: Record<string, unknown>) => {
        const parsed = config(block);
        if (!parsed.success) throw parsed.error;
        return parsed.data;
      };
      const run = (name: string) => ({ runDir: join(dir, name), runId: "run", attempt: 1 });
      const trainer = await openTrainerTransports(run("trainer"), open(tls));
      const never = new AbortController().signal;
      const known = openOrchestratorTransports(run("orchestrator"), open(tls), trainer.addresses);
      const stranger = openOrchestratorTransports(
        run("stranger"),
        open({ tls_ca: ca, timeout_s: 1 }),
        trainer.addresses,
      );
      try {
        // It answers that there is no such version: the connection stands.
        const wanted = { deadlineMs: 50, signal: never };
        await expect(known.weights.receive(1, wanted)).rejects.toMatchObject({ code: "PRL_DEADLINE" });
        await expect(stranger.weights.receive(1, wanted)).rejects.toMatchObject({ code: "PRL_TRANSPORT_UNREACHABLE" });
      } finally {
        const ends = [known, stranger, trainer].flatMap(({ rollouts, weights }) => [rollouts.close(), weights.close()]);
        await Promise.all(ends);
      }
    },
  );
});
