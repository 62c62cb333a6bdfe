import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { FILTERS } from '@portcullis/core/filters/catalogue.ts';
import { Marked } from 'marked';
import { escapeHtml, type Pages, renderPage } from './page.ts';

const FOLDER = join(import.meta.dirname, '../../../docs/filters');
/** A link to another page of the folder. */
const SIBLING = /href="(?:\.\/)?([a-z0-9-]+|README)\.md"/g;

/** The pages of filters by slug. They are files of this repository. */
export function renderFilterPages(base: string): Pages {
  const root = `${escapeHtml(base)}/docs/filters`;
  const pages = FILTERS.map(({ type, name }): [string, string] => {
    const nav = `<nav><a href="${root}">Filters</a></nav>`;
    return [type, renderPage(name, `${nav}\n${render(type, root)}`)];
  });
  return { index: renderPage('Filters', render('README', root)), pages: new Map(pages) };
}

function render(name: string, root: string): string {
  const html = new Marked().parse(readFileSync(join(FOLDER, `${name}.md`), 'utf8'), {
    async: false,
  });
  return html.replaceAll(SIBLING, (_, page: string) =>
    page === 'README' ? `href="${root}"` : `href="${root}/${page}"`,
  );
}
