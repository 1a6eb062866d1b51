/**
 * The one place that loads the native addon: at the first call that needs it, so that help and the config commands work in a checkout
 * whose addon is not built yet.
 */

import { createRequire } from "node:module";
import { PrlError } from "../errors.ts";

type Addon = typeof import("#native");

let loaded: Addon | undefined;

/**
 * The native addon. Throws `PRL_NATIVE_MISSING` with the cure when it is not built. `PRL_NATIVE_ADDON` names another build's loader
 * (`index.js`): tests use it for theirs.
 */
export function addon(): Addon {
  if (loaded !== undefined) return loaded;
  const specifier = process.env["PRL_NATIVE_ADDON"] ?? "#native";
  try {
    // Synchronous, because packing, losses and codecs are (design section 16); the generated loader is an ES module without await.
    loaded = createRequire(import.meta.url)(specifier) as Addon;
    return loaded;
  } catch (cause) {
    const message =
      "the native addon is not built or does not load: run `npm run build:native -- --release` (needs Rust)";
    throw new PrlError("PRL_NATIVE_MISSING", message, { cause });
  }
}
