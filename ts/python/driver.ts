/** The driver of NVIDIA GPUs, which packages for them need. */
import { isThere } from "../files/file-presence.ts";

/** A file that the driver makes. */
export const NVIDIA_DRIVER = "/proc/driver/nvidia/version";

export function hasNvidiaDriver(): Promise<boolean> {
  return isThere(NVIDIA_DRIVER);
}
