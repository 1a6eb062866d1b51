/**
 * Where an env worker listens, and whom it lets in.
 *
 * Without `listen` that is a free port of 127.0.0.1, for the processes of the machine. An address that other machines reach needs a certificate and a
 * token. Requests are refused before their body is read.
 */
import { createHash, timingSafeEqual } from "node:crypto";
import { readFile } from "node:fs/promises";
import type { FastifyInstance } from "fastify";

import { messageOf, PrlError } from "../../errors.ts";
import { isWide } from "../../loopback.ts";
import type { EnvWorkerConfig } from "./config.ts";
import { IDENTITY_HEADER } from "./identity.ts";

export interface Door {
  readonly host: string;
  readonly port: number;
  readonly token: string | null;
  readonly tls: { readonly cert: string; readonly key: string } | null;
}

const HERE: Door = { host: "127.0.0.1", port: 0, token: null, tls: null };

/** Time for a request with its body to arrive, and for a TLS handshake. */
export const REQUEST_TIMEOUT_MS = 60_000;
export const HANDSHAKE_TIMEOUT_MS = 10_000;
/** Connections beyond those of one orchestrator, which opens two for each rollout at most. */
const SPARE_CONNECTIONS = 64;

/** Errors: PRL_ENV_WORKER_ADDRESS, PRL_ENV_WORKER_TLS for a file that cannot be read. */
export async function openDoor(
  listen: EnvWorkerConfig["listen"],
  env: Readonly<Record<string, string | undefined>>,
): Promise<Door> {
  if (listen === undefined || listen === null) return HERE;
  const [, host = "", port = ""] = /^(.*):(\d+)$/u.exec(listen.address) ?? [];
  const token = workerToken(env);
  const { tls_cert: cert, tls_key: key } = listen;
  const tls = cert === null || key === null ? null : { cert: await pem(cert), key: await pem(key) };
  const bare = host.replace(/^\[(.*)\]$/u, "$1");
  const wide = await isWide(bare).catch((cause: unknown) => {
    throw new PrlError("PRL_ENV_WORKER_ADDRESS", `${host} is no address of this machine`, { cause });
  });
  if (wide && (token === null || tls === null)) {
    const missing = token === null ? "PRL_ENV_WORKER_TOKEN" : "orchestrator.remote_env_workers.tls_cert and tls_key";
    throw new PrlError(
      "PRL_ENV_WORKER_ADDRESS",
      `from ${host} other machines could run environment code here: set ${missing}, or listen on 127.0.0.1`,
    );
  }
  return { host: bare, port: Number(port), token, tls };
}

/** PRL_ENV_WORKER_TOKEN; null when it is not set. */
export function workerToken(env: Readonly<Record<string, string | undefined>>): string | null {
  const token = env["PRL_ENV_WORKER_TOKEN"] ?? "";
  return token === "" ? null : token;
}

/** Refuses callers without the token, and those that mean another worker. `mostRollouts` bounds the connections. */
export function guard(app: FastifyInstance, { token }: Door, { digest, mostRollouts }: Guarded): void {
  app.server.maxConnections = 2 * 2 * mostRollouts + SPARE_CONNECTIONS;
  const expected = token === null ? null : sha256(`Bearer ${token}`);
  app.addHook("onRequest", async ({ headers }) => {
    if (expected !== null && !timingSafeEqual(sha256(headers.authorization ?? ""), expected)) {
      throw new PrlError(
        "PRL_ENV_WORKER_AUTH",
        "the env worker needs authorization: Bearer with its PRL_ENV_WORKER_TOKEN",
      );
    }
    const meant = headers[IDENTITY_HEADER];
    if (meant !== undefined && meant !== digest) {
      throw new PrlError("PRL_ENV_WORKER_MISMATCH", "the env worker was started again with another config or version");
    }
  });
}

interface Guarded {
  /** `identityDigest` of the worker. */
  digest: string;
  mostRollouts: number;
}

function sha256(text: string): Buffer {
  return createHash("sha256").update(text).digest();
}

async function pem(path: string): Promise<string> {
  try {
    return await readFile(path, "utf8");
  } catch (cause) {
    throw new PrlError("PRL_ENV_WORKER_TLS", `${path} cannot be read: ${messageOf(cause)}`, { cause });
  }
}
