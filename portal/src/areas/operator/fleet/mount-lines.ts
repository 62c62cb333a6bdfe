import type { DeclaredNode } from '@portcullis/client/index.ts';

type Mount = DeclaredNode['mounts'][number];

/** The mounts of a node as they are typed, one a line: `maps /srv/maps /home/container/maps ro`, then eggs. */
export function mountLines(mounts: readonly Mount[]): string {
  return mounts
    .map(({ name, source, target, read_only: isReadOnly, eggs }) =>
      [name, source, target, isReadOnly ? 'ro' : 'rw', ...eggs].join(' '),
    )
    .join('\n');
}

export function mountsOf(typed: string): Mount[] {
  const lines = typed.split('\n').map((line) => line.trim());
  return lines
    .filter((line) => line !== '')
    .map((line) => {
      const [name = '', source = '', target = '', ...rest] = line.split(/\s+/);
      const [mode, ...eggs] = rest;
      const hasMode = mode === 'ro' || mode === 'rw';
      return { name, source, target, read_only: mode !== 'rw', eggs: hasMode ? eggs : rest };
    });
}
