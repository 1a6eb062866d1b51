/** The page of one environment package: how to install it, what it needs, its README, its checks, sample rollouts, versions. */
import { html, type Html } from "../../../../html.ts";
import { needsLines, packageNeeds } from "../../needs.ts";
import { packageReport, type PackageReport, reportCounts } from "../../package-report.ts";
import { PrlError } from "../../../../errors.ts";
import type { PackageRecord } from "../package-record.ts";
import { badge } from "./badge.ts";
import { conversationsHtml } from "./conversation.ts";
import { documentText } from "./document.ts";
import { markdownHtml } from "./markdown.ts";
import { homeFrom, packagePath } from "./paths.ts";

/** `registry`: the address that is named in the line of the installation; null: the one of the reader's npm settings. */
export async function packagePage(found: PackageRecord, registry: string | null): Promise<string> {
  const { name, version, description, readme, manifest } = found;
  const report = packageReport(manifest);
  const id = name.replace(/^@/u, "");
  const body = html`<h1>${id} <span class="small">${version}</span></h1>
    <p>${description}</p>
    <p>
      ${badge(report === null ? null : reportCounts(report))}
      <span class="small">${found.license ?? "no licence named"} ${found.keywords.join(", ")}</span>
    </p>
    <pre>
prl env install ${id}@${version}${registry === null ? "" : ` --registry ${registry}`}
env = { id = "${id}" }</pre>
    ${needsHtml(found)}
    ${
      readme === null || readme.trim() === ""
        ? []
        : [
            html`<h2>README</h2>
              <div>${await markdownHtml(readme)}</div>`,
          ]
    }
    ${
      report === null
        ? html`<h2>Checks</h2>
            <p class="none">This version was published without the report of prl env push.</p>`
        : reportHtml(report)
    }
    ${versionsHtml(found)}`;
  return documentText({ title: `${id} ${version}`, home: homeFrom(packagePath(name)), body });
}

function needsHtml({ name, manifest }: PackageRecord): Html {
  let lines: string[];
  try {
    lines = needsLines(packageNeeds({ ...manifest, name }));
  } catch (error) {
    if (!(error instanceof PrlError)) throw error;
    return html`<p class="bad">${error.message}</p>`;
  }
  return lines.length === 0
    ? html`<p>It declares no needs.</p>`
    : html`<p>It declares that it needs</p>
        <pre>${lines.join("\n")}</pre>`;
}

function reportHtml({ prl, rows, samples }: PackageReport): Html {
  return html`<h2>Checks</h2>
    <p>
      Made by prl ${prl} when the author published it. A hub does not run packages, so it did not repeat them;
      <code>prl env test</code> does.
    </p>
    <table>
      <thead>
        <tr>
          <th>part</th>
          <th>check</th>
          <th>result</th>
          <th>what</th>
        </tr>
      </thead>
      <tbody>
        ${rows.map(
          ({ part, check, status, what }) =>
            html`<tr>
              <td>${part}</td>
              <td>${check}</td>
              <td class="${status === "failed" ? "bad" : status === "passed" ? "good" : "none"}">${status}</td>
              <td>${what}</td>
            </tr> `,
        )}
      </tbody>
    </table>
    <h2>Sample rollouts</h2>
    ${samples.length === 0 ? html`<p class="none">none</p>` : samples.map(sampleHtml)}`;
}

function sampleHtml({ task, by, conversations, reward, scores }: PackageReport["samples"][number]): Html {
  const who = { model: "a model replied", gold: "the gold reply", nothing: "no reply" }[by];
  const values = Object.entries(scores).map(([name, value]) => `${name} ${Number(value.toPrecision(4))}`);
  return html`<details>
    <summary>
      task ${task}: ${who}, ${reward === null ? "no reward" : `reward ${Number(reward.toPrecision(4))}`}
    </summary>
    ${conversationsHtml(conversations)}
    <p class="small">${values.join(", ")}</p>
  </details> `;
}

function versionsHtml({ versions }: PackageRecord): Html {
  return html`<h2>Versions</h2>
    <table>
      <thead>
        <tr>
          <th>version</th>
          <th>published</th>
          <th>integrity</th>
          <th></th>
        </tr>
      </thead>
      <tbody>
        ${versions.map(
          ({ version, day, integrity, deprecated }) =>
            html`<tr>
              <td>${version}</td>
              <td>${day ?? ""}</td>
              <td><code>${integrity ?? ""}</code></td>
              <td class="bad">${deprecated ?? ""}</td>
            </tr> `,
        )}
      </tbody>
    </table>`;
}
