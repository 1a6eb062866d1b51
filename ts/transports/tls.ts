/** The certificates that a config or a command line names, read from their files. */

import { readFileSync } from "node:fs";
import { PrlError } from "../errors.ts";
import type { TransportTls } from "../native/index.ts";

/** Paths of PEM files, as `[weight_broadcast]` and `[rollout_transport]` name them; relative ones from the working directory. */
export interface TlsFiles {
  tls_cert: string | null;
  tls_key: string | null;
  tls_ca: string | null;
  tls_client_ca: string | null;
  tls_server_name: string | null;
}

/** Null when no file is named: connections are not encrypted. Errors: PRL_TRANSPORT_TLS for a file that cannot be read. */
export function readTls(files: TlsFiles): TransportTls | null {
  const tls: TransportTls = {
    ...read("certificate", files.tls_cert),
    ...read("key", files.tls_key),
    ...read("ca", files.tls_ca),
    ...read("clientCa", files.tls_client_ca),
  };
  if (Object.keys(tls).length === 0) return null;
  return files.tls_server_name === null ? tls : { ...tls, serverName: files.tls_server_name };
}

function read(what: keyof TransportTls, path: string | null): TransportTls {
  if (path === null) return {};
  try {
    return { [what]: readFileSync(path, "utf8") };
  } catch (cause) {
    throw new PrlError("PRL_TRANSPORT_TLS", `${path} cannot be read`, { cause });
  }
}
