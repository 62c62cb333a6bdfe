import { escapeHtml } from './page.ts';

/** On a phone the page would break the words of tables in two to keep them narrow. */
const TABLES = `@media (max-width: 700px) {
  .markdown :is(th, td) { padding: 4px 5px !important; font-size: 12px !important; word-break: normal !important; overflow-wrap: normal !important; }
}`;

/** Features that contact other hosts are off; the CSP would block them anyway. */
const SETTINGS = {
  withDefaultFonts: false,
  telemetry: false,
  agent: { disabled: true },
  mcp: { disabled: true },
  showDeveloperTools: 'never',
  hideClientButton: true,
  persistAuth: false,
  documentDownloadType: 'direct',
  customCss: TABLES,
  defaultHttpClient: { targetKey: 'shell', clientKey: 'curl' },
} as const;

/** Own scripts only, none inline; the reference page sets styles at run time. */
export const DOCS_POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self' 'unsafe-inline'",
  "img-src 'self' data:",
  "connect-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join('; ');

export interface DocumentSource {
  readonly title: string;
  readonly slug: string;
  readonly url: string;
}

/** The reference page of all documents; the first is the default. */
export function renderDocsPage(script: string, sources: readonly DocumentSource[]): string {
  const configuration = escapeHtml(JSON.stringify({ ...SETTINGS, sources }));
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Portcullis API reference</title>
<link rel="icon" href="data:,">
</head>
<body>
<noscript>The reference needs JavaScript. The documents themselves: ${sources
    .map(({ url, title }) => `<a href="${escapeHtml(url)}">${escapeHtml(title)}</a>`)
    .join(', ')}.</noscript>
<script id="api-reference" type="application/json" data-configuration="${configuration}"></script>
<script src="${escapeHtml(script)}"></script>
</body>
</html>
`;
}
