import { createHash } from 'node:crypto';

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
export const PAGE_POLICY = `default-src 'none'; style-src 'sha256-${styleDigest}'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'`;

/** HTML pages of a folder: its index, and the others by the last part of their path. */
export interface Pages {
  readonly index: string;
  readonly pages: ReadonlyMap<string, string>;
}

/** A page without scripts. `body` is HTML. */
export function renderPage(title: string, body: string): string {
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
