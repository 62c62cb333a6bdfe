import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { FILTERS } from '@portcullis/core/filters/catalogue.ts';
import type { Filter } from '@portcullis/core/filters/filter.ts';
import { foreignOf, type Foreign, type Share } from './foreign.ts';
import { type Flow, loadFlows } from './flows.ts';

const FOLDER = join(import.meta.dirname, '..', '..', 'docs', 'filters');
/** Up to the next section. */
const SECTION = /^## Foreign traffic\n[^]*?(?=^## )/m;

/** The pages of all filters with their sections on foreign traffic, by path. */
export function renderPages(flows: readonly Flow[] = loadFlows()): ReadonlyMap<string, string> {
  return new Map(
    (FILTERS as readonly Filter[]).map((filter) => {
      const path = join(FOLDER, `${filter.type}.md`);
      return [path, renderPage(readFileSync(path, 'utf8'), filter, flows)];
    }),
  );
}

export function writePages(): void {
  for (const [path, text] of renderPages()) writeFileSync(path, text);
}

function renderPage(page: string, filter: Filter, flows: readonly Flow[]): string {
  const lines = (['udp', 'tcp'] as const).flatMap((transport) => {
    const foreign = foreignOf(filter, transport, flows);
    return foreign === null ? [] : linesOf(transport.toUpperCase(), foreign);
  });
  const about = 'Of the first packets that the tests of all other filters send (`lab/captures`):';
  const section = `## Foreign traffic\n${about}\n${lines.map((line) => `- ${line}\n`).join('')}\n`;
  if (SECTION.test(page)) return page.replace(SECTION, () => section);
  return page.replace('## Tested with\n', () => `${section}## Tested with\n`);
}

function linesOf(name: string, { greets, roams, validates }: Foreign): string[] {
  const lines = [`${name}: ${inWords(greets)} of an unknown source pass.`];
  if (roams.some > 0)
    lines.push(`${name}: ${inWords(roams)} more at the rate of connections whose address changed.`);
  if (validates !== null)
    lines.push(`${name}: ${inWords(validates)} of servers would validate their client.`);
  return lines;
}

function inWords({ some, of, types }: Share): string {
  const named = types.map(([type, count]) => `${type} ${count}`).join(', ');
  return `${some} of ${of}${some > 0 && some < of ? ` (${named})` : ''}`;
}
