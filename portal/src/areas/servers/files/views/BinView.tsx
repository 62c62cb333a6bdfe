import type { DeletedFiles } from '@portcullis/client/index.ts';
import { ArchiveRestore, Trash, Trash2 } from 'lucide-react';
import { ConfirmButton } from '../../../../components/forms/ConfirmButton.tsx';
import { showToast } from '../../../../components/forms/toasts.tsx';
import { useWrite } from '../../../../components/forms/use-write.ts';
import { ListPanel } from '../../../../components/list/ListPanel.tsx';
import { RoleButton } from '../../../../components/RoleButton.tsx';
import { timeColumn } from '../../../../components/Time.tsx';
import { formatBytes } from '../../../../format.ts';
import { filesMessages } from '../../../../messages/files.ts';
import { useSession } from '../../../../session/session.ts';
import { FileIcon } from '../FileIcon.tsx';
import { folderOf, nameOf } from '../paths.ts';
import { useBin } from '../queries.ts';
import type { Browser } from '../use-browser.ts';
import { sayFailed, sayFailure } from '../use-file-changes.ts';

const text = filesMessages.bin;
type Deleted = DeletedFiles['data'][number];

/** The files that were deleted lately, each with a way back to where it was. */
export function BinView({ browser }: { readonly browser: Browser }) {
  const { uuid: slice, refusal } = browser;
  const { client } = useSession();
  const bin = useBin(slice);
  const {
    mutate: restore,
    isPending,
    variables,
  } = useWrite(
    async ({ id }: Deleted) => (await client.restoreFiles({ slice, body: { ids: [id] } })).data,
    {
      onDone({ failed }, { path }) {
        sayFailed(failed, 1);
        if (failed.length === 0) showToast({ message: text.restored(path) });
      },
    },
  );
  return (
    <ListPanel<Deleted>
      title={text.title}
      isHeaded
      lead={text.lead(bin.data?.meta.days ?? 7)}
      query={bin}
      rows={bin.data?.data}
      keyOf={({ id }) => id}
      empty={{ icon: Trash, ...text.empty }}
      actions={
        <ConfirmButton
          refusal={refusal('purge', []) ?? (bin.data?.data.length === 0 ? text.isEmpty : null)}
          leftSection={<Trash2 size={15} aria-hidden="true" />}
          title={text.emptyTitle}
          question={text.emptyText}
          confirm={text.emptyIt}
          write={() => client.emptyBin({ slice, body: {} })}
        >
          {text.emptyIt}
        </ConfirmButton>
      }
      columns={[
        {
          title: text.columns.name,
          cell: ({ path, type }) => (
            <span className="file-name">
              <FileIcon entry={{ name: nameOf(path), type }} />
              <span className="wrap">{nameOf(path)}</span>
            </span>
          ),
        },
        {
          title: text.columns.from,
          className: 'dim wrap',
          cell: ({ path }) => folderOf(path) || filesMessages.crumbs.root,
        },
        {
          title: text.columns.size,
          className: 'dim nowrap',
          cell: ({ type, size }) => (type === 'file' ? formatBytes(size) : ''),
        },
        timeColumn(text.columns.deleted, ({ deleted_at }) => deleted_at),
        {
          title: text.columns.actions,
          isTitleHidden: true,
          isNumber: true,
          cell: (item) => (
            <RoleButton
              variant="default"
              size="compact-sm"
              aria-label={text.restoreOf(item.path)}
              refusal={refusal('restore', [])}
              loading={isPending && variables?.id === item.id}
              leftSection={<ArchiveRestore size={14} aria-hidden="true" />}
              onClick={() => restore(item, { onError: sayFailure })}
            >
              {text.restore}
            </RoleButton>
          ),
        },
      ]}
    />
  );
}
