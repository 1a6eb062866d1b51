/** Tries whether trainer and orchestrator, where they are on two hosts, see the same folder of checkpoints: `shared` of the hosts file only says so. */
import { randomBytes } from "node:crypto";
import { join } from "node:path";

import { type Host, type HostsFile, placeOf, type Provenance, type RlConfig } from "../../config/index.ts";
import { PrlError } from "../../errors.ts";
import { askHost } from "./ask-host.ts";
import type { HostPlan } from "./host-plan.ts";
import { PROTOCOL, type ShareOrder } from "./host-protocol.ts";

const DEADLINE_MS = 60_000;

export interface SharedSources {
  readonly hosts: HostsFile;
  readonly provenance: Provenance;
}

/** @throws PrlError `PRL_CONFIG_INVALID` when they do not, those of `askHost` */
export async function assertShared(
  { trainer, orchestrator }: HostPlan,
  { ckpt }: Pick<RlConfig, "ckpt">,
  { hosts, provenance }: SharedSources,
): Promise<void> {
  if (trainer === orchestrator || ckpt.path === null) return;
  const path = join(ckpt.path, `.prl-shared-${randomBytes(8).toString("hex")}`);
  const ask = async (host: Host, act: ShareOrder["act"]): Promise<boolean> => {
    const order = { do: "share", protocol: PROTOCOL, act, path } as const;
    const frames = await askHost(host, hosts, { order, deadlineMs: DEADLINE_MS });
    return frames.some((frame) => frame.prl === "share" && frame.isThere);
  };
  await ask(trainer, "write");
  try {
    if (await ask(orchestrator, "look")) return;
  } finally {
    await ask(trainer, "remove");
  }
  const place = placeOf(["ckpt", "path"], provenance);
  const text = `a file that ${trainer.name} (trainer) writes to ${ckpt.path} does not appear on ${orchestrator.name} (orchestrator): mount the same folder on both, or give one host both roles`;
  throw new PrlError("PRL_CONFIG_INVALID", `${place}: ${text}`);
}
