/** The pages with tabs; the first is shown where the address of the page names none. */
export const TABS = {
  '/addresses/$ip': ['rules', 'filters', 'geo', 'drops', 'explain', 'history', 'edges'],
  '/operator': ['organisations', 'people', 'fleet', 'audit'],
  '/servers/$uuid': [
    'console',
    'resources',
    'history',
    'ports',
    'build',
    'sftp',
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
