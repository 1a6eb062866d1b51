/**
 * The style, search and navigation of every page of a hub.
 *
 * The policy in the head allows our one script by its digest, and nothing that a README or a description could bring.
 */
import { createHash } from "node:crypto";

import { Html, html, pageText } from "../../../../html.ts";

const STYLE = `
:root{color-scheme:light dark;--line:#8884;--soft:#8882;--good:#1a7f37;--bad:#b3261e}
body{font:16px/1.55 system-ui,sans-serif;max-width:62rem;margin:2rem auto;padding:0 1rem}
a{color:#2563eb;text-decoration:none}a:hover{text-decoration:underline}
h1{margin:.2rem 0}h2{margin-top:2rem}
pre{background:var(--soft);padding:.7rem 1rem;overflow-x:auto;border-radius:6px;white-space:pre-wrap}
code{background:var(--soft);padding:.1em .3em;border-radius:4px}pre code{background:none;padding:0}
table{border-collapse:collapse;display:block;overflow-x:auto}th,td{padding:.3rem .8rem;border-bottom:1px solid var(--line);text-align:left}
input[type=search]{font:inherit;width:100%;padding:.5rem .8rem;box-sizing:border-box}
button{font:inherit;font-size:.85em;margin:.15rem;padding:.1rem .6rem;border:1px solid var(--line);border-radius:1rem;background:none;color:inherit;cursor:pointer}
button[aria-pressed=true]{background:#2563eb;color:#fff}
li{margin:.35rem 0}.badge{font-size:.8em;border:1px solid;border-radius:4px;padding:.05rem .45rem;white-space:nowrap}
.good{color:var(--good)}.bad{color:var(--bad)}.none{opacity:.65}.small{font-size:.85em;opacity:.75}
details{border-bottom:1px solid var(--line);padding:.3rem 0}summary{cursor:pointer}
`;

/** Shows what has every word of the search and the chosen keyword. Without scripts everything is shown. */
const SCRIPT = `
const box=document.querySelector("#search"),items=[...document.querySelectorAll("[data-text]")],keys=[...document.querySelectorAll("[data-keyword]")];
let keyword="";
function show(){
  const words=box.value.toLowerCase().split(/\\s+/).filter(Boolean);
  let shown=0;
  for(const item of items){
    const fits=words.every((word)=>item.dataset.text.includes(word))&&(keyword===""||item.dataset.keywords.split(" ").includes(keyword));
    item.hidden=!fits;
    if(fits)shown+=1;
  }
  document.querySelector("#count").textContent=shown+" of "+items.length;
  for(const part of document.querySelectorAll("section"))part.hidden=!part.querySelector("[data-text]:not([hidden])");
}
box.addEventListener("input",show);
for(const key of keys)key.addEventListener("click",()=>{
  keyword=keyword===key.dataset.keyword?"":key.dataset.keyword;
  for(const each of keys)each.setAttribute("aria-pressed",String(each.dataset.keyword===keyword));
  show();
});
show();
`;

/** The sources that a page may load: its own style, its own script. A server says the same in a header. */
export const CONTENT_POLICY = `default-src 'none'; style-src 'unsafe-inline'; script-src 'sha256-${createHash("sha256").update(SCRIPT).digest("base64")}'; base-uri 'none'; form-action 'none'`;

export interface Document {
  readonly title: string;
  /** The way to the list of all, `../../index.html`; null on that page itself, which has the search. */
  readonly home: string | null;
  readonly body: Html;
}

export function documentText({ title, home, body }: Document): string {
  const search = home === null ? [new Html(`<script>${SCRIPT}</script>`)] : [];
  const wayHome = home === null ? [] : [html`<p class="small"><a href="${home}">All environments</a></p>`];
  return pageText({ title, style: STYLE, policy: CONTENT_POLICY, body: html`${wayHome} ${body} ${search}` });
}
