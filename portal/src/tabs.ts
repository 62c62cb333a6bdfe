/** The pages with tabs; the first is shown where the address of the page names none. */
export const TABS = {
  '/addresses/$ip': ['rules', 'filters', 'geo', 'drops', 'explain', 'history', 'edges'],
  '/operator': ['organisations', 'people', 'fleet', 'protection', 'audit'],
  '/servers/$uuid': [
    'console',
    'files',
    'sftp',
    'resources',
    'history',
    'ports',
    'build',
    'people',
    'activity',
    'settings',
  ],
  '/settings': ['keys', 'members', 'webhooks', 'organisation'],
} as const;

export type TabbedPath = keyof typeof TABS;
export type TabOf<Path extends TabbedPath> = (typeof TABS)[Path][number];

export function isTabOf<Path extends TabbedPath>(path: Path, value: unknown): value is TabOf<Path> {
  return TABS[path].some((tab) => tab === value);
}

/** Reads the tab from the address of a page, which anybody may have written. */
export function tabSearch<Path extends TabbedPath>(path: Path) {
  return ({ tab }: Readonly<Record<string, unknown>>): { tab?: TabOf<Path> } =>
    isTabOf(path, tab) ? { tab } : {};
}

/** A place within the files of a server, beside the tab. */
export interface FileSearch {
  /** A folder. */
  path?: string;
  file?: string;
  line?: number;
}

/** Reads what the address of a server's page names; a place counts with its tab only. */
export function serverSearch(search: Readonly<Record<string, unknown>>) {
  const tabbed = tabSearch('/servers/$uuid')(search);
  const { path, file, line } = search;
  const place: FileSearch = {
    ...(typeof path === 'string' && { path }),
    ...(typeof file === 'string' && { file }),
    ...(typeof line === 'number' && { line }),
  };
  return { ...tabbed, ...(tabbed.tab === 'files' && place) };
}
