/** Reads `hosts.toml`. Messages name file, line and key; the paths in it begin at its folder. */
import { homedir } from "node:os";
import { resolve } from "node:path";

import type { Origin, Provenance } from "../config-tree.ts";
import { formatPath, type KeyPath } from "../keys/key-path.ts";
import { problemsOfIssues, throwProblems } from "../problems.ts";
import { type HostsFile, hostsFileSchema } from "../schema/clusters/hosts.ts";
import { readConfigFile } from "./read-file.ts";

export interface ReadHosts {
  readonly hosts: HostsFile;
  /** The line of each key that the file has. */
  readonly provenance: Provenance;
}

/** @throws PrlError `PRL_CONFIG_FILE`, `PRL_CONFIG_SYNTAX`, `PRL_CONFIG_INVALID` */
export async function readHostsFile(name: string, cwd: string): Promise<ReadHosts> {
  const { values, lines, folder } = await readConfigFile(name, cwd);
  const provenance = new Map(
    [...lines].map(([key, line]): [string, Origin] => [key, { kind: "file", file: name, line }]),
  );
  const fallback: Origin = { kind: "file", file: name, line: null };
  const parsed = hostsFileSchema.safeParse(values);
  if (!parsed.success) {
    const originOf = (path: KeyPath): Origin | undefined => provenance.get(formatPath(path)) ?? fallback;
    const adviceFor = () => "set it in the file";
    const checked = { schema: hostsFileSchema, tree: { root: values, originOf }, fallback, adviceFor };
    throwProblems(problemsOfIssues(parsed.error.issues, checked));
    throw parsed.error;
  }
  const place = (path: string | null) => (path === null ? null : resolve(folder, path.replace(/^~(?=\/)/u, homedir())));
  const { host, ssh_config: config, ...rest } = parsed.data;
  const hosts = {
    ...rest,
    ssh_config: place(config),
    host: host.map((one) => ({ ...one, identity: place(one.identity) })),
  };
  return { hosts, provenance };
}
