import { Tabs } from '@mantine/core';
import { useNavigate, useSearch } from '@tanstack/react-router';
import { type ReactNode, Suspense } from 'react';
import { isTabOf, type TabbedPath, type TabOf, TABS } from '../tabs.ts';
import { Loading } from './Loading.tsx';

interface Props<Path extends TabbedPath> {
  readonly path: Path;
  readonly titles: Readonly<Record<TabOf<Path>, string>>;
  /** After the title of a tab. */
  readonly counts?: Readonly<Partial<Record<TabOf<Path>, number>>>;
  /** Only the chosen one is rendered; those of a file of their own are loaded then. */
  readonly panels: Readonly<Record<TabOf<Path>, ReactNode>>;
  /** Tabs that are not for who is signed in. */
  readonly hidden?: readonly TabOf<Path>[];
}

/** The tabs of a page, of which its address names one. */
export function TabShell<Path extends TabbedPath>({
  path,
  titles,
  counts,
  panels,
  hidden = [],
}: Props<Path>) {
  const { tab: named = TABS[path][0] } = useSearch({ strict: false });
  const show = useShowTab(path);
  const all: readonly TabOf<Path>[] = TABS[path];
  const tabs = all.filter((each) => !hidden.includes(each));
  const tab = tabs.find((each) => each === named) ?? TABS[path][0];
  return (
    <Tabs value={tab} onChange={(next) => isTabOf(path, next) && show(next)} keepMounted={false}>
      <Tabs.List mb="md">
        {tabs.map((each) => (
          <Tabs.Tab key={each} value={each}>
            {titles[each]}{' '}
            {counts?.[each] !== undefined && <span className="dim">{counts[each]}</span>}
          </Tabs.Tab>
        ))}
      </Tabs.List>
      {tabs.map((each) => (
        <Tabs.Panel key={each} value={each}>
          <Suspense fallback={<Loading />}>{panels[each]}</Suspense>
        </Tabs.Panel>
      ))}
    </Tabs>
  );
}

/** Goes to another tab of the page. */
export function useShowTab<Path extends TabbedPath>(_path: Path): (tab: TabOf<Path>) => void {
  const navigate = useNavigate();
  return (tab) => void navigate({ to: '.', search: { tab } as never, replace: true });
}
