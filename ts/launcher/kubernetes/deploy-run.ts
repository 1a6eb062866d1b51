/**
 * `prl rl --kubernetes`: gives the run a directory here, writes its kustomize folder there, and applies it. The run itself has its directory in
 * the cluster; the one here is the record of what was applied where.
 *
 * The key is in one file of that folder, which the user alone can read, and from there in the Secret that kubectl makes of it.
 */
import { randomBytes } from "node:crypto";
import { readFile } from "node:fs/promises";
import { basename, join } from "node:path";

import { z } from "zod";

import type { Provenance, RlConfig } from "../../config/index.ts";
import { PrlError } from "../../errors.ts";
import { atomicWriteFile, atomicWriteJson } from "../../files/atomic-write.ts";
import { ifThere } from "../../files/file-presence.ts";
import { makeFolder } from "../../files/make-folder.ts";
import { writeRunKey } from "../clusters/run-key-file.ts";
import { placeRun } from "../clusters/run-place.ts";
import type { ResumeRequest } from "../run/resume-run.ts";
import { checkDeployment } from "./deployment-checks.ts";
import { applyFolder, type ClusterEnvironment, deleteObjects, namedPlace, objectsOf, type Place } from "./kubectl.ts";
import { refuseLive } from "./live-job.ts";
import { FOLDER_FILES, renderDeployment } from "./manifests.ts";
import { objectName, selectorOf } from "./names.ts";
import { KEY } from "./pods.ts";

export interface DeployOptions {
  readonly provenance: Provenance;
  readonly env: ClusterEnvironment;
  /** Continue an earlier run. */
  readonly resume: ResumeRequest | undefined;
  /** Write the files and apply nothing. */
  readonly dryRun: boolean;
}

const appliedSchema = z.strictObject({
  /** Name of the run's objects. */
  name: z.string().min(1),
  /** Where they are; null: as kubectl goes without a configuration. */
  context: z.string().nullable(),
  namespace: z.string().nullable(),
  /** Time that a pod has to end (seconds). */
  grace_s: z.number(),
  /** The claim that was made for the run, which stays when it is deleted. */
  claim: z.string().nullable(),
  /** Seconds since 1970. */
  applied: z.number(),
  /** False: `kubectl` has refused some of the objects; others may be there. */
  complete: z.boolean().default(true),
});
export type AppliedRun = z.output<typeof appliedSchema>;

export interface DeployedRun {
  readonly run: string;
  readonly runDir: string;
  /** Path of the kustomize folder. */
  readonly folder: string;
  /** Null for a dry run. */
  readonly applied: AppliedRun | null;
}

const START_BYTES = 8;

/**
 * @throws PrlError `PRL_CONFIG_INVALID`, `PRL_RUN_EXISTS`, `PRL_RUN_UNKNOWN`, `PRL_RUN_LOCKED` while the run is at work, `PRL_KUBERNETES`, `PRL_IO` for a damaged
 * record
 */
export async function deployRun(config: RlConfig, options: DeployOptions): Promise<DeployedRun> {
  const { provenance, env, resume, dryRun } = options;
  const image = checkDeployment(config, provenance);
  const { grace_s, storage, inference_pods: hasServers } = config.kubernetes;
  const { context, namespace } = dryRun ? config.kubernetes : await namedPlace(config.kubernetes, env);
  const place = { context, namespace, graceS: grace_s };
  const before: { record: AppliedRun | null } = { record: null };
  const refuse = async (path: string): Promise<void> => {
    before.record = await recordIn(path);
    if (before.record?.complete === true && resume === undefined) refuseAnother(path, config);
    if (dryRun) return;
    if (before.record !== null) await refuseElsewhere(path, before.record, { place, env });
    if (resume !== undefined || before.record?.complete === true)
      await refuseLive(objectName(basename(path)), place, env);
  };
  const { name: run, path: runDir } = await placeRun(config, { resume, verb: "apply", refuse });
  const folder = join(runDir, "kubernetes");
  makeFolder(folder);
  const start = randomBytes(START_BYTES).toString("hex");
  for (const [file, text] of renderDeployment({ config, run, image, start, resume }))
    await atomicWriteFile(join(folder, file), text);
  await writeRunKey(join(folder, FOLDER_FILES.key), (key) => `${KEY}=${key}\n`);
  if (dryRun) return { run, runDir, folder, applied: null };
  const name = objectName(run);
  if (before.record === null && resume === undefined) await refuseForeign(name, place, env);
  const record = join(folder, FOLDER_FILES.applied);
  const claim = storage === null ? null : name;
  const begun = { name, context, namespace, grace_s, claim, applied: Date.now() / 1000 };
  // kubectl may refuse one object after it has made others, which `prl kubernetes` then has to find.
  await atomicWriteJson(record, { ...begun, complete: before.record?.complete ?? false });
  // A Job takes no other pods than those that it was made with. Servers that the run has no longer would keep their GPUs, and those that were applied from
  // another directory have another key.
  const replaced = hasServers && before.record !== null ? "job" : "job,statefulset,service";
  if (before.record !== null || resume !== undefined) await deleteObjects(replaced, selectorOf(name), place, env);
  await applyFolder(folder, place, env);
  const applied = { ...begun, applied: Date.now() / 1000, complete: true };
  await atomicWriteJson(record, applied);
  return { run, runDir, folder, applied };
}

/** @throws PrlError `PRL_RUN_UNKNOWN` for a run that was not applied, `PRL_IO` for a damaged record */
export async function appliedRun(runDir: string): Promise<AppliedRun> {
  const record = await recordIn(runDir);
  if (record !== null) return record;
  const advice = "prl rl <config> --kubernetes applies one";
  throw new PrlError("PRL_RUN_UNKNOWN", `no run was applied to a cluster from ${runDir}: ${advice}`);
}

async function recordIn(runDir: string): Promise<AppliedRun | null> {
  const path = join(runDir, "kubernetes", FOLDER_FILES.applied);
  const text = await ifThere(readFile(path, "utf8"), path);
  if (text === null) return null;
  try {
    return appliedSchema.parse(JSON.parse(text));
  } catch (cause) {
    const advice =
      "kubectl get job,statefulset,pod shows what is still there, and kubectl deletes it; then remove the file";
    throw new PrlError("PRL_IO", `${path} is damaged: ${advice}`, { cause });
  }
}

/** Objects of a run of this name that was applied elsewhere would get this run's config and key. */
async function refuseForeign(name: string, place: Place, env: ClusterEnvironment): Promise<void> {
  const there = await objectsOf("job,statefulset", selectorOf(name), place, env);
  if (there.length === 0) return;
  const where = "that was applied from another directory";
  const advice = "choose another run.name, or delete that run there with prl kubernetes delete";
  throw new PrlError("PRL_RUN_EXISTS", `the cluster has a run ${name} ${where}: ${advice}`);
}

/** Refuses another place than the one where the run was applied, because the record has one place and objects elsewhere would be lost. */
async function refuseElsewhere(
  runDir: string,
  record: AppliedRun,
  { place, env }: { place: Place; env: ClusterEnvironment },
): Promise<void> {
  if ((record.context ?? place.context) === place.context && (record.namespace ?? place.namespace) === place.namespace)
    return;
  const there = await objectsOf("job,statefulset", selectorOf(record.name), record, env);
  if (there.length === 0) return;
  const where = `context ${record.context ?? "of kubectl"}, namespace ${record.namespace ?? "of kubectl"}`;
  const advice = "prl kubernetes delete removes them, or set kubernetes.context and kubernetes.namespace as they were";
  throw new PrlError("PRL_RUN_EXISTS", `${runDir} was applied to ${where}, where its objects are: ${advice}`);
}

/** Refuses a new run over one that was applied: its objects would be lost, and its directory in a claim would be in the way. */
function refuseAnother(runDir: string, { clean, kubernetes: { claim, storage } }: RlConfig): void {
  const isKept = claim !== null || storage !== null;
  if (clean && !isKept) return;
  const rest = clean ? ", and its files are in a claim, where --clean deletes nothing" : "";
  const advice = "go on with it by --resume, or choose another run.name";
  throw new PrlError("PRL_RUN_EXISTS", `${runDir} was applied to a cluster before${rest}: ${advice}`);
}
