import { createHash } from 'node:crypto';
import { PROBLEM_CODES, type ProblemCode, PROBLEMS } from '@portcullis/contract/problems.ts';

/** Text for HTML, in content and in double-quoted attributes. */
export function escapeHtml(text: string): string {
  return text
    .replaceAll('&', '&amp;')
    .replaceAll('<', '&lt;')
    .replaceAll('>', '&gt;')
    .replaceAll('"', '&quot;');
}

const STYLE = `:root{color-scheme:light dark}
body{font:16px/1.6 system-ui,sans-serif;max-width:44rem;margin:3rem auto;padding:0 1.25rem}
h1{font-size:1.6rem;line-height:1.25;margin:.2rem 0 1.2rem}
h2{font-size:1rem;margin:1.6rem 0 .3rem}
p{margin:.3rem 0}
code,.status{font-family:ui-monospace,monospace;font-size:.92em}
nav,.status{color:light-dark(#555,#aaa)}
table{border-collapse:collapse;width:100%}
td,th{text-align:left;padding:.4rem .8rem .4rem 0;border-bottom:1px solid light-dark(#ddd,#333);vertical-align:top}`;

const styleDigest = createHash('sha256').update(STYLE).digest('base64');

/** No scripts at all, and the one style by its digest. */
export const PROBLEM_POLICY = `default-src 'none'; style-src 'sha256-${styleDigest}'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'`;

/** The list of problems. `base` is the path of the service, or ''. */
export function renderProblemIndex(base: string): string {
  const rows = PROBLEM_CODES.toSorted((a, b) => PROBLEMS[a].status - PROBLEMS[b].status).map(
    (code) => {
      const { status, title } = PROBLEMS[code];
      return `<tr><td class="status">${status}</td><td><a href="${escapeHtml(base)}/problems/${code}"><code>${code}</code></a></td><td>${escapeHtml(title)}</td></tr>`;
    },
  );
  return page(
    'Problems',
    `<h1>Problems</h1>
<p>Every refusal is a problem document (RFC 9457, <code>application/problem+json</code>) with one of these codes. Program against <code>code</code>; <code>detail</code> is for people.</p>
<table><thead><tr><th>Status</th><th>Code</th><th>Title</th></tr></thead>
<tbody>
${rows.join('\n')}
</tbody></table>
<p><a href="${escapeHtml(base)}/docs">API reference</a></p>`,
  );
}

/** The page of one problem. */
export function renderProblemPage(code: ProblemCode, base: string): string {
  const { status, title, explanation, remedy } = PROBLEMS[code];
  return page(
    title,
    `<nav><a href="${escapeHtml(base)}/problems">Problems</a></nav>
<h1>${escapeHtml(title)}</h1>
<p class="status">${status} <code>${code}</code></p>
<h2>What it means</h2>
<p>${escapeHtml(explanation)}</p>
<h2>What to do</h2>
<p>${escapeHtml(remedy)}</p>
<p>The member <code>detail</code> of the answer says what happened in this case. Tell the operator the <code>X-Request-Id</code> of the answer when you ask about it.</p>`,
  );
}

function page(title: string, body: string): string {
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${escapeHtml(title)} - Portcullis</title>
<style>${STYLE}</style>
</head>
<body>
${body}
</body>
</html>
`;
}
