import { PROBLEM_CODES, type ProblemCode, PROBLEMS } from '@portcullis/contract/problems.ts';
import { escapeHtml, renderPage } from './page.ts';

/** The list of problems. `base` is the path of the service, or ''. */
export function renderProblemIndex(base: string): string {
  const rows = PROBLEM_CODES.toSorted((a, b) => PROBLEMS[a].status - PROBLEMS[b].status).map(
    (code) => {
      const { status, title } = PROBLEMS[code];
      return `<tr><td class="status">${status}</td><td><a href="${escapeHtml(base)}/problems/${code}"><code>${code}</code></a></td><td>${escapeHtml(title)}</td></tr>`;
    },
  );
  return renderPage(
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
  return renderPage(
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
