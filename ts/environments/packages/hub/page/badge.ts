/** How the checks of a package ended, in a few words. */
import { html, type Html } from "../../../../html.ts";
import type { CheckCounts } from "../package-index.ts";

/** `counts`: null for a package without a report. */
export function badge(counts: CheckCounts | null): Html {
  if (counts === null) return html`<span class="badge none">no report</span>`;
  const { passed, failed, unchecked } = counts;
  if (failed > 0) return html`<span class="badge bad">${failed} of ${passed + failed} checks failed</span>`;
  const rest = unchecked === 0 ? "" : `, ${unchecked} not made`;
  return html`<span class="badge good">${passed} checks passed${rest}</span>`;
}
