/** Tries whether trainer and orchestrator, where they are on two hosts, see the same folder of checkpoints: `shared` of the hosts file only says so. */
import { randomBytes } from "node:crypto";
import { join } from "node:path";

import { type Host, type HostsFile, placeOf, type Provenance, type RlConfig } from "../../config/index.ts";
import { PrlError } from "../../errors.ts";
import { untilInterrupted } from "../run/stage.ts";
import { askHost } from "./ask-host.ts";
import type { HostPlan } from "./host-plan.ts";
import { PROTOCOL, type ShareOrder } from "./host-protocol.ts";

const DEADLINE_MS = 60_000;
/** For the removal after a failure, which waits for it: a host that did not answer will hardly answer now. */
const REMOVE_MS = 10_000;

export interface SharedSources {
  readonly hosts: HostsFile;
  readonly provenance: Provenance;
  /** Aborting it ends the questions; the file is still removed. */
  readonly signal: AbortSignal;
  /** Aborting it as well leaves the file. */
  readonly hurry: AbortSignal;
}

/** @throws PrlError `PRL_CONFIG_INVALID` when they do not, `PRL_RUN_INTERRUPTED`, those of `askHost` */
export async function assertShared(
  { trainer, orchestrator }: HostPlan,
  { ckpt }: Pick<RlConfig, "ckpt">,
  { hosts, provenance, signal, hurry }: SharedSources,
): Promise<void> {
  if (trainer === orchestrator || ckpt.path === null) return;
  const path = join(ckpt.path, `.prl-shared-${randomBytes(8).toString("hex")}`);
  const ask = async (host: Host, act: ShareOrder["act"], end: AbortSignal, ms = DEADLINE_MS): Promise<boolean> => {
    const order = { do: "share", protocol: PROTOCOL, act, path } as const;
    const asked = () => askHost(host, hosts, { order, deadlineMs: ms, signal: end });
    const frames = await untilInterrupted(end, asked);
    return frames.some((frame) => frame.prl === "share" && frame.isThere);
  };
  let isSeen: boolean;
  try {
    await ask(trainer, "write", signal);
    isSeen = await ask(orchestrator, "look", signal);
  } catch (error) {
    // The first failure counts.
    await ask(trainer, "remove", hurry, REMOVE_MS).catch(() => undefined);
    throw error;
  }
  await ask(trainer, "remove", hurry);
  if (isSeen) return;
  const place = placeOf(["ckpt", "path"], provenance);
  const text = `a file that ${trainer.name} (trainer) writes to ${ckpt.path} does not appear on ${orchestrator.name} (orchestrator): mount the same folder on both, or give one host both roles`;
  throw new PrlError("PRL_CONFIG_INVALID", `${place}: ${text}`);
}
