import { Menu } from '@mantine/core';
import { useWindowEvent } from '@mantine/hooks';
import {
  Archive,
  Clipboard,
  Copy,
  Download,
  FolderInput,
  FolderOpen,
  KeyRound,
  type LucideIcon,
  PackageOpen,
  Pencil,
  SquarePen,
  Trash2,
} from 'lucide-react';
import { filesMessages } from '../../../messages/files.ts';
import { type FileAction, isArchive } from './actions.ts';
import { copyName, folderOf, joinPath, stemLength } from './paths.ts';
import type { Browser } from './use-browser.ts';
import { useDownloads } from './use-downloads.ts';

const text = filesMessages.menu;

interface Item {
  readonly label: string;
  readonly icon: LucideIcon;
  /** Null: everybody may. */
  readonly action: FileAction | null;
  readonly keys?: string;
  readonly isBad?: boolean;
  run(): void;
}

/** The menu of what is chosen, at the pointer or at the button of a row. Each item that is refused says why. */
export function FileMenu({ browser }: { readonly browser: Browser }) {
  const { menu } = browser;
  const groups = useItems(browser);
  const isOpen = menu !== null && groups.length > 0;
  const close = (): void => {
    browser.openMenu(null);
    // Its target is gone with it; a field or dialog that it opens takes the focus a moment later.
    document.querySelector<HTMLElement>('.files-table')?.focus();
  };
  useWindowEvent(
    'keydown',
    (event) => {
      if (!isOpen || event.key !== 'Escape') return;
      // The menu has the focus some frames after it is seen; until then the table has its keys.
      event.stopPropagation();
      close();
    },
    { capture: true },
  );
  if (!isOpen) return null;
  return (
    <Menu
      opened
      onClose={close}
      position="bottom-start"
      offset={2}
      width={250}
      returnFocus={false}
      // It is a child that a menu must not have.
      withInitialFocusPlaceholder={false}
    >
      <Menu.Target>
        <button
          type="button"
          tabIndex={-1}
          className="file-menu-at"
          aria-label={text.label}
          style={{ left: menu.x, top: menu.y }}
        />
      </Menu.Target>
      <Menu.Dropdown>
        {groups.map((items, index) => [
          index > 0 && <Menu.Divider key={`line ${index}`} />,
          ...items.map((item) => <Shown key={item.label} item={item} browser={browser} />),
        ])}
      </Menu.Dropdown>
    </Menu>
  );
}

interface ShownProps {
  readonly item: Item;
  readonly browser: Browser;
}

function Shown({ item: { label, icon: Icon, action, keys, isBad, run }, browser }: ShownProps) {
  const refusal = action === null ? null : browser.refusal(action);
  const isRefused = refusal !== null;
  return (
    <Menu.Item
      leftSection={<Icon size={15} aria-hidden="true" />}
      rightSection={keys !== undefined && !isRefused && <kbd>{keys}</kbd>}
      {...(isBad === true && !isRefused && { className: 'bad-ink' })}
      {...(isRefused && { 'aria-disabled': true, 'data-disabled': true })}
      closeMenuOnClick={!isRefused}
      onClick={() => {
        if (!isRefused) run();
      }}
    >
      {label}
      {isRefused && <div className="file-menu-why">{refusal}</div>}
    </Menu.Item>
  );
}

function useItems(browser: Browser): readonly (readonly Item[])[] {
  const { chosen, changes, entries, folder } = browser;
  const download = useDownloads(browser.uuid);
  const [first] = chosen;
  if (first === undefined) return [];
  const isOne = chosen.length === 1;
  const paths = chosen.map(({ path }) => path);
  const taken = new Set(entries.map(({ name }) => name));
  const copy = (): void => {
    for (const { name, path } of chosen) {
      const copied = copyName(name, taken);
      taken.add(copied);
      changes.copy(path, joinPath(folderOf(path), copied));
    }
  };
  const stem = first.name.slice(0, stemLength(first.name));
  const isFolder = first.type === 'folder';
  const open: Item = {
    label: isFolder ? text.open : text.edit,
    icon: isFolder ? FolderOpen : SquarePen,
    action: isFolder ? 'list' : 'open',
    keys: text.keys.enter,
    run: () => (isFolder ? browser.toFolder(first.path) : browser.openFile(first.path)),
  };
  const unpack: readonly Item[] = [
    {
      label: text.unpackHere,
      icon: PackageOpen,
      action: 'unpack',
      run: () => changes.unpack(first.path, folder),
    },
    {
      label: text.unpackTo(stem),
      icon: PackageOpen,
      action: 'unpack',
      run: () => changes.unpack(first.path, joinPath(folder, stem)),
    },
  ];
  const isPacked = isOne && isArchive(first);
  const several: readonly Item[] = [
    { label: text.move, icon: FolderInput, action: 'move', run: () => browser.openDialog('move') },
    { label: text.copy, icon: Copy, action: 'copy', run: copy },
    {
      label: text.archive,
      icon: Archive,
      action: 'archive',
      run: () => browser.openDialog('archive'),
    },
    { label: text.mode, icon: KeyRound, action: 'mode', run: () => browser.openDialog('mode') },
  ];
  return [
    [
      ...(isOne ? [open] : []),
      {
        label: text.download,
        icon: Download,
        action: 'download',
        run: () => download(chosen, folder),
      },
    ],
    [...(isOne ? [renameItem(browser, first.path)] : []), ...several, ...(isPacked ? unpack : [])],
    [
      {
        label: text.copyPath,
        icon: Clipboard,
        action: null,
        run: () => void navigator.clipboard.writeText(paths.join('\n')),
      },
    ],
    [
      {
        label: text.delete,
        icon: Trash2,
        action: 'delete',
        keys: text.keys.delete,
        isBad: true,
        run: browser.removeChosen,
      },
    ],
  ];
}

function renameItem({ rename }: Browser, path: string): Item {
  return {
    label: text.rename,
    icon: Pencil,
    action: 'rename',
    keys: text.keys.rename,
    run: () => rename(path),
  };
}
