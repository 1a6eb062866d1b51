/**
 * The one place that loads the native addon: at the first call that needs it, so that help and the config commands work in a checkout
 * whose addon is not built yet.
 */

import { createRequire } from "node:module";
import { PrlError } from "../errors.ts";
import { cureForMissing, loadFailure } from "./missing-binary.ts";

type Addon = typeof import("#native");

const require = createRequire(import.meta.url);
let loaded: Addon | undefined;

/**
 * The native addon. Throws `PRL_NATIVE_MISSING`, which says how to build it, when it is not built. `PRL_NATIVE_ADDON` names another
 * build's loader (`index.js`): tests use it for theirs.
 */
export function addon(): Addon {
  if (loaded !== undefined) return loaded;
  try {
    // The load is synchronous, because packing, losses and codecs are; the generated loader is an ES module without await.
    loaded = require(specifier()) as Addon;
    return loaded;
  } catch (cause) {
    const cure = cureForMissing("the native addon", cause);
    throw new PrlError("PRL_NATIVE_MISSING", `the native addon is not there or does not load: ${cure}`, {
      cause: loadFailure(cause),
    });
  }
}

/** The native addon, when a call has needed it. */
export function loadedAddon(): Addon | undefined {
  return loaded;
}

/** The file that loads the addon, for a program that is no part of prl. */
export function addonPath(): string {
  return require.resolve(specifier());
}

function specifier(): string {
  return process.env["PRL_NATIVE_ADDON"] ?? "#native";
}
