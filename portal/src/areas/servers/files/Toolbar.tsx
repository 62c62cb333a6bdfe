import { Button, Menu, Tooltip } from '@mantine/core';
import {
  ChartBarBig,
  ChevronDown,
  FilePlus,
  FolderPlus,
  FolderUp,
  Link as LinkIcon,
  type LucideIcon,
  Plus,
  Search,
  Trash2,
  Upload,
} from 'lucide-react';
import { type ReactNode, useRef } from 'react';
import { RoleIcon } from '../../../components/RoleIcon.tsx';
import { filesMessages } from '../../../messages/files.ts';
import { Breadcrumbs } from './Breadcrumbs.tsx';
import { treeOf } from './upload/dropped.ts';
import type { Uploads } from './upload/use-uploads.ts';
import type { Browser, View } from './use-browser.ts';
import type { DropTarget } from './table/use-drop.ts';

const text = filesMessages.tools;

interface Props {
  readonly browser: Browser;
  readonly uploads: Uploads;
  dropTo(folder: string): DropTarget;
}

const VIEWS: readonly (readonly [Exclude<View, 'list'>, LucideIcon])[] = [
  ['search', Search],
  ['usage', ChartBarBig],
  ['bin', Trash2],
];

/** Where one is, what can be made here, and the other views of the files. */
export function Toolbar({ browser, uploads, dropTo }: Props) {
  const { folder, view } = browser;
  return (
    <div className="tools card-pad">
      <Breadcrumbs
        path={folder}
        dropTo={dropTo}
        toFolder={(path) => browser.toFolder(path, view === 'usage' ? view : 'list')}
      />
      <div className="row-end">
        <NewMenu browser={browser} />
        <UploadMenu browser={browser} uploads={uploads} />
      </div>
      <div className="files-views">
        {VIEWS.map(([name, Icon]) => (
          <RoleIcon
            key={name}
            label={view === name ? text.leave[name] : text.show[name]}
            onClick={() => browser.show(view === name ? 'list' : name)}
          >
            <Icon size={17} {...(view === name && { color: 'var(--accent-ink)' })} />
          </RoleIcon>
        ))}
      </div>
    </div>
  );
}

function NewMenu({ browser }: Pick<Props, 'browser'>) {
  const refusal = browser.refusal('create', []);
  const items = [
    ['folder', FolderPlus],
    ['file', FilePlus],
    ['pull', LinkIcon],
  ] as const;
  return (
    <ToolMenu label={text.new} icon={Plus} refusal={refusal} isPrimary={false}>
      {items.map(([name, Icon]) => (
        <Menu.Item
          key={name}
          leftSection={<Icon size={15} aria-hidden="true" />}
          onClick={() => browser.openDialog(name)}
        >
          {text.make[name]}
        </Menu.Item>
      ))}
    </ToolMenu>
  );
}

function UploadMenu({ browser: { folder }, uploads }: Pick<Props, 'browser' | 'uploads'>) {
  const files = useRef<HTMLInputElement>(null);
  const folders = useRef<HTMLInputElement>(null);
  const fields = [
    ['files', files, Upload],
    ['folder', folders, FolderUp],
  ] as const;
  return (
    <>
      <ToolMenu label={text.upload} icon={Upload} refusal={uploads.refusal} isPrimary>
        {fields.map(([name, field, Icon]) => (
          <Menu.Item
            key={name}
            leftSection={<Icon size={15} aria-hidden="true" />}
            onClick={() => field.current?.click()}
          >
            {text.uploads[name]}
          </Menu.Item>
        ))}
      </ToolMenu>
      {fields.map(([name, field]) => (
        <input
          key={name}
          ref={field}
          type="file"
          multiple
          hidden
          aria-label={text.uploads[name]}
          {...(name === 'folder' && { webkitdirectory: '' })}
          onChange={({ currentTarget }) => {
            uploads.offer(treeOf(currentTarget.files), folder);
            // The same file can be chosen again.
            currentTarget.value = '';
          }}
        />
      ))}
    </>
  );
}

interface ToolMenuProps {
  readonly label: string;
  readonly icon: LucideIcon;
  readonly refusal: string | null;
  readonly isPrimary: boolean;
  readonly children: ReactNode;
}

/** A button with a menu, or one that says why it has none. */
function ToolMenu({ label, icon: Icon, refusal, isPrimary, children }: ToolMenuProps) {
  const isRefused = refusal !== null;
  const button = (
    <Button
      variant={isPrimary ? 'filled' : 'default'}
      leftSection={<Icon size={15} aria-hidden="true" />}
      rightSection={<ChevronDown size={14} aria-hidden="true" />}
      {...(isRefused && {
        'aria-disabled': true,
        'data-disabled': true,
      })}
    >
      {label}
    </Button>
  );
  if (isRefused) {
    return (
      <Tooltip label={refusal} multiline maw={320} events={TOOLTIP}>
        {button}
      </Tooltip>
    );
  }
  return (
    <Menu position="bottom-end">
      <Menu.Target>{button}</Menu.Target>
      <Menu.Dropdown>{children}</Menu.Dropdown>
    </Menu>
  );
}

const TOOLTIP = { hover: true, focus: true, touch: true };
