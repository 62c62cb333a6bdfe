import { EllipsisVertical } from 'lucide-react';
import { type MouseEvent, type Ref, useEffect, useRef, useState } from 'react';
import { Time } from '../../../../components/Time.tsx';
import { formatBytes } from '../../../../format.ts';
import { filesMessages } from '../../../../messages/files.ts';
import type { Entry } from '../actions.ts';
import { lettersOf } from '../dialogs/mode.ts';
import { FileIcon } from '../FileIcon.tsx';
import { folderOf, joinPath, nameRefusal, stemLength } from '../paths.ts';
import { pick, toggle } from './selection.ts';
import type { Browser } from '../use-browser.ts';
import { DRAGGED, type DropTarget } from './use-drop.ts';

const text = filesMessages.table;

interface Props {
  readonly id: string;
  readonly index: number;
  readonly startPx: number;
  readonly entry: Entry;
  readonly browser: Browser;
  /** Null: it is no folder. */
  readonly drop: DropTarget | null;
  readonly ref: Ref<HTMLDivElement>;
}

/** A row of a folder: its name opens it, a click beside chooses it. */
export function FileRow({ id, index, startPx, entry, browser, drop, ref }: Props) {
  const { path, name, type, size } = entry;
  const { selection, renaming } = browser;
  const isChosen = selection.chosen.has(path);
  const isRenaming = renaming === path;
  const choose = (event: MouseEvent): void => {
    const held = { shift: event.shiftKey, control: event.ctrlKey || event.metaKey };
    browser.select(pick(orderOf(browser), selection, path, held));
  };
  const openMenu = (at: { readonly x: number; readonly y: number }): void => {
    if (!isChosen) browser.select(pick(orderOf(browser), selection, path, NONE));
    browser.openMenu(at);
  };
  return (
    <div
      ref={ref}
      id={id}
      data-index={index}
      role="row"
      className="grid-row files-row"
      aria-rowindex={index + 2}
      aria-selected={isChosen}
      data-active={selection.active === path ? '' : undefined}
      data-over={drop?.isOver === true ? '' : undefined}
      style={{ transform: `translateY(${startPx}px)` }}
      draggable={!isRenaming}
      onClick={choose}
      onContextMenu={(event) => {
        event.preventDefault();
        openMenu({ x: event.clientX, y: event.clientY });
      }}
      onDragStart={(event) => {
        const isMore = isChosen && selection.chosen.size > 1;
        browser.dragged.current = isMore ? [...selection.chosen] : [path];
        event.dataTransfer.setData(DRAGGED, '');
        event.dataTransfer.effectAllowed = 'move';
      }}
      onDragOver={drop?.onDragOver}
      onDragLeave={drop?.onDragLeave}
      onDrop={drop?.onDrop}
    >
      <div role="gridcell">
        <input
          type="checkbox"
          tabIndex={-1}
          aria-label={text.choose(name)}
          checked={isChosen}
          onClick={(event) => event.stopPropagation()}
          onChange={() => browser.select(toggle(selection, path))}
        />
      </div>
      <div role="gridcell" className="file-name">
        <FileIcon entry={entry} />
        {isRenaming ? <Rename entry={entry} browser={browser} /> : <Name {...{ entry, browser }} />}
        <span className="hidden">{text.types[type] ?? text.types['other']}</span>
        {entry.denied && <span className="pill plain">{text.denied}</span>}
      </div>
      <div role="gridcell" className="num dim" data-column="size">
        {type === 'file' && formatBytes(size)}
      </div>
      <div role="gridcell" className="dim nowrap" data-column="modified">
        <Time at={entry.modified_at} />
      </div>
      <div role="gridcell" className="mono dim" data-column="mode" title={lettersOf(entry)}>
        {type === 'link' ? '' : entry.mode}
      </div>
      <div role="gridcell">
        <button
          type="button"
          tabIndex={-1}
          className="file-menu-button"
          aria-label={text.menuOf(name)}
          aria-haspopup="menu"
          onClick={(event) => {
            event.stopPropagation();
            const { right, bottom } = event.currentTarget.getBoundingClientRect();
            openMenu({ x: right, y: bottom });
          }}
        >
          <EllipsisVertical size={17} aria-hidden="true" />
        </button>
      </div>
    </div>
  );
}

const NONE = { shift: false, control: false };

function orderOf({ entries }: Browser): readonly string[] {
  return entries.map(({ path }) => path);
}

/** A click on the name opens, and with a key held chooses like one beside it. */
function Name({ entry, browser }: Pick<Props, 'entry' | 'browser'>) {
  return (
    <button
      type="button"
      tabIndex={-1}
      className="file-open"
      onClick={(event) => {
        if (event.shiftKey || event.ctrlKey || event.metaKey) return;
        event.stopPropagation();
        browser.open(entry);
      }}
    >
      {entry.name}
    </button>
  );
}

/** The name as a field: Enter renames, Escape and leaving the field do not. */
function Rename({ entry: { name, path }, browser }: Pick<Props, 'entry' | 'browser'>) {
  const [typed, setTyped] = useState(name);
  const field = useRef<HTMLInputElement>(null);
  const refusal = typed.includes('/') ? text.noSlash : nameRefusal(typed);
  useEffect(() => {
    field.current?.focus();
    field.current?.setSelectionRange(0, stemLength(name));
  }, [name]);
  const end = (): void => {
    browser.rename(null);
    field.current?.closest<HTMLElement>('[role=grid]')?.focus();
  };
  const save = (): void => {
    if (refusal !== null) return;
    if (typed !== name) browser.changes.move([{ from: path, to: joinPath(folderOf(path), typed) }]);
    end();
  };
  return (
    <input
      ref={field}
      className="file-rename"
      aria-label={text.newName(name)}
      aria-invalid={refusal !== null}
      title={refusal ?? undefined}
      value={typed}
      onChange={(event) => setTyped(event.currentTarget.value)}
      onClick={(event) => event.stopPropagation()}
      onBlur={() => browser.rename(null)}
      onKeyDown={(event) => {
        event.stopPropagation();
        if (event.key === 'Enter') save();
        if (event.key === 'Escape') end();
      }}
    />
  );
}
