/** Which CUDA and NCCL the torch of an interpreter was built for, from its files: nothing is imported, so that it takes no GPU and no time. */
import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { z } from "zod";

import { PrlError } from "../errors.ts";

const PROBE_MS = 60_000;
const PROBE = `
import importlib.metadata, json, pathlib, re
cuda = nccl = None
for one in importlib.metadata.distributions():
    name = (one.metadata["Name"] or "").lower()
    if name == "torch":
        text = pathlib.Path(one.locate_file("torch/version.py")).read_text()
        found = re.search(r"^cuda\\b[^=\\n]*= *['\\"]([0-9.]+)", text, re.MULTILINE)
        cuda = found and found.group(1)
    elif name.startswith("nvidia-nccl-"):
        nccl = one.version
print(json.dumps({"cuda": cuda, "nccl": nccl}))
`;
const buildSchema = z.object({ cuda: z.string().nullable(), nccl: z.string().nullable() });

export interface CudaBuild {
  /** Version of CUDA; null: this torch computes on processors alone. */
  readonly cuda: string | null;
  /** Version of the package of NCCL beside it; null: none. */
  readonly nccl: string | null;
}

/** Errors: PRL_PYTHON_MISSING when the interpreter does not run, or the files of its torch cannot be read. */
export async function cudaBuild(interpreter: string): Promise<CudaBuild> {
  try {
    const { stdout } = await promisify(execFile)(interpreter, ["-c", PROBE], {
      timeout: PROBE_MS,
      killSignal: "SIGKILL",
    });
    return buildSchema.parse(JSON.parse(stdout));
  } catch (cause) {
    throw new PrlError("PRL_PYTHON_MISSING", `${interpreter}: the files of its torch cannot be read`, { cause });
  }
}
