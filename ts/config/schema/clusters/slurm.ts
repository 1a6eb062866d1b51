/**
 * `[slurm]`: the job that `prl rl --slurm` submits. A run that starts without `--slurm` does not read it.
 *
 * Values stand in `#SBATCH` lines, where Slurm has its own quoting. So they are refused unless they are plain words.
 */
import { z } from "zod";

import { MOST_PROCESSES } from "../fields.ts";

const LONGEST_WORD = 256;
/** Longest time that Slurm takes for `--signal`. */
const MOST_GRACE_S = 65_535;
/** Options of sbatch that the job's script depends on, each with the key that sets it; null: the script needs its own value. */
const OWN_OPTIONS: Readonly<Record<string, string | null>> = {
  "job-name": "slurm.job_name",
  partition: "slurm.partition",
  account: "slurm.account",
  qos: "slurm.qos",
  nodes: "slurm.nodes",
  time: "slurm.time",
  "gpus-per-node": "slurm.gpus_per_node",
  gres: "slurm.gres",
  "cpus-per-task": "slurm.cpus_per_task",
  mem: "slurm.mem",
  nodelist: "slurm.nodelist",
  exclude: "slurm.exclude",
  signal: "slurm.grace_s",
  requeue: "slurm.requeue",
  "no-requeue": "slurm.requeue",
  ntasks: null,
  "ntasks-per-node": null,
  output: null,
  error: null,
  "open-mode": null,
  chdir: null,
  array: null,
  wrap: null,
  wait: null,
  parsable: null,
  "no-kill": null,
};

const plain = z
  .string()
  .regex(/^[A-Za-z0-9_.,:@%+=/[\]*&|-]+$/u, "takes a plain word: letters, digits and _ . , : @ % + = / [ ] * & | -")
  .max(LONGEST_WORD, `at most ${LONGEST_WORD} characters`);

const word = (description: string) => plain.nullable().default(null).describe(description);

const line = z
  .string()
  .min(1)
  .refine((text) => !/[\0\n\r]/u.test(text), "is one line: give a list of lines");

const furtherOption = z.string().superRefine((text, context) => {
  const name = /^--([a-z][a-z0-9-]*)(=[A-Za-z0-9_.,:@%+=/[\]*&|()~-]+)?$/u.exec(text)?.[1];
  const key = name === undefined ? undefined : OWN_OPTIONS[name];
  if (name === undefined) {
    const message = `${JSON.stringify(text)} is no option of sbatch as --name or --name=value without spaces and quotes`;
    context.addIssue({ code: "custom", message });
  } else if (key !== undefined) {
    const advice = key === null ? "works with no other value" : `has ${key} for it`;
    context.addIssue({ code: "custom", message: `--${name} is set by the job's script, which ${advice}` });
  }
});

export const slurmBlock = z
  .strictObject({
    job_name: word("Name of the job; unset: prl- and the run's name"),
    partition: word("Partition, or several with commas; unset: Slurm's default"),
    account: word("Account that pays; unset: the user's default"),
    qos: word("Quality of service; unset: the default"),
    nodes: z
      .int()
      .positive()
      .max(MOST_PROCESSES)
      .default(1)
      .describe(
        "Nodes of the job. 1: all of the run on one node, as without Slurm. More: trainer, orchestrator and env workers on the first, the inference servers on the others",
      ),
    time: z
      .string()
      .regex(/^(\d+|\d+:\d{1,2}(:\d{1,2})?|\d+-\d{1,2}(:\d{1,2}){0,2})$/u, "takes minutes, H:MM:SS or D-HH:MM:SS")
      .nullable()
      .default(null)
      .describe("Time limit: minutes, H:MM:SS or D-HH:MM:SS; unset: the partition's"),
    gpus_per_node: z
      .int()
      .positive()
      .nullable()
      .default(null)
      .describe("GPUs of each node (--gpus-per-node); unset: none"),
    gres: word("Generic resources of each node (--gres), such as gpu:h100:8; unset: none"),
    cpus_per_task: z
      .int()
      .positive()
      .nullable()
      .default(null)
      .describe("Cores of each node; unset: whole nodes, which the job shares with no other (--exclusive)"),
    mem: z
      .string()
      .regex(/^\d+[KMGT]?$/u, "takes a number with K, M, G or T; 0: all")
      .nullable()
      .default(null)
      .describe("Memory of each node, such as 64G; 0: all of it; unset: the partition's default"),
    nodelist: word("Nodes that the job has to have, such as n[1-4]; unset: any"),
    exclude: word("Nodes that the job must not have; unset: none"),
    extra: z
      .array(furtherOption)
      .default([])
      .describe('Further options of sbatch, each as --name or --name=value, such as "--constraint=h100"'),
    modules: z.array(plain).default([]).describe("Modules that the job loads first (module load)"),
    setup: z
      .array(line)
      .default([])
      .describe(
        "Lines of bash that the job runs on its first node after the modules, as they stand; the parts inherit its variables",
      ),
    command: z
      .array(line)
      .min(1)
      .nullable()
      .default(null)
      .describe("Program that is prl on the nodes, with its first arguments; unset: the node and the prl that submit"),
    container_image: line
      .nullable()
      .default(null)
      .describe(
        "Image in which the parts run (--container-image of the pyxis plugin); unset: none. prl is then slurm.command, and relative paths in arguments of environments begin at the image's working folder",
      ),
    container_mounts: z
      .array(line)
      .default([])
      .describe("Mounts of the container as source:target, beside the run directory, which is always mounted"),
    requeue: z
      .boolean()
      .default(true)
      .describe(
        "Let Slurm start the job again after a preemption or the failure of a node, and let it go back into the queue at its time limit; it then goes on from the newest checkpoint",
      ),
    grace_s: z
      .int()
      .positive()
      .max(MOST_GRACE_S)
      .default(120)
      .describe("Time before the time limit at which the run is stopped (seconds); Slurm rounds it by up to a minute"),
  })
  .superRefine(({ gres, gpus_per_node: gpus, container_image: image, container_mounts: mounts, command }, context) => {
    const refuse = (key: string, message: string) => context.addIssue({ code: "custom", path: [key], message });
    if (gres !== null && gpus !== null)
      refuse("gres", "says what each node has, and gpus_per_node too: give one of them");
    if (image === null && mounts.length > 0) refuse("container_mounts", "are of a container: set container_image");
    if (image !== null && command === null) refuse("command", "is the program that is prl in container_image: set it");
  })
  .prefault({})
  .describe("The job of prl rl --slurm; not read without --slurm");
export type SlurmBlock = z.output<typeof slurmBlock>;
