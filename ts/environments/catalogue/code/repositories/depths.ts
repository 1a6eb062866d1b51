/** How many calls lie between a handler and each site: measured once, on a project with all optional features. */
import { createRng } from "../../../../random/rng.ts";
import { versionOf } from "./observed.ts";
import { domainOf, drawProject, pathOf, type Project, type Site, sitesOf, worded } from "./project.ts";
import { drawStream } from "./streams.ts";
import { FEATURES } from "./templates/features.ts";

const STREAMS_OF_FEATURE = 3;
const SEED = 1;
let measured: readonly { readonly site: Site; readonly depth: number }[] | undefined;

/** Sites that streams reach, with the least depth below a handler. */
export function measuredSites(): readonly { readonly site: Site; readonly depth: number }[] {
  measured ??= measure();
  return measured;
}

function measure(): { site: Site; depth: number }[] {
  const rng = createRng(SEED);
  const project = drawProject(rng, FEATURES.length);
  const version = versionOf(project);
  const depths = new Map<string, number>();
  for (const { id } of FEATURES)
    for (let turn = 0; turn < STREAMS_OF_FEATURE; turn++)
      for (const reached of version.reached(drawStream(project, rng, { favoured: [id] })))
        for (const [called, depth] of reached) depths.set(called, Math.min(depths.get(called) ?? Infinity, depth));
  return sitesOf(project).flatMap((site) => {
    const depth = depths.get(functionOf(project, site));
    return depth === undefined ? [] : [{ site, depth }];
  });
}

/** The function of a site, as `module:name`. */
export function functionOf(project: Project, { path, within }: Pick<Site, "path" | "within">): string {
  const module = pathOf(project, path).replace(/\.py$/u, "").replaceAll("/", ".");
  return `${module}:${worded(within, project)}`;
}

export function packageOf(project: Project): string {
  return domainOf(project).pkg;
}
