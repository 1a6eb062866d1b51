/** The templates of `prl env init`. Their files are in `configs/environment-templates`; this file has what these do not say. */
import type { PackageNeeds } from "../../../../environments/internal.ts";

export interface Template {
  readonly needs?: PackageNeeds;
  /** Folders of the template that a package ships besides `dist` and `src`. */
  readonly ships?: readonly string[];
  /** A small model, to train at once. */
  readonly model?: true;
}

/** By the name that `--template` takes. */
export const TEMPLATES = {
  "single-turn": { model: true },
  "multi-turn": {},
  tools: {},
  code: { needs: { sandbox: "any" } },
  agent: { needs: { sandbox: "any" }, ships: ["agent"] },
  judge: {},
  group: {},
} as const satisfies Readonly<Record<string, Template>>;

export type TemplateName = keyof typeof TEMPLATES;
export const DEFAULT_TEMPLATE: TemplateName = "single-turn";
