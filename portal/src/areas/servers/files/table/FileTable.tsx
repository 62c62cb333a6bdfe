import { useVirtualizer } from '@tanstack/react-virtual';
import { ArrowDown, ArrowUp } from 'lucide-react';
import { useEffect, useRef } from 'react';
import { filesMessages } from '../../../../messages/files.ts';
import { FileRow } from './FileRow.tsx';
import { nameOf } from '../paths.ts';
import type { Order } from '../queries.ts';
import { all, NOTHING } from './selection.ts';
import type { Browser } from '../use-browser.ts';
import type { DropTarget } from './use-drop.ts';
import { useTableKeys } from './use-table-keys.ts';

const text = filesMessages.table;
const ROW_PX = 40;
/** Rows before the end at which the next page is read. */
const AHEAD = 60;

interface Props {
  readonly browser: Browser;
  dropTo(folder: string): DropTarget;
}

/** The entries of a folder, chosen and opened like in any file manager. Only the rows in view are rendered. */
export function FileTable({ browser, dropTo }: Props) {
  const { entries, selection, query } = browser;
  const scroller = useRef<HTMLDivElement>(null);
  const virtual = useVirtualizer({
    count: entries.length,
    getScrollElement: () => scroller.current,
    getItemKey: (index) => entries[index]?.path ?? index,
    estimateSize: () => ROW_PX,
    overscan: 10,
  });
  const shown = virtual.getVirtualItems();
  const activeAt = entries.findIndex(({ path }) => path === selection.active);
  useEffect(() => {
    if (activeAt >= 0) virtual.scrollToIndex(activeAt);
  }, [activeAt, virtual]);
  const { hasNextPage, isFetchingNextPage, fetchNextPage } = query;
  const isNearEnd = (shown.at(-1)?.index ?? 0) >= entries.length - AHEAD;
  useEffect(() => {
    if (isNearEnd && hasNextPage && !isFetchingNextPage) void fetchNextPage();
  }, [isNearEnd, hasNextPage, isFetchingNextPage, fetchNextPage]);
  const onKeyDown = useTableKeys(browser, { menuPoint: () => pointBelow(scroller.current) });
  const total = query.data?.pages[0]?.meta.total ?? entries.length;
  return (
    <div
      ref={scroller}
      className="grid-scroll files-table"
      role="grid"
      tabIndex={0}
      aria-label={text.label(nameOf(browser.folder))}
      aria-multiselectable
      aria-rowcount={total + 1}
      aria-activedescendant={activeAt >= 0 ? rowId(activeAt) : undefined}
      onKeyDown={onKeyDown}
    >
      <Head browser={browser} />
      <div className="grid-body" role="rowgroup" style={{ height: virtual.getTotalSize() }}>
        {shown.map(({ index, start }) => {
          const entry = entries[index];
          if (entry === undefined) return null;
          return (
            <FileRow
              key={entry.path}
              ref={virtual.measureElement}
              id={rowId(index)}
              index={index}
              startPx={start}
              entry={entry}
              browser={browser}
              drop={entry.type === 'folder' ? dropTo(entry.path) : null}
            />
          );
        })}
      </div>
    </div>
  );
}

function rowId(index: number): string {
  return `file-${index}`;
}

function pointBelow(scroller: HTMLElement | null) {
  const row = scroller?.querySelector('[data-active]') ?? scroller;
  const { left = 0, bottom = 0 } = row?.getBoundingClientRect() ?? {};
  return { x: left + 40, y: bottom };
}

const COLUMNS = ['name', 'size', 'modified'] as const satisfies readonly Order['sort'][];

function Head({ browser }: Pick<Props, 'browser'>) {
  const { entries, chosen, select, selection } = browser;
  const areAll = entries.length > 0 && chosen.length === entries.length;
  return (
    <div role="rowgroup">
      <div role="row" className="grid-head files-row" aria-rowindex={1}>
        <div role="columnheader">
          <input
            type="checkbox"
            aria-label={text.all}
            checked={areAll}
            ref={(box) => {
              if (box !== null) box.indeterminate = chosen.length > 0 && !areAll;
            }}
            onChange={() => {
              if (areAll) select(NOTHING);
              else
                select(
                  all(
                    entries.map(({ path }) => path),
                    selection,
                  ),
                );
            }}
          />
        </div>
        {COLUMNS.map((column) => (
          <Heading key={column} column={column} browser={browser} />
        ))}
        <div role="columnheader" data-column="mode">
          {text.columns.mode}
        </div>
        <div role="columnheader">
          <span className="hidden">{text.columns.menu}</span>
        </div>
      </div>
    </div>
  );
}

interface HeadingProps extends Pick<Props, 'browser'> {
  readonly column: Order['sort'];
}

function Heading({ column, browser: { order, setOrder } }: HeadingProps) {
  const isSorted = order.sort === column;
  const Arrow = order.order === 'ascending' ? ArrowUp : ArrowDown;
  const next = isSorted && order.order === 'ascending' ? 'descending' : 'ascending';
  return (
    <div role="columnheader" data-column={column} aria-sort={isSorted ? order.order : 'none'}>
      <button type="button" onClick={() => setOrder({ sort: column, order: next })}>
        {text.columns[column]}
        {isSorted && <Arrow size={13} aria-hidden="true" />}
      </button>
    </div>
  );
}
