/**
 * GPUs and their speeds: those that a plan can be made for, and whose share a step can be measured against.
 *
 * Speeds are those of the makers' data sheets: dense products of bfloat16 in tensor cores, products of float32 outside of them, and the
 * memory's bandwidth. The memory is what CUDA reports for a whole GPU, rounded down, which is less than the name of the GPU says in GiB.
 */

export interface Device {
  /** As in `--device`. */
  readonly id: string;
  readonly name: string;
  /** Its name in CUDA. */
  readonly reported: string;
  /** Bytes. */
  readonly memory: number;
  /** Dense bfloat16 operations per second. */
  readonly bf16: number;
  /** float32 operations per second, without TF32. */
  readonly f32: number;
  /** Bytes per second. */
  readonly bandwidth: number;
}

const GIB = 2 ** 30;
const TERA = 1e12;
const GIGA = 1e9;

function device(
  [id, reported]: readonly [string, string],
  name: string,
  numbers: readonly [number, number, number, number],
): Device {
  const [gib, bf16, f32, bandwidth] = numbers;
  return { id, name, reported, memory: gib * GIB, bf16: bf16 * TERA, f32: f32 * TERA, bandwidth: bandwidth * GIGA };
}

/** GiB, TFLOP/s of bfloat16 and of float32, GB/s. A data sheet that gives a speed "with sparsity" gives twice the dense one. */
export const DEVICES: readonly Device[] = [
  // NVIDIA B200 in HGX B200 (Blackwell data sheet): 4.5 PFLOP/s bfloat16 with sparsity, 75 float32, 180 GB, 7.7 TB/s.
  device(["b200", "NVIDIA B200"], "NVIDIA B200 180 GB", [177, 2250, 75, 7700]),
  // NVIDIA H200 SXM (data sheet): 1,979 TFLOP/s bfloat16 with sparsity, 67 float32, 141 GB HBM3e, 4.8 TB/s.
  device(["h200", "NVIDIA H200"], "NVIDIA H200 141 GB SXM", [139, 989, 67, 4800]),
  // NVIDIA H100 SXM5 (data sheet): 1,979 TFLOP/s bfloat16 with sparsity, 67 float32, 80 GB HBM3, 3.35 TB/s.
  device(["h100", "NVIDIA H100 80GB HBM3"], "NVIDIA H100 80 GB SXM", [79, 989, 67, 3350]),
  // NVIDIA A100 80 GB SXM (data sheet): 312 TFLOP/s bfloat16, 19.5 float32, 2,039 GB/s.
  device(["a100", "NVIDIA A100-SXM4-80GB"], "NVIDIA A100 80 GB SXM", [79, 312, 19.5, 2039]),
  // NVIDIA A100 40 GB SXM (data sheet): the same speeds, 1,555 GB/s.
  device(["a100-40", "NVIDIA A100-SXM4-40GB"], "NVIDIA A100 40 GB SXM", [39, 312, 19.5, 1555]),
  // NVIDIA L40S (data sheet): 733 TFLOP/s bfloat16 with sparsity, 91.6 float32, 48 GB GDDR6 with ECC, 864 GB/s.
  device(["l40s", "NVIDIA L40S"], "NVIDIA L40S 48 GB", [44, 366, 91.6, 864]),
  // GeForce RTX 5090 (RTX Blackwell architecture paper): 209.5 TFLOP/s bfloat16 with float32 sums, 104.8 float32, 32 GB, 1,792 GB/s.
  device(["rtx5090", "NVIDIA GeForce RTX 5090"], "GeForce RTX 5090 32 GB", [31, 209.5, 104.8, 1792]),
  // GeForce RTX 4090 (Ada architecture paper): 165.2 TFLOP/s bfloat16 with float32 sums, 82.6 float32, 24 GB, 1,008 GB/s.
  device(["rtx4090", "NVIDIA GeForce RTX 4090"], "GeForce RTX 4090 24 GB", [23.5, 165.2, 82.6, 1008]),
  // GeForce RTX 3090 (GA102 architecture paper): 71 TFLOP/s bfloat16 with float32 sums, 35.6 float32, 24 GB, 936 GB/s.
  device(["rtx3090", "NVIDIA GeForce RTX 3090"], "GeForce RTX 3090 24 GB", [23.5, 71, 35.6, 936]),
];

export const DEFAULT_DEVICE = "h100";

/** The device of a name that CUDA reports; null for one whose speeds are not known. Variants of a name, such as "H200 NVL", are others. */
export function reportedDevice(name: string): Device | null {
  return DEVICES.find(({ reported }) => name === reported) ?? null;
}
