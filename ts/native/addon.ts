/**
 * The one place that loads the native addon: at the first call that needs it, so that help and the config commands work in a checkout
 * whose addon is not built yet.
 */

import { createRequire } from "node:module";
import { PrlError } from "../errors.ts";
import { cureForMissing, loadFailure } from "./missing-binary.ts";

type Addon = typeof import("#native");

let loaded: Addon | undefined;

/**
 * The native addon. Throws `PRL_NATIVE_MISSING`, which says how to build it, when it is not built. `PRL_NATIVE_ADDON` names another
 * build's loader (`index.js`): tests use it for theirs.
 */
export function addon(): Addon {
  if (loaded !== undefined) return loaded;
  const specifier = process.env["PRL_NATIVE_ADDON"] ?? "#native";
  try {
    // The load is synchronous, because packing, losses and codecs are; the generated loader is an ES module without await.
    loaded = createRequire(import.meta.url)(specifier) as Addon;
    return loaded;
  } catch (cause) {
    const cure = cureForMissing("the native addon", cause);
    throw new PrlError("PRL_NATIVE_MISSING", `the native addon is not there or does not load: ${cure}`, {
      cause: loadFailure(cause),
    });
  }
}
