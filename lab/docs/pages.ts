import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { root } from '../structure/sources.ts';

/** A fenced block of commands. */
export interface Block {
  /** `docs/operating.md#Backup and restore`, with ` (2)` for the second of a section. */
  readonly id: string;
  readonly page: string;
  /** The line of the fence; the first is 1. */
  readonly line: number;
  /** The text without the indentation of its list. */
  readonly text: string;
}

/** A command in a sentence or table: `` `portcullis backup FILE` ``. */
export interface Mention {
  readonly page: string;
  readonly line: number;
  readonly text: string;
}

interface Page {
  readonly blocks: readonly Block[];
  readonly mentions: readonly Mention[];
  /** The places of fences without a language. */
  readonly untagged: readonly string[];
}

const SHELLS = ['sh', 'bash', 'console', 'shell'];
const FENCE = /^( *)(`{3,}|~{3,}) *(\S*)/;
const HEADING = /^#{1,6} +(.+?) *$/;
const TITLE = '';

/** The blocks of commands of a page, and what its sentences call a command, in order. */
export function readPage(page: string, text: string): Page {
  const blocks: Block[] = [];
  const mentions: Mention[] = [];
  const untagged: string[] = [];
  let heading = TITLE;
  let open: { language: string; fence: string; indent: number; line: number } | null = null;
  let held: string[] = [];
  for (const [index, row] of text.split('\n').entries()) {
    const [, indent = '', fence = '', language = ''] = FENCE.exec(row) ?? [];
    if (open !== null) {
      if (fence !== open.fence || language !== '') held.push(row.slice(open.indent));
      else {
        const { line } = open;
        if (SHELLS.includes(open.language))
          blocks.push({
            id: idOf(page, heading, blocks),
            page,
            line,
            text: `${held.join('\n')}\n`,
          });
        open = null;
      }
    } else if (fence !== '') {
      open = { language, fence, indent: indent.length, line: index + 1 };
      held = [];
      if (language === '') untagged.push(`${page}:${index + 1}`);
    } else {
      heading = HEADING.exec(row)?.[1] ?? heading;
      for (const [, span = ''] of row.matchAll(/`([^`]+)`/g))
        mentions.push({ page, line: index + 1, text: span });
    }
  }
  return { blocks, mentions, untagged };
}

function idOf(page: string, heading: string, before: readonly Block[]): string {
  const section = heading === TITLE ? page : `${page}#${heading}`;
  const nth = before.filter(({ id }) => id === section || id.startsWith(`${section} (`)).length + 1;
  return nth === 1 ? section : `${section} (${nth})`;
}

/** Where the pages are that people read; the changelog tells of versions that are over. */
const PAGES = ['{README,SECURITY,CONTRIBUTING}.md', '*/README.md', '{docs,examples}/**/*.md'];

/** Every page of the repository, by name. */
export function readPages(): Page[] {
  return globSync(PAGES, { cwd: root })
    .toSorted()
    .map((file) => readPage(file, readFileSync(join(root, file), 'utf8')));
}
